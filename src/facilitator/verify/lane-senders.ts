import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { Sender } from '../../protocol/evm/chain-reader.js';
import { started } from '../../protocol/started.js';
import {
  LANE_SILENT_MS,
  LaneQueries,
  type PublishedStatus,
} from '../../settlement/ledger/queries/lane-queries.js';
import type { LaneStatus } from '../../settlement/model/lane-status.js';

/** Interval of reads of the published lane statuses, outside the requests that use them. */
const REFRESH_MS = 500;
/** A lane that has been silent for longer may have another price by now, but it still has the same account. */
const KNOWN_MS = 24 * 3_600_000;

/**
 * The account and the gas price with which a settlement would be sent. Verify simulates the transaction of the lanes,
 * so that a token cannot tell them apart.
 */
@Injectable()
export class LaneSenders {
  /** By chain. */
  #senders: ReadonlyMap<number, readonly Sender[]> | undefined;
  /** Every known account of our lanes, on any chain, as `<chainId>:<signer>`; a ledger may lose it. */
  readonly #own = new Map<string, Remembered>();
  #suspended: ReadonlySet<string> = new Set();
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | undefined;

  constructor(@Inject(LaneQueries) private readonly queries: Pick<LaneQueries, 'all'>) {}

  /**
   * @returns `undefined` while no lane of the chain has ever published a status, or while the only account that may
   *   send it is no lane.
   */
  async senderFor({ chainId, spread, sole }: SenderQuestion): Promise<Sender | undefined> {
    const refreshed = this.#refresh();
    if (this.#senders === undefined) await refreshed;
    if (sole !== undefined) {
      return this.#own.get(`${chainId}:${sole}`)?.sender;
    }
    const own = this.#senders?.get(chainId) ?? [];
    return own.length < 2 ? own[0] : own[Number(spread % BigInt(own.length))];
  }

  /** Whether the lane accounts of a chain are known: the ledger has named one since the start. */
  areKnown(chainId: number): boolean {
    return [...this.#own.keys()].some((account) => account.startsWith(`${chainId}:`));
  }

  /** Whether the lanes of a chain stopped serving an asset, `eip155:56/0x…`. */
  isSuspended(asset: string): boolean {
    return this.#suspended.has(asset);
  }

  #remember(known: readonly PublishedStatus[]): void {
    const now = performance.now();
    for (const [account, { until }] of this.#own) if (until <= now) this.#own.delete(account);
    for (const lane of known) {
      const until = now + KNOWN_MS - lane.silentMs;
      this.#own.set(`${lane.chainId}:${lane.signer.toLowerCase()}`, {
        sender: senderOf(lane),
        until,
      });
    }
  }

  /** During an outage of the ledger, the last known state is still the best answer. */
  #refresh(): Promise<void> | undefined {
    const now = performance.now();
    if (now - this.#refreshedAt < REFRESH_MS) return this.#refreshing;
    this.#refreshedAt = now;
    this.#refreshing = started(this.#read());
    return this.#refreshing;
  }

  async #read(): Promise<void> {
    try {
      const lanes = [...(await this.queries.all())].sort((a, b) => (a.lane < b.lane ? -1 : 1));
      const known = lanes.filter(
        ({ silentMs, treasury }) => silentMs <= KNOWN_MS && treasury === undefined,
      );
      this.#remember(known);
      this.#senders = sendersByChain(known.filter(({ isRetiring }) => isRetiring !== true));
      this.#suspended = new Set(lanes.flatMap(({ suspendedAssets }) => suspendedAssets));
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
    }
  }
}

interface SenderQuestion {
  readonly chainId: number;
  /** Any number; equal numbers get the same lane. */
  readonly spread: bigint;
  /** The only account that may send it, if there is one. */
  readonly sole?: Address | undefined;
}

interface Remembered {
  readonly sender: Sender;
  /** By the steady clock. */
  readonly until: number;
}

/** The live lanes of each chain; where none is live, the former ones. */
function sendersByChain(known: readonly PublishedStatus[]): ReadonlyMap<number, readonly Sender[]> {
  const chainIds = new Set(known.map(({ chainId }) => chainId));
  return new Map(
    [...chainIds].map((chainId) => {
      const own = known.filter((lane) => lane.chainId === chainId);
      const live = own.filter(({ silentMs }) => silentMs <= LANE_SILENT_MS);
      return [chainId, (live.length > 0 ? live : own).map(senderOf)] as const;
    }),
  );
}

function senderOf({
  signer,
  balanceWei,
  gasPriceWei,
}: Pick<LaneStatus, 'signer' | 'balanceWei' | 'gasPriceWei'>): Sender {
  return {
    address: signer.toLowerCase() as Address,
    gasPriceWei: BigInt(gasPriceWei),
    balanceWei: BigInt(balanceWei),
  };
}
