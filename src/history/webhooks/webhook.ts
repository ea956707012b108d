import type { Address } from 'viem';
import type { DeliveryState } from '../postgres/tables.js';
import { LANE_EVENTS } from './lane-levels.js';
import { SETTLEMENT_EVENTS } from './settlement-events.js';

/** Events that an endpoint may subscribe to. `webhook.test` and the challenge need no subscription. */
export const EVENT_TYPES = [...SETTLEMENT_EVENTS, ...LANE_EVENTS, 'webhook.disabled'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Asks a URL for its consent. The URL gets no other event before it has answered with the text of this event. */
export const CHALLENGE_EVENT = 'webhook.challenge';

/** A subscription of the owner of an API key. */
export interface Webhook {
  readonly id: string;
  /** Id of the API key. */
  readonly owner: string;
  readonly url: string;
  readonly description: string;
  /** Lower case. Empty if an operator subscribes only to lane events. */
  readonly payees: readonly Address[];
  readonly events: readonly EventType[];
  /** Newest last. */
  readonly secretNames: readonly string[];
  readonly createdAt: Date;
  /** Time at which the present URL answered the challenge. */
  readonly confirmedAt: Date | undefined;
  /** Time since when its deliveries fail. */
  readonly failingSince: Date | undefined;
  readonly disabled: Disabled | undefined;
}

/**
 * - `owner`: disabled by its owner.
 * - `failing`: its deliveries failed for a day.
 * - `gone`: its URL answered 410.
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
  /** `undefined` for an event about an endpoint or a lane. */
  readonly payTo: Address | undefined;
  /** Attempts made before this one. */
  readonly attempts: number;
}

/** The answer of an endpoint, as far as it was read. */
export interface Answered {
  readonly status?: number;
  /** Why the attempt failed. */
  readonly problem?: string;
  readonly answer?: string;
}

/** Most webhooks of one API key. */
export const WEBHOOKS_MAX = 10;
/** Several secrets allow a rotation without lost events. */
export const SECRETS_MAX = 4;
/** Most events that one request can replay. */
export const REPLAY_MAX = 1000;

export interface WebhookFields {
  readonly url: string;
  readonly description: string;
  readonly payees: readonly Address[];
  readonly events: readonly EventType[];
}

/** A field that is `undefined` stays unchanged. */
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
  /** Time of the last attempt. */
  readonly triedAt?: Date;
  /** Time of the next attempt. */
  readonly dueAt?: Date;
};

export interface ReplayFrom {
  /** Events after this one. */
  readonly after?: string;
  /** Events from this moment on. */
  readonly since?: Date;
  /** Only events of these payees of the webhook are replayed. */
  readonly payees: ReadonlySet<Address>;
  /** Whether events of lanes are replayed too. */
  readonly isOperator: boolean;
}

export interface Replayed {
  readonly events: number;
  /** The last event; `undefined` if there are no more. */
  readonly next: string | undefined;
}
