import { caip2Of } from '../../protocol/payment/network.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';
import { settlementOf } from '../sellers/archived-settlement.js';
import type { SettlementRow } from '../settlement-row.js';
import type { LaneMoney } from './lane-levels.js';
import type { WebhookEventType } from './settlement-events.js';
import { CHALLENGE_EVENT } from './webhook.js';

/**
 * The body of an event: the settlement as it was archived with the event, in the form of a look-up without `source`.
 */
export function eventBody(type: WebhookEventType, row: SettlementRow, at: Date): string {
  const { source, ...settlement } = statusOf(settlementOf(row));
  return JSON.stringify({ type, timestamp: at.toISOString(), data: settlement });
}

export function testBody(endpointId: string, at: Date): string {
  const type = 'webhook.test';
  return JSON.stringify({ type, timestamp: at.toISOString(), data: { webhookId: endpointId } });
}

export function challengeBody(endpointId: string, challenge: string, at: Date): string {
  const data = { webhookId: endpointId, challenge };
  return JSON.stringify({ type: CHALLENGE_EVENT, timestamp: at.toISOString(), data });
}

/** The challenge in a body of {@link challengeBody}. */
export function challengeIn(body: string): string {
  return (JSON.parse(body) as { readonly data: { readonly challenge: string } }).data.challenge;
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
