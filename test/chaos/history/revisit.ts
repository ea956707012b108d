import { eip3009Body } from '../../support/payments.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { ask, delay, newCallerAddress } from '../client.js';
import type { Stage } from '../stage.js';
import type { Bought } from './memory.js';

const REVISIT_TIMEOUT_MS = 60_000;
const ANSWER_MS = 12_000;
const RETRY_MS = 300;
const AT_ONCE_MOST = 2;
/** Says nothing about the payment. */
const ASK_AGAIN = new Set(['network_unavailable', 'queue_full', 'rate_limited']);

/**
 * Payments of earlier runs are presented once more, some of which have left the ledger: its buyer
 * alone gets the same answer again, whatever goes wrong meanwhile. Its key is not taken by another
 * payment.
 */
export async function revisit(
  stage: Stage,
  random: SeededRandom,
  bought: readonly Bought[],
  isWholeSince: number,
): Promise<readonly string[]> {
  const chosen = random.some(bought, AT_ONCE_MOST);
  const starts = chosen.map(() => random.between(200, 2000));
  const found = await Promise.all(
    chosen.map(async (one, index) => {
      await delay(starts[index] ?? 0);
      // Of a ledger that was lost since the key may be free.
      const another = one.at > isWholeSince ? await asAnotherOrder(stage, one) : [];
      return [...another, ...(await asStranger(stage, one)), ...(await asBuyer(stage, one))];
    }),
  );
  return found.flat();
}

/** Whatever is sold under its key meanwhile, it is its buyer's. */
export async function keepsItsKey(stage: Stage, one: Bought): Promise<readonly string[]> {
  const found = await Promise.all([asAnotherOrder(stage, one), asAnotherOrder(stage, one)]);
  return [...found.flat(), ...(await asBuyer(stage, one))];
}

async function asBuyer(stage: Stage, one: Bought): Promise<readonly string[]> {
  const { key, from, transaction, run } = one;
  const deadline = Date.now() + REVISIT_TIMEOUT_MS;
  for (let count = 0; Date.now() < deadline; count += 1) {
    const answer = await present(stage, one, { from, key, count });
    const { success, errorReason, transaction: shownHash } = answer?.json ?? {};
    if (success === true && shownHash === transaction) return [];
    // Its own transaction, and the word to ask again: a process that knows the hash and cannot ask the ledger says so.
    const isPending = errorReason === 'settlement_pending' && shownHash === transaction;
    const isMute = answer === undefined || answer.status >= 500 || isPending;
    if (!isMute && !ASK_AGAIN.has(String(errorReason))) {
      return [
        `bought in ${run} by ${transaction}, and told ${String(errorReason)} ${String(shownHash)}`,
      ];
    }
    await delay(RETRY_MS);
  }
  return [`bought in ${run} by ${transaction}, and nobody says so any more`];
}

/** The key with a new payment of the same payer, as a seller would that gives one key to two orders. */
async function asAnotherOrder(stage: Stage, one: Bought): Promise<readonly string[]> {
  const { payer, payTo } = one.payment;
  const account = stage.payers.find(({ address }) => address.toLowerCase() === payer.toLowerCase());
  if (account === undefined) return [];
  const { chainId, usd: token } = stage.world;
  const body = await eip3009Body({ payer: account, payTo, chainId, token });
  const payment = { ...one.payment, body };
  const { from, key } = one;
  const deadline = Date.now() + REVISIT_TIMEOUT_MS;
  let said = 'nothing';
  for (let count = 0; Date.now() < deadline; count += 1) {
    const answer = await present(stage, { ...one, payment }, { from, key, count });
    const reason = answer?.json['errorReason'];
    if (answer?.json['success'] === true) {
      return [`another payment sold under the key of what was bought in ${one.run}`];
    }
    if (answer?.status === 409 && reason === 'idempotency_key_conflict') return [];
    said = `${answer?.status ?? 'nothing'} ${String(reason)}`;
    await delay(RETRY_MS);
  }
  return [`another payment under the key of what was bought in ${one.run} was told ${said}`];
}

async function asStranger(stage: Stage, one: Bought): Promise<readonly string[]> {
  const answer = await present(stage, one, { from: newCallerAddress(), key: undefined, count: 0 });
  return answer?.json['success'] === true ? [`sold again what was bought in ${one.run}`] : [];
}

function present(
  stage: Stage,
  { payment }: Bought,
  {
    from,
    key,
    count,
  }: { readonly from: string; readonly key: string | undefined; readonly count: number },
) {
  const urls = stage.urls();
  stage.otherRequests += 1;
  return ask(`${urls[count % urls.length]}/settle`, {
    method: 'POST',
    headers: { ...stage.headersOf(from), ...(key !== undefined && { 'idempotency-key': key }) },
    body: payment.body,
    from,
    timeoutMs: ANSWER_MS,
  });
}
