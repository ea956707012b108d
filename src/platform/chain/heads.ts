import { ChainUnavailableError } from '../../protocol/errors.js';
import type { BlockHeader } from './block.js';
import type { ChainView } from './chain-view.js';
import {
  compareHeads,
  type EndpointHealth,
  isPresent,
  LAG_MAX_BLOCKS,
  noteBlockTime,
  noteFailure,
} from './endpoint-health.js';
import { attempt } from './hedge.js';
import { type NoteDisagreement, statementOf } from './quorum.js';

/** A slower endpoint counts with its last answer. */
const MEASURE_TIMEOUT_MS = 400;
/**
 * A leap of more blocks than this must be confirmed by a header, if it is the only endpoint; with others, at most this
 * many headers are read to find the common block.
 */
const LEAP_BLOCKS = 64n;
/** Number of blocks over which the block time is measured. */
const MEASURED_BLOCKS = 16n;
/** An older head says nothing about the newest block. */
const HEAD_KEPT_MS = 10_000;

/** The newest blocks of the endpoints of a chain at about the same time. */
export class HeadsLook {
  constructor(private readonly heads: ReadonlyMap<EndpointHealth, bigint>) {}

  get newest(): bigint {
    let newest = 0n;
    for (const number of this.heads.values()) if (number > newest) newest = number;
    return newest;
  }

  /** How many blocks this endpoint was behind the newest one; `undefined` if it did not answer. */
  behind(health: EndpointHealth): bigint | undefined {
    const own = this.heads.get(health);
    return own === undefined ? undefined : this.newest - own;
  }
}

/** The newest known blocks at some moment. */
export interface KnownHeads {
  /** Number of the newest block that two endpoints have; of one, if there is no second one; 0 if none. */
  readonly agreed: bigint;
  /** The newest recent block of any endpoint. A block that does not exist yet has no known hash. */
  readonly newest: Pick<BlockHeader, 'number' | 'hash'> | undefined;
}

/** Follows the head of each endpoint, and accepts no unconfirmed leap. */
export class Heads {
  /** The last confirmed head of each endpoint; an unconfirmed one has no effect. */
  readonly #confirmed = new Map<EndpointHealth, ConfirmedHead>();
  #last: { readonly at: number; readonly look: Promise<HeadsLook> } | undefined;

  constructor(
    private readonly endpoints: readonly EndpointHealth[],
    private readonly views: () => readonly ChainView[],
    private readonly onDisagreement: NoteDisagreement,
  ) {}

  /** The number of the newest block that any endpoint has shown lately; 0 when none has. */
  get newestKnown(): bigint {
    return this.known.newest?.number ?? 0n;
  }

  get known(): KnownHeads {
    const [newest] = this.#freshOf(this.endpoints.filter((one) => one.isRightChain !== false));
    const [first, second = first] = this.#freshOf(this.endpoints.filter(isPresent));
    return { agreed: (second ?? newest)?.number ?? 0n, newest };
  }

  /** Recent confirmed heads, newest first. */
  #freshOf(endpoints: readonly EndpointHealth[]): BlockHeader[] {
    return endpoints
      .flatMap((health) => this.#fresh(health) ?? [])
      .sort((a, b) => (a.number > b.number ? -1 : 1));
  }

