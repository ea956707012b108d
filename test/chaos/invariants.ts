import type { Hex } from 'viem';
import type { Deal, Payment } from './deals.js';
import type { Heard, Order, Request } from './order.js';
import { unrest } from './rest.js';
import type { Stage } from './stage.js';
import { type Status, statusOf } from './status.js';

/** What a fault takes away from what can be promised. */
export interface Expectations {
  /** Without its records the service cannot know whose a payment was. */
  readonly isLedgerWhole: boolean;
  /** Whether to wait until the queue tools show nothing more to do. */
  readonly areJobsDone: boolean;
  /**
   * An answered hash may be replaced by another one of the same account nonce. Success is answered
   * when a block has paid; if that block is replaced and its payer cannot pay any more, the success
   * is void.
   */
  readonly hasReorgs: boolean;
  /** Nothing but what buyers and tokens do: then no honest payment waits for any other. */
  readonly isUndisturbed: boolean;
  /** How long one payment may hold up another then. */
  readonly heldUpMostMs: number;
}

/** How long a stranger, and a late requester, has to wait for an unclaimed sale. */
const SALE_GRACE_MS = 60_000;
const USED = new Set(['invalid_exact_evm_nonce_already_used', 'permit2_invalid_nonce']);

/** Compares the chain with the service's account and with all answers. */
export async function violationsOf(
  stage: Stage,
  deals: readonly Deal[],
  expectations: Expectations,
): Promise<readonly string[]> {
  const violations = await unrest(stage, expectations.areJobsDone);
  violations.push(...calledByName(stage, deals));
  for (const deal of deals) {
    const found = await violationsOfDeal(stage, deal, expectations);
    if (found.length > 0) violations.push(`${describe(deal)}: ${[...new Set(found)].join('; ')}`);
  }
  return violations;
}

async function violationsOfDeal(
  stage: Stage,
  deal: Deal,
  expectations: Expectations,
): Promise<string[]> {
  const violations = [
    ...wrongForms(stage, deal),
    ...soldTwice(stage, deal),
    ...(isMemoryWhole(stage, expectations) ? answeredToStrangers(stage, deal) : []),
  ];
  const paid = new Set<Payment>();
  for (const payment of deal.payments) {
    const received = await stage.world.balance(payment.token, payment.payTo);
    const those = deal.payments.filter(({ payTo }) => payTo === payment.payTo);
    if (received === payment.amount) paid.add(payment);
    else if (received !== 0n && those.every(({ amount }) => amount !== received)) {
      violations.push(`the payee has ${received} of ${payment.amount}`);
    }
  }
  if (paid.size > 1) violations.push('one nonce paid twice');
  for (const payment of deal.payments) {
    violations.push(...(await violationsOfPayment(stage, deal, payment, paid, expectations)));
    violations.push(...(await wrongStatus(stage, deal, payment, paid, expectations)));
  }
  for (const order of deal.orders) {
    violations.push(...wrongEnds(stage, order, deal, paid, expectations));
  }
  return violations;
}

/** A lane's account calls tokens, proxies and Multicall3: never what a payload names to be called. */
function calledByName({ world, pool }: Stage, deals: readonly Deal[]): string[] {
  const payers = deals.flatMap(({ payments }) => payments.map(({ payer }) => payer));
  return [world.walletFactory, ...payers]
    .filter((named) => pool.targets.has(named.toLowerCase()))
    .map((named) => `a lane has called ${named}`);
}

/** Every answer has its form, whatever it says. */
function wrongForms({ world }: Stage, { orders, strangers }: Deal): string[] {
  const violations: string[] = [];
  for (const { transaction, network, reason } of [...orders, ...strangers].flatMap(
    ({ heard }) => heard,
  )) {
    if (typeof transaction !== 'string') violations.push('an answer without a transaction field');
    if (network !== `eip155:${world.chainId}`) violations.push(`the network ${String(network)}`);
    if (reason === 'settlement_pending' && transaction === '') violations.push('pending, no hash');
  }
  return violations;
}

