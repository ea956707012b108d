import type { BlockHeader } from '../../../platform/chain/block.js';
import { BackgroundTasks } from '../../../platform/concurrency/background-tasks.js';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import type { Ending, LaneEndings, ParkedSettlement, Unparking } from '../../ledger/lane-store.js';
import { isTransient } from '../lane-errors.js';
import type { LaneObserver } from '../lane-observer.js';
import type {
  AssetSuspensions,
  LaneEvents,
  LaneHeads,
  OutcomeResolver,
  OutcomeVerdict,
} from '../ports.js';
import { countsFromParking, noteFailure } from './failures.js';

interface ParkedFollowerOptions {
  readonly chainId: number;
  readonly endings: LaneEndings;
  readonly assetSuspensions: Pick<AssetSuspensions, 'noteWithoutEvidence'>;
  readonly heads: LaneHeads;
  readonly resolver: OutcomeResolver;
  readonly events: LaneEvents;
  readonly observer: LaneObserver;
  readonly clock: Clock;
}

interface Answered {
  readonly parked: ParkedSettlement;
  readonly unparking: Unparking;
}

const AT_ONCE = 16;
const OF_ASSET = 4;
const QUESTION_MS = 10_000;
/** A search may take this long; the ledger reserves it a little longer. */
const SEARCH_MS = 25_000;
const FIRST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 600_000;

/**
 * Resolves settlements with an unreadable outcome, outside the lanes: any worker of the chain asks again, with doubling
 * pauses, until the outcome is known.
 */
export class ParkedFollower {
  readonly #answers: BackgroundTasks<OutcomeVerdict>;
  readonly #asked = new Map<
    string,
    { readonly parked: ParkedSettlement; readonly since: number }
  >();

  constructor(private readonly options: ParkedFollowerOptions) {
    this.#answers = new BackgroundTasks({
      most: AT_ONCE,
      mostOfGroup: OF_ASSET,
      limitMs: QUESTION_MS,
      onResult: () => undefined,
      clock: options.clock,
    });
  }

  /** Writes the outcomes found since the last round, and starts the searches that are due. */
  async round(): Promise<void> {
    await this.#write();
    const finalized = this.options.heads.current?.finalized;
    if (finalized === undefined) return;
    for (const { parked } of this.#asked.values()) this.#ask(parked, finalized);
    const room = AT_ONCE - this.#asked.size;
    if (room <= 0) return;
    for (const parked of await this.options.endings.dueParked(this.options.chainId, room)) {
      this.#ask(parked, finalized);
    }
  }

  #ask(parked: ParkedSettlement, finalized: BlockHeader): void {
    const { id, payment, sentBefore } = parked;
    const isAsked = this.#answers.start(id, assetNameOf(payment), () =>
      this.options.resolver.resolveAgain(id, payment, sentBefore, finalized),
    );
    // Without a free place it becomes due again by itself.
    if (!isAsked || this.#asked.has(id)) return;
    this.#asked.set(id, { parked, since: this.options.clock.steady() });
  }

  async #write(): Promise<void> {
    const { endings, chainId, events, observer } = this.options;
    const answered = this.#answers.collect().flatMap((result): Answered[] => {
      const asked = this.#asked.get(result.key);
      if (asked === undefined) return [];
      const isSearching = result.kind === 'done' && result.value.kind === 'searching';
      if (isSearching && this.options.clock.steady() - asked.since < SEARCH_MS) return [];
      this.#asked.delete(result.key);
      if (result.kind === 'failed' && !isTransient(result.error)) {
        observer.failed(`${chainId}`, 'parked', result.error);
      }
      const { parked } = asked;
      const verdict = result.kind === 'done' ? result.value : undefined;
      return [{ parked, unparking: this.#unparkingOf(parked, verdict) }];
    });
    if (answered.length === 0) return;
    const unparkings = answered.map(({ unparking }) => unparking);
    const { resubmitted } = await endings.unpark(chainId, unparkings);
    const ends = answered.flatMap(({ parked, unparking }) =>
      unparking.kind === 'ended' ? [{ parked, ending: unparking.ending }] : [],
    );
    const ended = ends.map(({ ending }) => ending).filter(({ id }) => !resubmitted.includes(id));
    if (ended.length > 0) observer.ended(`${chainId}`, undefined, ended);
    if (resubmitted.length > 0) observer.resubmitted(`${chainId}`, resubmitted);
    events.finished(ended.map(({ id }) => id));
    for (const { parked, ending } of ends) await this.#noteFailure(parked, ending);
  }

  /** Also of one that is resubmitted: its transaction has cost its gas. */
  async #noteFailure(
    { payment, why, sentBefore: { failed } }: ParkedSettlement,
    { state, blamed }: Ending,
  ): Promise<void> {
    if (state !== 'reverted' || countsFromParking(payment, why, failed)) return;
    await noteFailure(this.options, payment, failed?.isSuccess === true, blamed);
  }

  #unparkingOf({ id, why, tries }: ParkedSettlement, verdict?: OutcomeVerdict): Unparking {
    if (verdict?.kind === 'ended') return { kind: 'ended', ending: verdict.ending };
    if (verdict?.kind === 'requeue') return { kind: 'requeue', id };
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(tries, 16), LONGEST_PAUSE_MS);
    return { kind: 'again', id, why, retryAtMs: this.options.clock.now() + pauseMs };
  }
}