  #fresh(health: EndpointHealth): BlockHeader | undefined {
    const confirmed = this.#confirmed.get(health);
    if (confirmed === undefined) return undefined;
    return performance.now() - confirmed.at <= HEAD_KEPT_MS ? confirmed.header : undefined;
  }

  /**
   * Reads the newest block of all endpoints that answer.
   *
   * @param maxAgeMs - a measurement that began within this time serves too.
   */
  measure(maxAgeMs: number): Promise<HeadsLook> {
    const now = performance.now();
    if (this.#last !== undefined && now - this.#last.at <= maxAgeMs) return this.#last.look;
    const look = this.#measure();
    this.#last = { at: now, look };
    return look;
  }

  async #measure(): Promise<HeadsLook> {
    const views = this.views().filter(({ health }) => isPresent(health) || health.isStuck);
    const shown = await Promise.all(
      views.map(async (view) => {
        const latest = await attempt(() => view.within(MEASURE_TIMEOUT_MS).latestBlock());
        return latest === undefined ? [] : [{ view, latest: latest.value }];
      }),
    );
    // The lowest first, because a higher one needs confirmation, whichever endpoint answered first.
    const lowestFirst = shown.flat().sort((a, b) => (a.latest.number < b.latest.number ? -1 : 1));
    for (const { view, latest } of lowestFirst) await attempt(() => this.confirmLeap(view, latest));
    compareHeads(views.map(({ health }) => health));
    const heads = views.flatMap(({ health }) => {
      const head = this.#fresh(health);
      return head === undefined ? [] : [[health, head.number] as const];
    });
    return new HeadsLook(new Map(heads));
  }

  /** Measures the block time of each endpoint. */
  async measureBlockTimes(): Promise<void> {
    await Promise.all(this.views().map((view) => attempt(() => this.#measureBlockTime(view))));
  }

  async #measureBlockTime(view: ChainView): Promise<void> {
    const newer = view.health.shown;
    if (newer === undefined || newer.number === 0n) return;
    const blocks = newer.number < MEASURED_BLOCKS ? newer.number : MEASURED_BLOCKS;
    const older = await view.block(newer.number - blocks);
    if (older !== undefined) noteBlockTime(view.health, older, newer);
  }

  /**
   * A head above those of the other endpoints counts when one of them has this block too, or when it follows a block
   * that they have. Without another endpoint it counts, but a leap must also be readable by its number.
   *
   * @throws ChainUnavailableError
   */
  async confirmLeap(view: ChainView, latest: BlockHeader): Promise<void> {
    const { health } = view;
    const others = this.views().filter((one) => one.health !== health && isPresent(one.health));
    const [known] = this.#freshOf(others.map((one) => one.health));
    const isSeconded = known !== undefined;
    const isGood =
      known === undefined
        ? await this.#isThere(view, latest)
        : latest.number <= known.number + LAG_MAX_BLOCKS ||
          (await this.#isFollowing(view, latest, others)) ||
          (await this.#isShownBy(others, latest));
    if (isGood) {
      health.head = latest;
      this.#confirmed.set(health, { header: latest, at: performance.now(), isSeconded });
      return;
    }
    noteFailure(health);
    this.onDisagreement('head', [
      statementOf(view, `block ${latest.number} ${latest.hash}`),
      ...others.map((other) =>
        statementOf(other, `block ${other.health.head?.number ?? 'unknown'}`),
      ),
    ]);
    throw new ChainUnavailableError(view.chainId, 'latest block');
  }

  /** For the only endpoint. */
  async #isThere(view: ChainView, { number, hash }: BlockHeader): Promise<boolean> {
    const before = this.#confirmed.get(view.health)?.header;
    if (before === undefined || number <= before.number + LEAP_BLOCKS) return true;
    const shown = await view.within(MEASURE_TIMEOUT_MS).block(number);
    return shown?.hash === hash;
  }

  /** Whether its parents lead to a block that another endpoint has shown, or that was confirmed before. */
  async #isFollowing(
    view: ChainView,
    latest: BlockHeader,
    others: readonly ChainView[],
  ): Promise<boolean> {
    const own = this.#confirmed.get(view.health);
    const anchors = [
      ...this.#freshOf(others.map(({ health }) => health)),
      ...(own?.isSeconded === true ? [own.header] : []),
    ].filter(({ number }) => number <= latest.number && latest.number - number <= LEAP_BLOCKS);
    const anchor = anchors.reduce<BlockHeader | undefined>(
      (best, one) => (best === undefined || one.number > best.number ? one : best),
      undefined,
    );
    if (anchor === undefined) return false;
    // The right hash with another number is a lie.
    if (anchor.hash === latest.hash) return anchor.number === latest.number;
    const numbers: bigint[] = [];
    for (let number = anchor.number + 1n; number < latest.number; number += 1n)
      numbers.push(number);
    const between = await attempt(() =>
      Promise.all(numbers.map((number) => view.within(MEASURE_TIMEOUT_MS).block(number))),
    );
    if (between === undefined) return false;
    let parent: string | undefined = anchor.hash;
    for (const block of [...between.value, latest]) {
      if (block?.parentHash !== parent) return false;
      parent = block.hash;
    }
    return true;
  }

  async #isShownBy(others: readonly ChainView[], { number, hash }: BlockHeader): Promise<boolean> {
    const shown = await Promise.all(
      others.map((other) => attempt(() => other.within(MEASURE_TIMEOUT_MS).block(number))),
    );
    return shown.some((done) => done?.value?.hash === hash);
  }
}

interface ConfirmedHead {
  readonly header: BlockHeader;
  /** Milliseconds of `performance.now`. */
  readonly at: number;
  /** Whether another endpoint was present that could have contradicted it. */
  readonly isSeconded: boolean;
}
