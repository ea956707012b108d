import type { Address } from 'viem';
import { LANE_EVENTS } from './lane-levels.js';
import { SETTLEMENT_EVENTS } from './settlement-events.js';

/** Events an endpoint may subscribe to. `webhook.test` and the challenge need no subscription. */
export const EVENT_TYPES = [...SETTLEMENT_EVENTS, ...LANE_EVENTS, 'webhook.disabled'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/**
 * Asks a URL for its consent: nothing else is posted there before it has answered with the text of
 * this event.
 */
export const CHALLENGE_EVENT = 'webhook.challenge';

/** A subscription of the owner of an API key. */
export interface Webhook {
  readonly id: string;
  /** Id of the API key. */
  readonly owner: string;
  readonly url: string;
  readonly description: string;
  /** Lower case. Empty where an operator subscribes to lanes alone. */
  readonly payees: readonly Address[];
  readonly events: readonly EventType[];
  /** The newest last. */
  readonly secretNames: readonly string[];
  readonly createdAt: Date;
  /** When its URL, as it is now, answered the challenge. */
  readonly confirmedAt: Date | undefined;
  /** Since when nothing has reached it. */
  readonly failingSince: Date | undefined;
  readonly disabled: Disabled | undefined;
}

/**
 * - `owner`: turned off by its owner.
 * - `failing`: nothing reached it for a day.
 * - `gone`: it answered 410.
 */
export type DisabledReason = 'owner' | 'failing' | 'gone';

interface Disabled {
  readonly at: Date;
  readonly reason: DisabledReason;
}

/** One event on its way to one endpoint. */
export interface Delivery {
  readonly sequence: string;
  readonly eventId: string;
  readonly type: string;
  readonly body: string;
  /** `undefined` for what is about an endpoint or a lane. */
  readonly payTo: Address | undefined;
  /** That were made before. */
  readonly attempts: number;
}

/** What an endpoint answered, as far as it was read. */
export interface Answered {
  readonly status?: number;
  /** Why there was no answer, or it was not good. */
  readonly problem?: string;
  readonly answer?: string;
}
