import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import type { Address } from 'viem';
import { Clock } from '../../platform/concurrency/clock.js';
import { Rounds } from '../../platform/concurrency/rounds.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { PostgresCalls } from '../postgres/postgres-calls.js';
import { type CallReader, type DueEntry, PAUSE_MS } from './call-store.js';
import { type Call, type Circle, PAYERS_MAX, payersOf, qualityOf, WINDOW_MS } from './quality.js';

const PAGE = 20;
const IDLE_MS = 1000;
const RETRY_MS = 5000;
/** Time alone changes a score, and moves calls out of the window. */
const REFRESH_MS = 6 * 3_600_000;
/** An account that the payee paid in this time belongs to its circle. */
const CIRCLE_MS = 90 * 86_400_000;
/** Maximum steps from payee to payer, through buyers of the entry. */
const CIRCLE_STEPS = 8;

/**
 * Rates entries by their calls: soon after a call, and at intervals. The work of a round is bounded. Any number of
 * processes may run it, and another one takes over the entries of a killed process.
 */
@Injectable()
export class QualityScorer {
  readonly #rounds = new Rounds(() => this.round());
  #isFailing = false;

  constructor(
    @Inject(PostgresCalls) private readonly calls: CallReader,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'info' | 'error'>,
  ) {}

  start(): void {
    this.#rounds.start();
  }

  @AtShutdown('background', 'quality')
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Rates the due entries. Returns the pause before the next round. Never fails. */
  async round(): Promise<number> {
    try {
      const now = this.clock.now();
      const takenUntil = new Date(now + PAUSE_MS);
      const due = await this.calls.takeDue(new Date(now), takenUntil, PAGE);
      for (const entry of due) await this.#rate(entry, now, takenUntil);
      if (this.#isFailing) this.logger.info('catalogue entries are being rated again');
      this.#isFailing = false;
      return due.length < PAGE ? IDLE_MS : 0;
    } catch (error) {
      // One log line for an outage.
      if (!this.#isFailing) {
        this.logger.error(
          { err: error },
          'catalogue entries cannot be rated; the old ratings stay',
        );
      }
      this.#isFailing = true;
      return RETRY_MS;
    }
  }

  async #rate(entry: DueEntry, now: number, takenUntil: Date): Promise<void> {
    const since = new Date(now - WINDOW_MS);
    const { calls, mayChange } = await this.calls.calls(entry, since, new Date(now));
    const circle = await this.#circle(entry.payTo, calls, new Date(now - CIRCLE_MS));
    const payers = payersOf(calls, circle).map(({ address }) => address);
    const witnesses =
      payers.length === 0
        ? new Map<Address, readonly Address[]>()
        : await this.calls.otherPayees(
            payers.slice(0, PAYERS_MAX),
            [...circle],
            [...new Set(calls.map(({ payer }) => payer))],
            since,
          );
    const dueAt =
      calls.length === 0 ? undefined : new Date(now + (mayChange ? PAUSE_MS : REFRESH_MS));
    const quality = qualityOf(calls, circle, witnesses, now);
    await this.calls.rate(entry, { quality, ratedAt: new Date(now), takenUntil, dueAt });
  }

  /**
   * The payee, the accounts it paid, the accounts those paid, and from there the accounts paid by buyers within the
   * circle.
   */
  async #circle(payTo: Address, calls: readonly Call[], since: Date): Promise<Circle> {
    const buyers = new Set(calls.map(({ payer }) => payer));
    const circle = new Set([payTo]);
    let newest: readonly Address[] = buyers.size === 0 ? [] : [payTo];
    for (let step = 1; newest.length > 0 && step <= CIRCLE_STEPS; step += 1) {
      const paid = await this.calls.paidBy(newest, since);
      const others = paid.filter((one) => !circle.has(one));
      for (const one of others) circle.add(one);
      newest = step === 1 ? others : others.filter((one) => buyers.has(one));
    }
    return circle;
  }
}
