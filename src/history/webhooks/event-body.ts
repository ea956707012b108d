import { caip2Of } from '../../protocol/payment/network.js';
import type { SettlementRow } from '../settlement-row.js';
import type { LaneMoney } from './lane-levels.js';
import type { SettlementEvent } from './settlement-events.js';

/** What is sent of an event: the settlement as it was archived with it, in the form of a look-up. */
export function eventBody(type: SettlementEvent, row: SettlementRow, at: Date): string {
  return JSON.stringify({ type, timestamp: at.toISOString(), data: settlementOf(row) });
}

export function testBody(endpointId: string, at: Date): string {
  const type = 'webhook.test';
  return JSON.stringify({ type, timestamp: at.toISOString(), data: { webhookId: endpointId } });
}

export function disabledBody(endpointId: string, url: string, reason: string, at: Date): string {
  const type = 'webhook.disabled';
  const data = { webhookId: endpointId, url, reason };
  return JSON.stringify({ type, timestamp: at.toISOString(), data });
}

export function laneLowBody(money: LaneMoney, lowBelow: number, at: Date): string {
  const { chainId, signer, settlementsLeft, balanceWei } = money;
  const data = { network: caip2Of(chainId), signer, settlementsLeft, lowBelow, balanceWei };
  return JSON.stringify({ type: 'lane.low', timestamp: at.toISOString(), data });
}

function settlementOf(row: SettlementRow): Readonly<Record<string, unknown>> {
  const { state, is_paid } = row;
  return without({
    settlementId: row.id.toString('base64url'),
    state,
    paid: is_paid,
    finality: is_paid ? (state === 'included' ? 'included' : 'finalized') : 'none',
    reason: row.reason,
    transaction: hexOf(row.transaction),
    transactions: row.transactions?.map(hexOf),
    block:
      row.block_number === null
        ? null
        : without({ number: row.block_number, hash: hexOf(row.block_hash) }),
    logIndex: row.log_index,
    batchSize: row.batch_size,
    payment: paymentOf(row),
    times: without({
      arrived: row.arrived_at,
      claimed: row.claimed_at,
      allocated: row.allocated_at,
      included: row.included_at,
      finished: row.finished_at,
    }),
  });
}

function paymentOf(row: SettlementRow): Readonly<Record<string, unknown>> {
  return without({
    network: caip2Of(row.chain_id),
    scheme: row.scheme,
    method: row.method,
    asset: hexOf(row.asset),
    payer: hexOf(row.payer),
    payTo: hexOf(row.pay_to),
    amount: row.amount,
    settledAmount: row.settled_amount,
    nonce: row.authorization_nonce,
    deadline: row.deadline,
  });
}

const hexOf = (bytes: Buffer | null): string | null =>
  bytes === null ? null : `0x${bytes.toString('hex')}`;

/** What is not known is not there. */
function without(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  );
}
