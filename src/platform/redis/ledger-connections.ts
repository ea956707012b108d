import { Cluster, type Redis } from 'ioredis';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { ledgerTag } from './hash-slot.js';

/** Takes commands on one key each, wherever that key is. */
export type SharedRedis = Redis | Cluster;

/**
 * The Redis of the ledger. One server has all of it; in a Cluster the ledger of a chain is in one slot,
 * and is asked on a connection to the primary of that slot.
 */
export class LedgerConnections {
  /**
   * @param shared - for what belongs to no chain; one server of everything where it is no Cluster.
   * @param byTag - connections to the primaries that have the ledgers, in a Cluster, by the hash tag of each.
   */
  constructor(
    readonly shared: SharedRedis,
    private readonly byTag: ReadonlyMap<string, Redis> = new Map(),
  ) {}

  /**
   * For keys of the ledger of a chain, and no others.
   *
   * @throws RedisUnavailableError where this process has nothing to do with that chain.
   */
  of(chainId: number): Redis {
    if (!(this.shared instanceof Cluster)) return this.shared;
    const own = this.byTag.get(ledgerTag(chainId));
    if (own === undefined) {
      throw new RedisUnavailableError('ledger', `chain ${chainId} has no ledger here`);
    }
    return own;
  }

  /** Those that ledgers are on, each once. */
  get servers(): readonly Redis[] {
    return this.shared instanceof Cluster ? [...this.byTag.values()] : [this.shared];
  }

  get all(): readonly SharedRedis[] {
    return [this.shared, ...this.byTag.values()];
  }
}
