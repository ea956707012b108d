import { isTransferLog } from '../../../protocol/evm/logs.js';
import type { AuthorizationRef } from '../../../protocol/schemes/authorization-method.js';
import type { presentedAuthorizations } from '../../../protocol/schemes/presented.js';
import { methodNamed } from '../../../protocol/schemes/registry.js';
import type { AuthorizationUse } from '../authorization-use.js';
import type { Receipt } from '../receipt.js';
import { isSameAuthorization } from './block-index.js';

/**
 * The transfer that a transaction made for exactly this payment. Several of the same payer, payee and
 * amount stand in the order in which their authorizations were presented.
 */
export function transferOf(
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
  { payTo, amount, ...ref }: AuthorizationRef,
  { logs }: Pick<Receipt, 'logs'>,
  presented: ReturnType<typeof presentedAuthorizations>,
): AuthorizationUse['moved'] {
  const read = presented.find((one) => isSameAuthorization(one, ref));
  const method = methodNamed(ref.method);
  const isNamed = method.useEvents.length > 0;
  if (isNamed && !method.isExecutedIn(logs, ref)) return undefined;
  const signed = payTo === undefined || amount === undefined ? undefined : { payTo, amount };
  const moved = read === undefined ? isNamed && signed : { payTo: read.to, amount: read.amount };
  if (!moved) return undefined;
  const { asset, payer } = ref;
  const shown = logs.find((log) => isTransferLog(log, { asset, payer, ...moved }));
  return shown && { ...moved, logIndex: shown.logIndex };
}
