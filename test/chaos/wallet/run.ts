import { setTimeout as sleep } from 'node:timers/promises';
import type { Hex } from 'viem';
import { USD_NAME, USD_VERSION } from '../../../sandbox/deploy.js';
import { newNonce, nowSeconds, TRANSFER_TYPES } from '../../support/payments.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { type Authorization, PRICE } from './shop.js';
import type { Purse, WalletStage } from './stage.js';

/** Blocks come every 0.3 s. */
const NEXT_BLOCKS_MS = 700;

interface RunPlan {
  readonly name: string;
  readonly payments: number;
  readonly disturb: () => Promise<void>;
}

/**
 * Payments by an agent that asks twice, by one that signs for itself, and rules that change meanwhile;
 * something goes wrong; the seller executes all it has.
 *
 * @returns what was not as it must be.
 */
export async function playRun(
  stage: WalletStage,
  random: SeededRandom,
  plan: RunPlan,
): Promise<string[]> {
  const purse = random.pick(stage.purses);
  stage.shop.use(random);
  const before = await countedFor(stage, purse);
  const budget = before + BigInt(random.between(2, 6)) * PRICE;
  await setRules(stage, purse, budget);
  const violations: string[] = [];
  const work = [
    plan.disturb(),
    ...Array.from({ length: plan.payments }, (_, at) => spend(stage, random, purse, plan.name, at)),
    changeRules(stage, random, purse, budget),
  ];
  await Promise.all(work);
  violations.push(...(await check(stage, purse, budget, 'before all was executed')));
  // Those that asked for the same again, and the seller at last.
  await Promise.all(
    [0, 1].map((at) => spend(stage, random, purse, plan.name, random.below(plan.payments), at)),
  );
  await stage.shop.executeAll();
  await sleep(NEXT_BLOCKS_MS);
  violations.push(...(await check(stage, purse, budget, 'after all was executed')));
  return violations;
}

/** More by far than is left of the budget, all in all. */
async function spend(
  stage: WalletStage,
  random: SeededRandom,
  purse: Purse,
  name: string,
  at: number,
  times = random.between(0, 2),
): Promise<void> {
  const slots = Array.from({ length: times + 1 }, () => random.pick(stage.slots));
  const pauses = slots.map(() => random.between(0, 500));
  if (at % 4 === 3) {
    const message = authorization(stage, random, purse);
    // The same nonce, and a later deadline the second time.
    const again = {
      ...message,
      validBefore: `${Number(message.validBefore) + random.between(0, 20)}`,
    };
    for (const [count, { url }] of slots.entries()) {
      await sleep(pauses[count] ?? 0);
      await signByRpc(stage, url, purse, count === 0 ? message : again);
    }
    return;
  }
  const body = {
    url: `${stage.shop.url}/${name}-${at}`,
    maxAmount: '1',
    intentId: `${name}-${at}`,
  };
  for (const [count, { url }] of slots.entries()) {
    await sleep(pauses[count] ?? 0);
    await stage.ask(url, purse, { method: 'POST', path: '/v1/wallets/me/payments', body });
  }
}

function authorization(
  stage: WalletStage,
  random: SeededRandom,
  { address }: Purse,
): Authorization {
  return {
    from: address,
    to: stage.shop.payTo,
    value: PRICE.toString(),
    validAfter: '0',
    validBefore: `${nowSeconds() + random.pick([1, 3, 60])}`,
    nonce: newNonce(),
  };
}

async function signByRpc(
  stage: WalletStage,
  url: string,
  purse: Purse,
  message: Authorization,
): Promise<void> {
  const { usd, chainId } = stage.world;
  const domain = { name: USD_NAME, version: USD_VERSION, chainId, verifyingContract: usd };
  const primaryType = 'TransferWithAuthorization';
  const typedData = { domain, types: TRANSFER_TYPES, primaryType, message };
  const answer = await stage.ask(url, purse, {
    method: 'POST',
    path: '/v1/wallets/me/rpc',
    body: { method: 'eth_signTypedData_v4', params: { typed_data: typedData } },
  });
  const signature = (answer?.body['data'] as { signature?: Hex } | undefined)?.signature;
  if (signature !== undefined) stage.shop.hold({ authorization: message, signature });
}

/** Never more than the budget of the run: what counts is that none of it is undone. */
async function changeRules(
  stage: WalletStage,
  random: SeededRandom,
  purse: Purse,
  budget: bigint,
): Promise<void> {
  if (!random.chance(0.3)) return;
  await sleep(random.between(0, 400));
  const { url } = random.pick(stage.slots);
  const less = rulesOf(stage, budget - PRICE, random.between(24, 700));
  await stage.ask(url, purse, { method: 'PUT', path: '/v1/wallets/me/policy', body: less });
}

async function setRules(stage: WalletStage, purse: Purse, budget: bigint): Promise<void> {
  await stage.insist(purse, {
    method: 'PUT',
    path: '/v1/wallets/me/policy',
    body: rulesOf(stage, budget, 720),
  });
}

function rulesOf(stage: WalletStage, budget: bigint, windowHours: number): Record<string, unknown> {
  const asset = `eip155:${stage.world.chainId}/${stage.world.usd}`;
  const limit = { asset, perPayment: PRICE.toString(), budget: budget.toString() };
  return { limits: [limit], windowHours };
}

/** What the wallet says it has spent or may yet spend. */
async function countedFor(stage: WalletStage, purse: Purse): Promise<bigint> {
  const body = await stage.insist(purse, { method: 'GET', path: '/v1/wallets/me/policy' });
  const [limit] = body['limits'] as { readonly spent: { readonly atomic: string } }[];
  return BigInt(limit?.spent.atomic ?? '-1');
}

async function check(
  stage: WalletStage,
  purse: Purse,
  budget: bigint,
  when: string,
): Promise<string[]> {
  // In this order: the chain may move between the two, and what moves is counted before.
  const moved = await stage.movedFrom(purse);
  const counted = await countedFor(stage, purse);
  const violations: string[] = [];
  if (moved > budget) violations.push(`${when}: the chain moved ${moved}, the budget is ${budget}`);
  if (counted < moved) violations.push(`${when}: the chain moved ${moved}, ${counted} was counted`);
  return violations;
}
