import type {
  DeliveryOutcome,
  DeliveryStore,
} from '../../../../src/history/webhooks/delivery-store.js';
import {
  CHALLENGE_EVENT,
  type Delivery,
  type DisabledReason,
  type Webhook,
} from '../../../../src/history/webhooks/webhook.js';

const DAY_MS = 86_400_000;

interface Kept {
  readonly delivery: Delivery;
  readonly line: string;
  state: DeliveryOutcome['state'];
  attempts: number;
  dueAt: number;
  outcome: DeliveryOutcome | undefined;
}

/** {@link DeliveryStore} in memory, of one endpoint. */
export class MemoryDeliveries implements DeliveryStore {
  readonly kept: Kept[] = [];
  lease: { holder: string; until: number } | undefined;
  failingSince: number | undefined;
  disabledFor: DisabledReason | undefined;
  /** Fails the next note of an outcome: the process dies there. */
  dies = false;

  constructor(
    public webhook: Webhook,
    private readonly now: () => number,
  ) {}

  add(sequence: number, line: string, more: Partial<Delivery> = {}): void {
    const delivery: Delivery = {
      sequence: String(sequence),
      eventId: `evt_${sequence}`,
      body: `{"n":${sequence}}`,
      type: 'settlement.included',
      payTo: this.webhook.payees[0],
      attempts: 0,
      ...more,
    };
    // A delivery behind another of its ordering key is due when that one is.
    const dueAt = Math.max(this.now(), ...this.#waiting(line).map((one) => one.dueAt));
    this.kept.push({ delivery, line, state: 'waiting', attempts: 0, dueAt, outcome: undefined });
  }

  due(): Promise<readonly string[]> {
    const isFree = this.disabledFor === undefined && !this.#isLeased();
    const isDue = this.#sendable().some(({ dueAt }) => dueAt <= this.now());
    return Promise.resolve(isFree && isDue ? [this.webhook.id] : []);
  }

  take(id: string, holder: string, leaseMs: number): Promise<Webhook | undefined> {
    if (id !== this.webhook.id || this.disabledFor !== undefined) return Promise.resolve(undefined);
    if (this.#isLeased() && this.lease?.holder !== holder) return Promise.resolve(undefined);
    this.lease = { holder, until: this.now() + leaseMs };
    return Promise.resolve(this.webhook);
  }

  release(_: string, holder: string): Promise<void> {
    if (this.lease?.holder === holder) this.lease = undefined;
    return Promise.resolve();
  }

  heads(webhook: Pick<Webhook, 'confirmedAt'>, most: number): Promise<readonly Delivery[]> {
    const heads = this.#heads(webhook).map(({ delivery, attempts }) => ({ ...delivery, attempts }));
    return Promise.resolve(heads.slice(0, most));
  }

  record(_: string, sequence: string, outcome: DeliveryOutcome): Promise<void> {
    if (this.dies) {
      this.dies = false;
      return Promise.reject(new Error('the process died here'));
    }
    const kept = this.kept.find(({ delivery }) => delivery.sequence === sequence);
    if (outcome.challengedUrl !== undefined) {
      if (outcome.challengedUrl !== this.webhook.url) return Promise.resolve();
      if (outcome.state === 'delivered') {
        this.webhook = { ...this.webhook, confirmedAt: new Date(this.now()) };
      }
    }
    if (kept?.state !== 'waiting') return Promise.resolve();
    kept.state = outcome.state;
    kept.outcome = outcome;
    kept.dueAt = this.now() + (outcome.pauseMs ?? 0);
    if (outcome.state === 'waiting') {
      for (const one of this.#waiting(kept.line)) one.dueAt = Math.max(one.dueAt, kept.dueAt);
    }
    if (outcome.state === 'withheld') return Promise.resolve();
    kept.attempts += 1;
    this.failingSince =
      outcome.state === 'delivered' ? undefined : (this.failingSince ?? this.now());
    return Promise.resolve();
  }

  disable(_: string, reason: Exclude<DisabledReason, 'owner'>): Promise<boolean> {
    const since = this.failingSince ?? this.now();
    if (this.disabledFor !== undefined) return Promise.resolve(false);
    if (reason === 'failing' && this.now() - since < DAY_MS) return Promise.resolve(false);
    this.disabledFor = reason;
    return Promise.resolve(true);
  }

  nextInMs(): Promise<number | undefined> {
    const waiting = this.#sendable();
    if (waiting.length === 0) return Promise.resolve(undefined);
    return Promise.resolve(
      Math.max(0, Math.min(...waiting.map(({ dueAt }) => dueAt)) - this.now()),
    );
  }

  forget(): Promise<boolean> {
    return Promise.resolve(false);
  }

  #heads({ confirmedAt }: Pick<Webhook, 'confirmedAt'>): readonly Kept[] {
    const waiting = this.#waiting();
    const isFirst = (one: Kept) => waiting.find(({ line }) => line === one.line) === one;
    return waiting
      .filter((one) => one.dueAt <= this.now() && isFirst(one))
      .filter((one) => confirmedAt !== undefined || one.delivery.type === CHALLENGE_EVENT)
      .sort((a, b) => a.dueAt - b.dueAt);
  }

  #sendable(): readonly Kept[] {
    const isConfirmed = this.webhook.confirmedAt !== undefined;
    return this.#waiting().filter(
      ({ delivery }) => isConfirmed || delivery.type === CHALLENGE_EVENT,
    );
  }

  /** Of one line, or of all, the oldest first. */
  #waiting(line?: string): readonly Kept[] {
    return this.kept.filter(
      (one) => one.state === 'waiting' && (line === undefined || one.line === line),
    );
  }

  #isLeased(): boolean {
    return this.lease !== undefined && this.lease.until > this.now();
  }
}
