import type { Address } from 'viem';
import type { Listing } from '../../protocol/listing/listing.js';
import type { Probe } from './probe.js';
import type { Robots } from './robots.js';

/** A host is asked no more often, whatever is listed there. */
export const HOST_PAUSE_MS = 3_600_000;
/** A host without entries is forgotten so long after it was asked. */
export const HOST_FORGOTTEN_MS = 86_400_000;

/** What a host wants of us, as it was read last. */
export interface KeptRobots {
  /** Scheme, host and port: each has rules of its own. */
  readonly origin: string;
  readonly robots: Robots;
  readonly readAt: Date;
}

/** A host that nobody else asks for an hour, and what is to be asked of it. */
export interface Visit {
  readonly host: string;
  readonly robots: KeptRobots | undefined;
  readonly entry: {
    readonly id: string;
    readonly chainId: number;
    readonly payTo: Address;
    readonly listing: Listing;
  };
}

/** What came of a visit. */
export interface Visited {
  readonly probe: Probe;
  /** When the entry is to be asked for again. */
  readonly dueAt: Date;
  /** Where they were read anew. */
  readonly robots: KeptRobots | undefined;
}

/** Which entries are asked for, when, and with what result. @throws ArchiveError from every method. */
export interface ProbeBook {
  /**
   * Notes entries that were listed since: what can be probed is due at once.
   *
   * @returns how many.
   */
  enrol(now: Date, most: number): Promise<number>;

  /**
   * Takes hosts that are due, each with the one of its entries that is due longest. Nobody gets them within
   * {@link HOST_PAUSE_MS}, also if this process dies. What the operator denies is not asked for.
   */
  take(now: Date, most: number): Promise<readonly Visit[]>;

  finish(visit: Visit, visited: Visited): Promise<void>;
}
