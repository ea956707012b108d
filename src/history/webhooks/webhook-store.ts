import type { Address } from 'viem';
import type { DeliveryState } from '../postgres/tables.js';
import type { Answered, EventType, Webhook } from './webhook.js';

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

/**
 * Endpoints as their owners make and change them. An owner never finds those of another.
 *
 * @throws ArchiveError from every method.
 */
export interface WebhookStore {
  /** Its URL is sent the challenge. */
  create(owner: string, fields: WebhookFields): Promise<Webhook | 'too_many'>;
  list(owner: string): Promise<readonly Webhook[]>;
  find(owner: string, id: string): Promise<Webhook | undefined>;
  /** Another URL is sent a challenge of its own; so is one that is enabled and has not met its own yet. */
  change(owner: string, id: string, change: WebhookChange): Promise<Webhook | undefined>;
  remove(owner: string, id: string): Promise<boolean>;

  addSecret(owner: string, id: string): Promise<AddedSecret | 'too_many' | undefined>;
  removeSecret(owner: string, id: string, name: string): Promise<'removed' | 'last' | undefined>;

  /** One that is not confirmed is sent the challenge afresh. @returns the id of the event. */
  test(webhook: Webhook): Promise<string>;
  /** @returns `undefined` for an event that is not known any more. */
  replay(webhook: Webhook, from: ReplayFrom): Promise<Replayed | undefined>;
  /** Newest first. @param before - the id of an event. */
  deliveries(
    webhook: Webhook,
    most: number,
    before?: string,
  ): Promise<readonly DeliveryReport[] | undefined>;
}