/** Answers between a replica's last update and its promotion are not in the ledger. */
function soldTwice(stage: Stage, { orders, strangers }: Deal): string[] {
  const buyers = [...orders, ...strangers].filter(({ isBuyer }) => isBuyer);
  const remembered = buyers.filter(({ heard }) => {
    const at = heard.find(({ isSuccess, isAccepted }) => isSuccess || isAccepted)?.at ?? 0;
    return isKept(stage, at);
  });
  return remembered.length > 1 ? [`sold ${remembered.length} times`] : [];
}

const isKept = ({ losses }: Stage, at: number): boolean =>
  losses.every(({ from, to }) => at < from || at > to);

/**
 * The lane that signed it keeps a payment whose `202` was in lost writes, until its block is final
 * or its process dies. Payments sent after the losses are stored in the present ledger.
 */
function isSentAfterLosses({ losses, pool }: Stage, payment: Payment): boolean {
  const sentAt = pool.firstSight(payment);
  return sentAt !== undefined && losses.every(({ to }) => sentAt > to);
}

function isSentInLoss({ losses, pool }: Stage, payment: Payment): boolean {
  const sentAt = pool.firstSight(payment);
  return sentAt !== undefined && losses.some(({ from, to }) => from <= sentAt && sentAt <= to);
}

const isMemoryWhole = ({ losses }: Stage, { isLedgerWhole }: Expectations): boolean =>
  isLedgerWhole && losses.length === 0;

/**
 * Success is for who asked before a payment could be copied, and for who shows that it is the same: by
 * the key or by the address.
 */
function answeredToStrangers({ pool }: Stage, { orders, strangers, trick }: Deal): string[] {
  // Where an attempt fails, by a payer or by a block that was replaced, the next one has a first broadcast of its own.
  if (trick !== undefined && trick !== 'is_copied') return [];
  const hasFailed = ({ heard }: Order): boolean =>
    heard.some(({ reason }) => reason === 'invalid_exact_evm_transaction_failed');
  if (orders.some(hasFailed) || strangers.some(hasFailed)) return [];
  const all = [...orders, ...strangers].flatMap((order) =>
    order.requests.map((request) => ({ order, request })),
  );
  const violations: string[] = [];
  for (const { order, request } of all) {
    const { heard, askedAt } = request;
    if (heard === undefined || !(heard.isSuccess || heard.isAccepted)) continue;
    const sighted = pool.firstSight(order.options.payment);
    if (sighted === undefined || askedAt <= sighted) continue;
    if (heard.at >= sighted + SALE_GRACE_MS) continue;
    const isKnown = all.some(
      ({ order: other, request: { askedAt: before } }) =>
        before <= sighted && isSameCaller(order, other),
    );
    if (!isKnown) {
      const who = strangers.includes(order) ? 'a stranger' : 'a late order';
      violations.push(`${who} was told success ${askedAt - sighted} ms after the broadcast`);
    }
  }
  return violations;
}

const isSameCaller = (one: Order, other: Order): boolean =>
  one.options.from === other.options.from || (one.key !== undefined && one.key === other.key);

