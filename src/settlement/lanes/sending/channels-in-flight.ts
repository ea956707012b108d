import type { Hex } from 'viem';
import type { TrackedAttempt } from '../state/tracked-attempt.js';

/**
 * Channels whose claimed total a transaction in flight raises, in any lane of this process: the simulation of another
 * claim did not see it, and that claim may bring nothing for its gas.
 */
export class ChannelsInFlight {
  /** Those of transactions that are being signed and stored. */
  readonly #sending = new Set<Hex>();

  /** @param pending - attempts of all lanes that no block has taken. */
  constructor(private readonly pending: () => readonly Pick<TrackedAttempt, 'channels'>[]) {}

  hasAny(channels: readonly Hex[]): boolean {
    if (channels.length === 0) return false;
    const pending = this.pending();
    return channels.some(
      (id) => this.#sending.has(id) || pending.some((tracked) => tracked.channels.has(id)),
    );
  }

  /** Counts these until they are sent. */
  async during<T>(channels: readonly Hex[], send: () => Promise<T>): Promise<T> {
    for (const id of channels) this.#sending.add(id);
    try {
      return await send();
    } finally {
      for (const id of channels) this.#sending.delete(id);
    }
  }
}
