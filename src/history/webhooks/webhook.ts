import type { Address } from 'viem';
import type { DeliveryState } from '../postgres/tables.js';
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

/** Of one API key. */
export const WEBHOOKS_MAX = 10;
/** At once, while one is replaced by another. */
export const SECRETS_MAX = 4;
/** In one request. */
export const REPLAY_MAX = 1000;

export interface WebhookFields {
  readonly url: string;
  readonly description: string;
  readonly payees: readonly Address[];
  readonly events: readonly EventType[];
}

/** A field that is `undefined` stays as it is. */
export type WebhookChange = {
  readonly [K in keyof WebhookFields]?: WebhookFields[K] | undefined;
} & { readonly enabled?: boolean | undefined };

export interface AddedSecret {
  readonly name: string;
}

/** One delivery, as the owner of its endpoint sees it. */
export type DeliveryReport = Answered & {
  readonly eventId: string;
  readonly type: string;
  readonly settlementId?: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly happenedAt: Date;
  /** Of the last attempt. */
  readonly triedAt?: Date;
  /** Of the next attempt. */
  readonly dueAt?: Date;
};

export interface ReplayFrom {
  /** Events after this one. */
  readonly after?: string;
  /** Events from this moment on. */
  readonly since?: Date;
  /** Of the webhook's payees only these. */
  readonly payees: ReadonlySet<Address>;
  /** Whether events of lanes are among them. */
  readonly isOperator: boolean;
}

export interface Replayed {
  readonly events: number;
  /** The last of them, to go on from; `undefined` where there are no more. */
  readonly next: string | undefined;
}
