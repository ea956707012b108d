import type { Answered, Delivery, DisabledReason, Webhook } from './webhook.js';

export type DeliveryOutcome = Answered & {
  /** `waiting`: to be tried again after the pause. */
  readonly state: 'delivered' | 'waiting' | 'failed' | 'withheld';
  readonly pauseMs?: number;
  /** The URL that a challenge was posted to. Delivered it is confirmed; where the endpoint has another one by now nothing is noted. */
  readonly challengedUrl?: string;
};

export const DELIVERY_STORE = Symbol('DELIVERY_STORE');

/**
 * Pending deliveries and their outcomes. This is the source of truth: jobs only bring a process to
 * them.
 *
 * @throws ArchiveError from every method.
 */
export interface DeliveryStore {
  /** Endpoints for which something is due that no process works on. Where one is not confirmed, only its challenge is. */
  due(most: number): Promise<readonly string[]>;

  /**
   * Takes the lease of an endpoint, or renews it.
   *
   * @returns `undefined` where another process has it, and for an endpoint that is disabled or gone.
   */
  take(id: string, holder: string, leaseMs: number): Promise<Webhook | undefined>;

  release(id: string, holder: string): Promise<void>;

  /** What is due, each the oldest of its line that waits: of a webhook that is not confirmed the challenge alone. */
  heads(webhook: Pick<Webhook, 'id' | 'confirmedAt'>, most: number): Promise<readonly Delivery[]>;

  /** Stores an attempt. Deliveries queued behind a retry wait as long. */
  record(id: string, sequence: string, outcome: DeliveryOutcome): Promise<void>;

  /** Disables an endpoint that nothing has reached for a day, or that is gone. @returns whether it did. */
  disable(id: string, reason: Exclude<DisabledReason, 'owner'>): Promise<boolean>;

  /** When the next attempt is due, in milliseconds from now; `undefined` where nothing waits. */
  nextInMs(id: string): Promise<number | undefined>;

  /** Drops events that are older than anybody may ask for. @returns whether there may be more of them. */
  forget(): Promise<boolean>;
}