async function violationsOfPayment(
  stage: Stage,
  { orders, strangers, trick }: Deal,
  payment: Payment,
  paid: ReadonlySet<Payment>,
  { hasReorgs, isLedgerWhole }: Expectations,
): Promise<string[]> {
  const violations: string[] = [];
  const isPaid = paid.has(payment);
  const mine = [...orders, ...strangers].filter(({ options }) => options.payment === payment);
  const buyers = mine.filter(({ isBuyer }) => isBuyer);
  const mayBeTakenBack = hasReorgs && trick !== undefined;
  if (buyers.length > 0 && !isPaid && !mayBeTakenBack) {
    violations.push('told of success, and not paid');
  }
  if (buyers.length > 0 && !hasReorgs) {
    const hash = hashAnswered(buyers);
    if (hash !== undefined && !(await hasPaid(stage, hash, payment))) {
      violations.push(`${hash} has not paid`);
    }
  }
  const isKeyed = orders.some(({ key }) => key !== undefined);
  if (isPaid && isLedgerWhole && buyers.length === 0 && trick === undefined && isKeyed) {
    const isLost = stage.losses.length > 0 && orders.length > 1;
    // Whether the place of a 202 may be gone, or a payment refused as used that was sent in lost writes, is judged order
    // by order: the sale is gone with it.
    const isForgotten = isSentInLoss(stage, payment);
    const isExcused = ({ end }: Order): boolean =>
      end === 'not_sent' || end === 'gone' || (end === 'refused' && isForgotten);
    if (!isLost && !orders.some(isExcused)) {
      violations.push('paid, and sold to nobody');
    }
  }
  for (const { place } of mine) {
    if (place?.isPaid !== true) continue;
    if (place.payTo?.toLowerCase() !== payment.payTo.toLowerCase()) {
      violations.push('the place of a 202 shows another payee');
    }
    if (place.amount !== payment.amount.toString()) {
      violations.push('the place of a 202 shows another amount');
    }
  }
  if (payment.method === 'upto') {
    for (const { isSuccess, amount } of mine.flatMap(({ heard }) => heard)) {
      if (isSuccess && amount !== payment.amount.toString()) {
        violations.push(`told that ${String(amount)} was settled, not ${payment.amount}`);
      }
    }
  }
  return violations;
}

function wrongEnds(
  stage: Stage,
  order: Order,
  { orders, strangers, trick }: Deal,
  paid: ReadonlySet<Payment>,
  { isLedgerWhole }: Expectations,
): string[] {
  const { end, options, heard } = order;
  const isPaid = paid.has(options.payment);
  if (end === undefined) return ['a seller without an end'];
  // A copier presents what it was given, also where we have sent nothing that could be copied.
  const isOurs = trick !== 'is_copied' || stage.pool.firstSight(options.payment) !== undefined;
  if (end === 'not_sent') {
    return isPaid && isOurs && orders.length === 1 ? ['withdrawn, and landed'] : [];
  }
  if (end === 'gone') {
    const isKnown = heard.every(({ isAccepted, at }) => !isAccepted || isKept(stage, at));
    const isOnly = orders.length === 1 && strangers.length === 0;
    const mustBeThere = isKnown || (isOnly && isSentAfterLosses(stage, options.payment));
    return isLedgerWhole && isPaid && mustBeThere ? ['the place of a 202 is no more'] : [];
  }
  if (end !== 'refused') return [];
  const { reason, transaction, isAccepted, at, retry } = order.refusal ?? lastOf(heard);
  const isUsed = USED.has(reason ?? '');
  // Sent, and perhaps final, in writes that were lost: no process has to remember it, and the chain says that it is used.
  if (isUsed && isPaid && transaction !== '' && isSentInLoss(stage, options.payment)) return [];
  if (trick === undefined && (isLedgerWhole || !(isUsed || isAccepted))) {
    return [`an honest payment was refused: ${reason ?? order.place?.state ?? '?'}`];
  }
  // Poor when one order asked, rich again for the next; or with code, and without it again.
  const isForAnother = orders.some((other) => other !== order && other.isBuyer);
  const isTransient = trick === 'spends_for_a_while' || trick === 'gains_code_for_a_while';
  // That it failed was lost again, and by the next look its payer can pay.
  if (isTransient && (isForAnother || !isKept(stage, at))) return [];
  // Presented elsewhere: that is said, with its hash. Where the hash could not be read in time, no other payment is advised.
  if (isPaid && !isAccepted && !(isUsed && (transaction !== '' || retry !== 'new-payment'))) {
    return [`refused as ${String(reason)}, and paid`];
  }
  return [];
}

