/** One partition of the ledger of a chain: all its keys are in one slot, and no step is taken in two. */
export interface LedgerId {
  readonly chainId: number;
  /** From 0 on. */
  readonly partition: number;
}

/** The first partition of a chain, and the only one of most. */
export const firstLedger = (chainId: number): LedgerId => ({ chainId, partition: 0 });

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * Which partition of a chain's ledger has what. Every process computes the same from what never changes: nothing is
 * looked up, so that nothing can be lost or be told otherwise to two processes.
 *
 * - What one payer has is where the payer is: the last digits of its address say it.
 * - A lane is at home where its signer's address says so, likewise. It settles for the payers of that partition alone.
 * - The id of a settlement begins with its partition where there are several; see {@link Partitions.nameOf}.
 */
export class Partitions {
  /** @param counts - by chain; chains that are missing have one. Each is of `PARTITION_COUNTS`. */
  constructor(private readonly counts: ReadonlyMap<number, number> = new Map()) {}

  countOf(chainId: number): number {
    return this.counts.get(chainId) ?? 1;
  }

  /** All of a chain, in order. */
  all(chainId: number): readonly LedgerId[] {
    return Array.from({ length: this.countOf(chainId) }, (_, partition) => ({
      chainId,
      partition,
    }));
  }

  /** @param address - of a payer, or of the signer of a lane, in any letter case. */
  ofAccount(chainId: number, address: string): LedgerId {
    const count = this.countOf(chainId);
    // Counts are powers of two: with up to 16 it is the last hexadecimal digit that tells.
    return { chainId, partition: count === 1 ? 0 : Number.parseInt(address.slice(-2), 16) % count };
  }

  /** @param lane - `<chainId>:<signer>` */
  ofLane(chainId: number, lane: string): LedgerId {
    return this.ofAccount(chainId, lane);
  }

  /** @param id - as {@link nameOf} made it; another's may be anything, and is nowhere. */
  ofSettlement(chainId: number, id: string): LedgerId {
    const count = this.countOf(chainId);
    const first = count === 1 ? 0 : BASE64URL.indexOf(id.charAt(0));
    return { chainId, partition: Math.max(0, first) % count };
  }

  /**
   * The id of a settlement that is in this partition. With several its first character, six bits of the hash, is
   * the partition; with one the hash stays as it is.
   *
   * @param hash - SHA-256, base64url, 43 characters.
   */
  nameOf({ chainId, partition }: LedgerId, hash: string): string {
    return this.countOf(chainId) === 1 ? hash : BASE64URL.charAt(partition) + hash.slice(1);
  }

  /** Ids by the partition that has them; partitions without any are left out. */
  byLedger(
    chainId: number,
    ids: readonly string[],
  ): readonly (readonly [LedgerId, readonly string[]])[] {
    if (this.countOf(chainId) === 1) return ids.length === 0 ? [] : [[firstLedger(chainId), ids]];
    return this.all(chainId)
      .map((ledger) => {
        const own = ids.filter(
          (id) => this.ofSettlement(chainId, id).partition === ledger.partition,
        );
        return [ledger, own] as const;
      })
      .filter(([, own]) => own.length > 0);
  }
}
