import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import { Signal } from '../../platform/concurrency/signal.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import type { SettlementStatus } from '../../settlement/ledger/queries/settlement-status.js';
import { SettlementEvents } from '../../settlement/ledger/settlement-events.js';
import type { SettlementState } from '../../settlement/model/settlement.js';
import type { Connection } from '../settle/requester-wait.js';
import { isSimulatedId } from '../simulation/outcomes.js';
import { SimulatedSettles } from '../simulation/simulated-settles.js';
import { StatusService } from './status.service.js';

/** The longest wait a caller may request. */
export const WAIT_SECONDS_MAX = 30;
/** Only processes with a requester of the settlement receive its events; the others poll. */
const LOOK_INTERVAL_MS = 500;
/** Limit for one process: each wait reads the ledger twice a second. */
const WAITS_MAX = 256;
/** Limit for one client. */
const WAITS_OF_CLIENT_MAX = 64;

/** States after which a settlement no longer changes. */
const FINISHED: ReadonlySet<SettlementState> = new Set<SettlementState>([
  'finalized',
  'reverted',
  'expired',
  'foreign',
  'withdrawn',
]);

interface LookUpWait {
  readonly id: string;
  readonly seconds: number;
  /** The API key or the network address of the caller. */
  readonly client: string;
  readonly connection: Connection;
}

export interface WaitedStatus {
  /** `undefined` for an unknown settlement. */
  readonly status: SettlementStatus | undefined;
  /** No place to wait was free, so this is the present state. */
  readonly isTurnedAway: boolean;
}

/**
 * Look-ups that are answered when the state of their settlement changes, or when their time is over. They
 * only read: unlike a requester's wait, they keep no settlement from being withdrawn.
 */
@Injectable()
export class SettlementWaits {
  readonly #open = new Set<Signal>();
  readonly #openOf = new Map<string, number>();
  #isStopping = false;

  constructor(
    @Inject(SettlementEvents) private readonly events: Pick<SettlementEvents, 'listen'>,
    @Inject(StatusService) private readonly status: Pick<StatusService, 'byId'>,
    @Inject(SimulatedSettles) private readonly simulated: Pick<SimulatedSettles, 'byId'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'steady'>,
  ) {}

  /** @throws RedisUnavailableError */
  async lookUp(wait: LookUpWait): Promise<WaitedStatus> {
    // Listening begins before the first look, so that an event right after it is not missed.
    const signal = new Signal();
    const stopListening = this.events.listen(wait.id, () => {
      signal.notify();
    });
    try {
      const status = await this.#look(wait.id);
      if (wait.seconds === 0 || status === undefined || FINISHED.has(status.state)) {
        return { status, isTurnedAway: false };
      }
      if (!this.#enter(wait.client, signal)) return { status, isTurnedAway: true };
      try {
        return { status: await this.#change(status, wait, signal), isTurnedAway: false };
      } finally {
        this.#leave(wait.client, signal);
      }
    } finally {
      stopListening();
    }
  }

  /** Answers all waiting look-ups with the present state before this process ends. */
  @AtShutdown('waits', 'look-ups')
  stop(): void {
    this.#isStopping = true;
    for (const signal of this.#open) signal.notify();
  }

  async #change(
    first: SettlementStatus,
    { id, seconds, connection }: LookUpWait,
    signal: Signal,
  ): Promise<SettlementStatus | undefined> {
    const until = this.clock.steady() + seconds * 1000;
    void connection.closed.then(() => {
      signal.notify();
    });
    for (;;) {
      const remaining = until - this.clock.steady();
      if (remaining <= 0 || this.#isStopping) return first;
      await signal.wait(Math.min(remaining, LOOK_INTERVAL_MS));
      if (!connection.isWritable) return first;
      const status = await this.#look(id);
      // Also at the end of the time: the answer is the present state, not the first one.
      if (status?.state !== first.state || until <= this.clock.steady()) return status;
    }
  }

  #enter(client: string, signal: Signal): boolean {
    const ofClient = this.#openOf.get(client) ?? 0;
    if (this.#isStopping || this.#open.size >= WAITS_MAX || ofClient >= WAITS_OF_CLIENT_MAX) {
      return false;
    }
    this.#open.add(signal);
    this.#openOf.set(client, ofClient + 1);
    return true;
  }

  #leave(client: string, signal: Signal): void {
    this.#open.delete(signal);
    const left = (this.#openOf.get(client) ?? 1) - 1;
    if (left === 0) this.#openOf.delete(client);
    else this.#openOf.set(client, left);
  }

  /** @throws RedisUnavailableError */
  #look(id: string): Promise<SettlementStatus | undefined> {
    return isSimulatedId(id) ? this.simulated.byId(id) : this.status.byId(id);
  }
}