/** What anybody may look up, once everything is at rest. */
async function wrongStatus(
  stage: Stage,
  { trick }: Deal,
  payment: Payment,
  paid: ReadonlySet<Payment>,
  { isLedgerWhole, isUndisturbed, heldUpMostMs }: Expectations,
): Promise<string[]> {
  const status = await statusOf(stage, payment);
  if (status?.source !== 'ledger') return [];
  // The other payment of the same nonce.
  if (status.payTo !== undefined && status.payTo !== payment.payTo.toLowerCase()) return [];
  const isOther = status.amount !== undefined && status.amount !== payment.amount.toString();
  if (isOther && payment.method === 'upto') return [];
  const violations: string[] = [];
  if (status.isPaid && !paid.has(payment)) violations.push('shown as paid, and not paid');
  // A copier of a withdrawn payment pays by a foreign transaction.
  const isOurs = trick !== 'is_copied' || status.state !== 'withdrawn';
  if (paid.has(payment) && !status.isPaid && isLedgerWhole && isOurs && !isForeign(status)) {
    violations.push(`paid, and shown as ${status.state}`);
  }
  if (status.state === 'included' && status.transactions.length === 0) {
    violations.push('included without an attempt');
  }
  // It waits for two blocks of its own.
  const isPrepared = payment.method === 'approval';
  if (isUndisturbed && !isPrepared && (status.queuedMs ?? 0) > heldUpMostMs) {
    violations.push(`held up for ${status.queuedMs} ms`);
  }
  return violations;
}

const isForeign = ({ state }: Status): boolean => state === 'foreign';

function hashAnswered(buyers: readonly Order[]): Hex | undefined {
  const success = buyers.flatMap(({ heard }) => heard).find(({ isSuccess }) => isSuccess);
  return success?.transaction as Hex | undefined;
}

function lastOf(heard: readonly Heard[]): Heard {
  const last = heard.at(-1);
  if (last === undefined) throw new Error('an end without an answer');
  return last;
}

/** Whether a transaction has succeeded and moved this token to this payee. */
async function hasPaid(
  { world }: Stage,
  hash: Hex,
  { token, payTo, amount }: Payment,
): Promise<boolean> {
  const receipt = await world.client.getTransactionReceipt({ hash }).catch(() => undefined);
  return (
    receipt?.status === 'success' &&
    receipt.logs.some(
      ({ address, topics, data }) =>
        address.toLowerCase() === token.toLowerCase() &&
        topics.some((topic) => topic.endsWith(payTo.slice(2).toLowerCase())) &&
        BigInt(data) === amount,
    )
  );
}

function describe({ payments, trick, manner, orders, strangers }: Deal): string {
  const heard = orders.map(
    ({ requests, end }) => `[${describeAll(requests)} -> ${end ?? 'no end'}]`,
  );
  const others = strangers.map(({ requests }) => `(stranger: ${describeAll(requests)})`);
  const [payment] = payments;
  const name = payment === undefined ? '?' : `${payment.method} ${payment.nonce.slice(0, 12)}`;
  const tricks = trick === undefined ? '' : ` (${trick})`;
  return `${name} ${manner}${tricks} ${[...heard, ...others].join(' ')}`;
}

/** The same again is counted. */
export function describeAll(requests: readonly Request[]): string {
  const texts: [text: string, count: number][] = [];
  for (const request of requests) {
    const text = describeRequest(request);
    const last = texts.at(-1);
    if (last?.[0] === text) last[1] += 1;
    else texts.push([text, 1]);
  }
  return texts.map(([text, count]) => (count === 1 ? text : `${text} x${count}`)).join(' ');
}

function describeRequest({ heard }: Request): string {
  if (heard === undefined) return '-';
  const { isSuccess, isAccepted, reason, transaction } = heard;
  const hash = typeof transaction === 'string' ? transaction.slice(0, 8) : '?';
  const what = isSuccess ? 'success' : isAccepted ? 'handed_out' : (reason ?? '?');
  return `${what}${hash === '' ? '' : `@${hash}`}`;
}
