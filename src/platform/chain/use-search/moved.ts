import { isPaidLog, isTransferLog, type ReceiptLog } from '../../../protocol/evm/logs.js';
import type { AuthorizationRef } from '../../../protocol/schemes/authorization-method.js';
import type { presentedAuthorizations } from '../../../protocol/schemes/presented.js';
import { methodNamed } from '../../../protocol/schemes/registry.js';
import type { AuthorizationUse } from '../authorization-use.js';
import type { Receipt } from '../receipt.js';
import { isSameAuthorization } from './block-index.js';

/** Logs by which a transaction has made exactly this payment; each pays for one. */
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
 * What a contract got by an authorization that its payer may use for something else: it says itself what it was paid
 * for. Equal logs of one transaction are not told apart for certain: the first after the use comes first.
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
 * The transfer that a transaction made for exactly this payment. Several of the same payer, payee and
 * amount stand in the order in which their authorizations were presented.
 */
function transferOf(
  ref: AuthorizationRef,
  { isSuccess, logs }: Receipt,
  presented: ReturnType<typeof presentedAuthorizations>,
): number | undefined {
  const { asset, payer, payTo, amount, method } = ref;
  if (!isSuccess || payTo === undefined || amount === undefined) return undefined;
  const alike = presented.filter(
    (one) => one.token === asset && one.from === payer && one.to === payTo && one.amount === amount,
  );
  const place = alike.findIndex((one) => one.nonce === ref.nonce && one.method === method);
  if (place < 0) return undefined;
  const sought = { asset, payer, payTo, amount };
  const transfers = logs.filter((log) => isTransferLog(log, sought));
  return transfers[Math.min(place, transfers.length - 1)]?.logIndex;
}

/**
 * What a transaction moved by an authorization. A contract with unreadable calldata may have
 * presented it: if the token logs the authorization as executed, it has paid the payee its payer
 * signed for.
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
