import type { Hex } from 'viem';
import { authorizationOf, permit2Of } from '../differential/cases.js';
import type { Deal } from './episode.js';
import type { Heard } from './order.js';
import type { Stage } from './stage.js';

/** What a disturbance takes away from what can be promised. */
export interface Expectations {
  /** Without its records the service cannot know whose a payment was. */
  readonly isLedgerWhole: boolean;
  /** Whether to wait until the queue tools show nothing more to do. */
  readonly areJobsDone: boolean;
  /**
   * A told hash may be replaced by another one of the same account nonce. Success is told when a block
   * has paid; should that block be replaced and its payer be unable to pay by then, there was none.
   */
  readonly hasReorgs: boolean;
}

const QUIET_PATIENCE_MS = 45_000;
const USED = new Set(['invalid_exact_evm_nonce_already_used', 'permit2_invalid_nonce']);

/** Compares what the chain shows with what the ledger says and what every seller was told. */
export async function violationsOf(
  stage: Stage,
  deals: readonly Deal[],
  expectations: Expectations,
): Promise<readonly string[]> {
  const violations = await unrest(stage, expectations.areJobsDone);
  for (const deal of deals) {
    const found = await violationsOfDeal(stage, deal, expectations);
    violations.push(...found.map((text) => `${describe(deal)}: ${text}`));
  }
  return violations;
}

function describe({ method, mischief, orders, body }: Deal): string {
  const heard = orders.map(
    ({ heard, end }) => `[${heard.map(describeHeard).join(' ')} -> ${end ?? 'no end'}]`,
  );
  const { nonce } = (method === 'eip3009' ? authorizationOf(body) : permit2Of(body)) as {
    nonce: string;
  };
  return `${method} ${nonce.slice(0, 12)}${mischief === undefined ? '' : ` (${mischief})`} ${heard.join(' ')}`;
}

function describeHeard({ isSuccess, reason, transaction }: Heard): string {
  const hash = typeof transaction === 'string' ? transaction.slice(0, 8) : '?';
  return `${isSuccess ? 'success' : (reason ?? '?')}${hash === '' ? '' : `@${hash}`}`;
}

async function violationsOfDeal(
  stage: Stage,
  deal: Deal,
  { isLedgerWhole, hasReorgs }: Expectations,
): Promise<string[]> {
  const { world } = stage;
  const { orders, amount, payTo, method, mischief } = deal;
  const violations: string[] = [];
  const token = method === 'eip3009' ? world.usd : world.coin;
  const received = await world.balance(token, payTo);
  const isPaid = received === amount;
  if (received !== 0n && !isPaid) violations.push(`the payee has ${received} of ${amount}`);

  const heard = orders.flatMap((order) => order.heard);
  for (const { transaction, network, reason } of heard) {
    if (typeof transaction !== 'string') violations.push('an answer without a transaction field');
    if (network !== `eip155:${world.chainId}`) violations.push(`the network ${String(network)}`);
    if (reason === 'settlement_pending' && transaction === '') violations.push('pending, no hash');
  }

  const buyers = orders.filter((order) => order.heard.some(({ isSuccess }) => isSuccess));
  if (buyers.length > 1) violations.push(`sold ${buyers.length} times`);
  const mayBeTakenBack = hasReorgs && mischief !== undefined;
  if (buyers.length > 0 && !isPaid && !mayBeTakenBack) {
    violations.push('told of success, and not paid');
  }
  if (buyers.length > 0 && !hasReorgs) {
    const hash = buyers[0]?.heard.find(({ isSuccess }) => isSuccess)?.transaction as Hex;
    if (!(await hasPaid(stage, hash, token, payTo))) violations.push(`${hash} has not paid`);
  }

  for (const { end } of orders) {
    if (end === undefined) violations.push('a seller without an end');
    if (end === 'not_sent' && isPaid && orders.length === 1)
      violations.push('withdrawn, and landed');
  }
  const refusals = orders.filter(({ end }) => end === 'refused');
  for (const order of refusals) {
    const { reason, transaction } = lastOf(order.heard);
    const isUsed = USED.has(reason ?? '');
    if (mischief === undefined && (isLedgerWhole || !isUsed)) {
      violations.push(`an honest payment was refused: ${String(reason)}`);
    } else if (isPaid && !(isUsed && transaction !== '')) {
      // It was presented elsewhere: that is said, with its hash.
      violations.push(`refused as ${String(reason)}, and paid`);
    }
  }
  if (isPaid && isLedgerWhole && buyers.length === 0 && mischief === undefined) {
    if (orders.every(({ end }) => end !== 'not_sent')) violations.push('paid, and sold to nobody');
  }
  return violations;
}

