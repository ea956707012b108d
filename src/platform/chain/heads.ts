import { ChainUnavailableError } from '../../protocol/errors.js';
import type { BlockHeader } from './block.js';
import type { ChainView } from './chain-view.js';
import {
  compareHeads,
  type EndpointHealth,
  isPresent,
  LAG_MAX_BLOCKS,
  noteFailure,
} from './endpoint-health.js';

/** An endpoint that takes longer counts with what it has shown before. */
const MEASURE_TIMEOUT_MS = 400;
/** More blocks than this at once have to be shown by their header too. */
const LEAP_BLOCKS = 64n;
/** What was shown longer ago says nothing of the newest block. */
const HEAD_KEPT_MS = 10_000;

/** The newest blocks that the endpoints of a chain have shown at about the same time. */
export class HeadsLook {
  constructor(private readonly heads: ReadonlyMap<EndpointHealth, bigint>) {}

  get newest(): bigint {
    let newest = 0n;
    for (const number of this.heads.values()) if (number > newest) newest = number;
    return newest;
  }

  /** Blocks this endpoint was behind the newest; `undefined` when it did not show one. */
  behind(health: EndpointHealth): bigint | undefined {
    const own = this.heads.get(health);
    return own === undefined ? undefined : this.newest - own;
  }
}

/** Follows how far each endpoint of a chain is, and takes no leap on its word alone. */
export class Heads {
  /** What each endpoint has shown last that was borne out: its word alone moves nothing. */
  readonly #confirmed = new Map<EndpointHealth, ConfirmedHead>();
  #last: { readonly at: number; readonly look: Promise<HeadsLook> } | undefined;

  constructor(
    private readonly endpoints: readonly EndpointHealth[],
    private readonly views: () => readonly ChainView[],
    private readonly onDisagreement: (what: string) => void,
  ) {}

  /** The number of the newest block that any endpoint has shown lately; 0 when none has. */
  get newestKnown(): bigint {
    return this.#newestOf(this.endpoints.filter(({ isRightChain }) => isRightChain !== false));
  }

  #newestOf(endpoints: readonly EndpointHealth[]): bigint {
    let newest = 0n;
    for (const health of endpoints) {
      const number = this.#numberOf(health) ?? 0n;
      if (number > newest) newest = number;
    }
    return newest;
  }

  #numberOf(health: EndpointHealth): bigint | undefined {
    const confirmed = this.#confirmed.get(health);
    if (confirmed === undefined) return undefined;
    return performance.now() - confirmed.at <= HEAD_KEPT_MS ? confirmed.header.number : undefined;
  }

  /**
   * Asks all endpoints that answer for their newest block.
   *
   * @param maxAgeMs - an answer that was asked for within this time serves too.
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
    await Promise.all(views.map((view) => this.#askHead(view)));
    compareHeads(views.map(({ health }) => health));
    const heads = views.flatMap(({ health }) => {
      const number = this.#numberOf(health);
      return number === undefined ? [] : [[health, number] as const];
    });
    return new HeadsLook(new Map(heads));
  }

  async #askHead(view: ChainView): Promise<void> {
    try {
      const latest = await view.within(MEASURE_TIMEOUT_MS).latestBlock();
      await this.confirmLeap(view, latest);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
    }
  }

  /**
   * A head far above what every endpoint has shown so far has to be there by its number as well, or it
   * is none.
   *
   * @throws ChainUnavailableError
   */
  async confirmLeap(view: ChainView, latest: BlockHeader): Promise<void> {
    const { health } = view;
    // What was borne out, however long ago: what it has only said moves nothing, not even its own next word.
    const before = this.#confirmed.get(health)?.header;
    const others = this.endpoints.filter((one) => one !== health && one.isRightChain !== false);
    const ownBefore = before?.number ?? 0n;
    const othersKnow = this.#newestOf(others);
    const known = othersKnow > ownBefore ? othersKnow : ownBefore;
    // Ahead of everybody else is suspect sooner than a leap of the only one there is.
    const room = othersKnow > 0n ? LAG_MAX_BLOCKS : LEAP_BLOCKS;
    const isPlausible = known === 0n || latest.number <= known + room;
    if (isPlausible || (await this.#isThere(view, latest))) {
      this.#confirmed.set(health, { header: latest, at: performance.now() });
      return;
    }
    health.head = before;
    noteFailure(health);
    this.onDisagreement('head');
    throw new ChainUnavailableError(view.chainId, 'latest block');
  }

  async #isThere(view: ChainView, { number, hash }: BlockHeader): Promise<boolean> {
    const shown = await view.within(MEASURE_TIMEOUT_MS).block(number);
    return shown?.hash === hash;
  }
}

interface ConfirmedHead {
  readonly header: BlockHeader;
  /** Milliseconds of `performance.now`. */
  readonly at: number;
}
