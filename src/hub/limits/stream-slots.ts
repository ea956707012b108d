import { HubRefusal } from '../wire/hub-refusal.js';

/**
 * Long answers under way at once. Each keeps a verified block of a payload in memory, two or three of
 * them with what is on its way to the client, for as long as the client takes to read it.
 */
const ALL_MAX = 128;
/** Of one address, IPv6 by /56, so that slow readers do not block others. */
const ADDRESS_MAX = 32;
const RETRY_AFTER_SECONDS = 2;

/** Counts the long answers under way; it holds no more than there are. */
export class StreamSlots {
  readonly #byAddress = new Map<string, number>();
  #all = 0;

  get taken(): number {
    return this.#all;
  }

  /**
   * @param address - of the reader, by the group it belongs to.
   * @returns gives the place back, once.
   * @throws HubRefusal when too many are under way.
   */
  take(address: string): () => void {
    const own = this.#byAddress.get(address) ?? 0;
    if (own >= ADDRESS_MAX) throw HubRefusal.tooMany(RETRY_AFTER_SECONDS);
    if (this.#all >= ALL_MAX) throw HubRefusal.unavailable('too many downloads; try again');
    this.#all += 1;
    this.#byAddress.set(address, own + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#all -= 1;
      const left = (this.#byAddress.get(address) ?? 0) - 1;
      if (left > 0) this.#byAddress.set(address, left);
      else this.#byAddress.delete(address);
    };
  }
}
