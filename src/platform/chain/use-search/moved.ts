import {
  isPaidLog,
  isTransferLog,
  type ReceiptLog,
  type Transfer,
} from '../../../protocol/evm/logs.js';
import type {
  AuthorizationRef,
  PresentedAuthorization,
} from '../../../protocol/schemes/authorization-method.js';
import type { presentedAuthorizations } from '../../../protocol/schemes/presented.js';
import { methodNamed } from '../../../protocol/schemes/registry.js';
import type { AuthorizationUse } from '../authorization-use.js';
import type { Receipt } from '../receipt.js';

/** Logs by which a transaction made exactly this payment; each pays for one. */
export function paidLogsOf(
  ref: AuthorizationRef,
  receipt: Receipt,
  presented: ReturnType<typeof presentedAuthorizations>,
): readonly number[] {
  if (ref.shownBy === undefined) {
    const transfer = transferOf(ref, receipt, presented);
    return transfer === undefined ? [] : [transfer];
  }
  return receipt.isSuccess ? shownLogsOf(ref, receipt, presented) : [];
}

/**
 * Logs that show the amount a contract received by an authorization, where its payer may use the
 * authorization for something else. Equal logs of one transaction cannot be distinguished for certain:
 * the first after the use comes first.
 */
function shownLogsOf(
  ref: AuthorizationRef,
  { logs }: Pick<Receipt, 'logs'>,
  presented: ReturnType<typeof presentedAuthorizations>,
): readonly number[] {
  const { asset, payer, payTo, amount, shownBy } = ref;
  if (payTo === undefined || amount === undefined || shownBy === undefined) return [];
  const method = methodNamed(ref.method);
  const isNamed = method.useEvents.length > 0;
  const use = isNamed ? logs.find((log) => method.isExecutedIn([log], ref)) : undefined;
  const isUsed = isNamed
    ? use !== undefined
    : presented.some((one) => isSameAuthorization(one, ref));
  const sought = { asset, payer, payTo, amount };
  if (!isUsed || !logs.some((log) => isTransferLog(log, sought))) return [];
  const shown = logs.filter((log) => isPaidLog(log, shownBy, amount));
  const isAfter = ({ logIndex }: ReceiptLog): boolean => logIndex > (use?.logIndex ?? -1);
  const nearestFirst = [...shown.filter(isAfter), ...shown.filter((log) => !isAfter(log))];
  return nearestFirst.map(({ logIndex }) => logIndex);
}

/**
 * The transfer of a transaction for exactly this payment. Several with equal payer, payee and amount are in the order
 * of their authorizations, without those that the token names in its logs and has not executed.
 */
function transferOf(
  ref: AuthorizationRef,
  { isSuccess, logs }: Receipt,
  presented: ReturnType<typeof presentedAuthorizations>,
): number | undefined {
  const { asset, payer, payTo, amount, method } = ref;
  if (!isSuccess || payTo === undefined || amount === undefined) return undefined;
  const alike = alikeIn(presented, { asset, payer, payTo, amount }).filter((one) =>
    mayBeExecuted(one, logs),
  );
  const place = alike.findIndex((one) => one.nonce === ref.nonce && one.method === method);
  if (place < 0) return undefined;
  const sought = { asset, payer, payTo, amount };
  const transfers = logs.filter((log) => isTransferLog(log, sought));
  return transfers[Math.min(place, transfers.length - 1)]?.logIndex;
}

function mayBeExecuted(
  { method, token: asset, from: payer, nonce }: PresentedAuthorization,
  logs: readonly ReceiptLog[],
): boolean {
  const rules = methodNamed(method);
  return rules.useEvents.length === 0 || rules.isExecutedIn(logs, { method, asset, payer, nonce });
}

/** Whether a transaction paid every authorization of this payer, payee and amount in it. */
export function isPaidWhole(
  ref: AuthorizationRef,
  { isSuccess, logs }: Receipt,
  presented: ReturnType<typeof presentedAuthorizations>,
): boolean {
  const own = presented.find((one) => isSameAuthorization(one, ref));
  if (!isSuccess || own === undefined) return false;
  const sought = { asset: ref.asset, payer: ref.payer, payTo: own.to, amount: own.amount };
  const paid = logs.filter((log) => isTransferLog(log, sought));
  return paid.length >= alikeIn(presented, sought).length;
}

function alikeIn(
  presented: ReturnType<typeof presentedAuthorizations>,
  { asset, payer, payTo, amount }: Transfer,
): ReturnType<typeof presentedAuthorizations> {
  return presented.filter(
    (one) => one.token === asset && one.from === payer && one.to === payTo && one.amount === amount,
  );
}

/**
 * The transfer that a transaction made with an authorization. A contract with unreadable calldata may have presented
 * it: if the token logs the authorization as executed, it has paid the signed payee.
 */
export function movedBy(
  wanted: AuthorizationRef,
  { logs }: Pick<Receipt, 'logs'>,
  presented: ReturnType<typeof presentedAuthorizations>,
): AuthorizationUse['moved'] {
  const { payTo, amount, ...ref } = wanted;
  const read = presented.find((one) => isSameAuthorization(one, ref));
  const method = methodNamed(ref.method);
  const isNamed = method.useEvents.length > 0;
  if (isNamed && !method.isExecutedIn(logs, ref)) return undefined;
  const signed = payTo === undefined || amount === undefined ? undefined : { payTo, amount };
  if (ref.shownBy !== undefined) {
    const [logIndex] = shownLogsOf(wanted, { logs }, presented);
    return signed && logIndex !== undefined ? { ...signed, logIndex } : undefined;
  }
  const moved = read === undefined ? isNamed && signed : { payTo: read.to, amount: read.amount };
  if (!moved) return undefined;
  const { asset, payer } = ref;
  const shown = logs.find((log) => isTransferLog(log, { asset, payer, ...moved }));
  return shown && { ...moved, logIndex: shown.logIndex };
}

/** Whether a presented authorization is this one, for this payment where that is known. */
export function isSameAuthorization(one: PresentedAuthorization, ref: AuthorizationRef): boolean {
  return (
    one.method === ref.method &&
    one.token === ref.asset &&
    one.from === ref.payer &&
    one.nonce === ref.nonce &&
    (ref.payTo === undefined || one.to === ref.payTo) &&
    (ref.amount === undefined || one.amount === ref.amount)
  );
}

/** The only item; `undefined` if there are several. */
export function onlyOf<T>(items: readonly T[]): T | undefined {
  return items.length === 1 ? items[0] : undefined;
}