function lastOf(heard: readonly Heard[]): Heard {
  const last = heard.at(-1);
  if (last === undefined) throw new Error('an end without an answer');
  return last;
}

/** Whether a transaction has succeeded and moved this token to this payee. */
async function hasPaid({ world }: Stage, hash: Hex, token: Hex, payTo: Hex): Promise<boolean> {
  const receipt = await world.client.getTransactionReceipt({ hash }).catch(() => undefined);
  return (
    receipt?.status === 'success' &&
    receipt.logs.some(
      ({ address, topics }) =>
        address.toLowerCase() === token.toLowerCase() &&
        topics.some((topic) => topic.endsWith(payTo.slice(2).toLowerCase())),
    )
  );
}

/** Waits for all work to be done; says what does not come to rest. */
async function unrest(stage: Stage, areJobsDone: boolean): Promise<string[]> {
  const deadline = Date.now() + QUIET_PATIENCE_MS;
  for (;;) {
    const open = await openWork(stage);
    if (areJobsDone) open.push(...(await openJobs(stage)));
    if (open.length === 0) return [];
    if (Date.now() > deadline) return open;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function openWork({ world, redis, signers }: Stage): Promise<string[]> {
  const { chainId, client } = world;
  const open: string[] = [];
  const sets = ['live', 'queued', 'pending', 'payees'].map((name) => `x402:c:${chainId}:${name}`);
  for (const key of sets) {
    const count = await redis.zcard(key);
    if (count > 0) open.push(`${key} holds ${count}`);
  }
  const loads = await redis.hgetall(`x402:c:${chainId}:load`);
  if (Object.keys(loads).length > 0) open.push(`load of ${JSON.stringify(loads)}`);
  const inFlight = await redis.keys(`x402:f:${chainId}:*`);
  if (inFlight.length > 0) open.push(`amounts in flight of ${inFlight.length} payers`);
  for (const address of signers) {
    const lane = `x402:l:${chainId}:${address.toLowerCase()}`;
    const latest = await client.getTransactionCount({ address, blockTag: 'latest' });
    const pending = await client.getTransactionCount({ address, blockTag: 'pending' });
    const next = await redis.hget(lane, 'next');
    const attempts = await redis.hlen(`${lane}:attempts`);
    const work = await redis.zcard(`${lane}:work`);
    if (latest !== pending) open.push(`${address} has ${pending - latest} in the pool`);
    if (next === null || Number(next) !== latest) {
      open.push(`${address} is at ${latest}, its lane at ${String(next)}`);
    }
    if (attempts > 0 || work > 0) open.push(`${address} has ${attempts} attempts, ${work} taken`);
  }
  return open;
}

async function openJobs({ world: { chainId }, redis }: Stage): Promise<string[]> {
  const open: string[] = [];
  for (const state of ['wait', 'active', 'paused'] as const) {
    const jobs = await redis.llen(`bull:settle-${chainId}:${state}`);
    if (jobs > 0) open.push(`${jobs} jobs ${state}`);
  }
  for (const state of ['delayed', 'failed', 'completed', 'prioritized'] as const) {
    const jobs = await redis.zcard(`bull:settle-${chainId}:${state}`);
    if (jobs > 0) open.push(`${jobs} jobs ${state}`);
  }
  return open;
}
