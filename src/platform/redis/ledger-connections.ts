import { Cluster, type Redis } from 'ioredis';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { ledgerTag } from './hash-slot.js';

/** A connection for commands with one key each, on any server. */
export type SharedRedis = Redis | Cluster;

/**
 * The connections to the ledger. On a single server they are one. In a Cluster each chain's ledger is in one slot,
 * with a connection to the primary of that slot.
 */
export class LedgerConnections {
  /**
   * @param shared - for keys that belong to no chain; for everything on a single server.
   * @param byTag - in a Cluster, connections to the primaries of the ledgers, by hash tag.
   */
  constructor(
    readonly shared: SharedRedis,
    private readonly byTag: ReadonlyMap<string, Redis> = new Map(),
  ) {}

  /**
   * For keys of the ledger of a chain.
   *
   * @throws RedisUnavailableError if this process does not use that chain.
   */
  of(chainId: number): Redis {
    if (!(this.shared instanceof Cluster)) return this.shared;
    const own = this.byTag.get(ledgerTag(chainId));
    if (own === undefined) {
      throw new RedisUnavailableError(
        'ledger',
        `this process has no Redis connection for the ledger of chain ${chainId}`,
      );
    }
    return own;
  }

  /** The connections of ledgers, each once. */
  get servers(): readonly Redis[] {
    return this.shared instanceof Cluster ? [...this.byTag.values()] : [this.shared];
  }

  get all(): readonly SharedRedis[] {
    return [this.shared, ...this.byTag.values()];
  }
}
