import type { Answered, Delivery, DisabledReason, Webhook } from './webhook.js';

export type DeliveryOutcome = Answered & {
  /** `waiting`: waits for the next attempt. */
  readonly state: 'delivered' | 'waiting' | 'failed' | 'withheld';
  readonly pauseMs?: number;
  /** The URL that got a challenge. A delivered challenge confirms it, unless the endpoint has another URL by now. */
  readonly challengedUrl?: string;
};

export const DELIVERY_STORE = Symbol('DELIVERY_STORE');

/**
 * Pending deliveries and their outcomes. The database is the source of truth; jobs only wake a process up.
 *
 * @throws ArchiveError from every method.
 */
export interface DeliveryStore {
  /**
   * Endpoints with due deliveries and without a working process. For an unconfirmed endpoint only its challenge
   * counts.
   */
  due(most: number): Promise<readonly string[]>;

  /**
   * Takes or renews the lease of an endpoint.
   *
   * @returns `undefined` if another process holds it, or the endpoint is disabled or deleted.
   */
  take(id: string, holder: string, leaseMs: number): Promise<Webhook | undefined>;

  release(id: string, holder: string): Promise<void>;

  /** Due deliveries, each the oldest of its ordering key. For an unconfirmed webhook only the challenge. */
  heads(webhook: Pick<Webhook, 'id' | 'confirmedAt'>, most: number): Promise<readonly Delivery[]>;

  /** Stores an attempt. Deliveries behind a retry wait as long as the retry. */
  record(id: string, sequence: string, outcome: DeliveryOutcome): Promise<void>;

  /**
   * Disables an endpoint whose deliveries failed for a day, or that answered 410.
   *
   * @returns whether this call disabled it.
   */
  disable(id: string, reason: Exclude<DisabledReason, 'owner'>): Promise<boolean>;

  /** Milliseconds until the next attempt; `undefined` if nothing waits. */
  nextInMs(id: string): Promise<number | undefined>;

  /**
   * Deletes expired events.
   *
   * @returns whether there may be more.
   */
  forget(): Promise<boolean>;
}
