import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ObjectName, Pricing } from '../storage/storage-provider.js';

/**
 * Marks the prices in the index as written by this service: `<order>|<MAC>|<terms>`. Otherwise a
 * writer of Redis could change the price of a file and its payee. The journal has no such mark:
 * after a change of the secret the index is rebuilt.
 *
 * A removed row, or an older row of the same file, is not noticed.
 */
export class PriceSeal {
  /** @param secret - without one nothing is sold, and the mark is useless. */
  constructor(private readonly secret: string) {}

  /** Identifies the seal without revealing the secret: prices with another seal make another index. */
  get id(): string {
    return createHmac('sha256', this.secret).update('seal').digest('hex').slice(0, 12);
  }

  /** The text after the order. */
  rowOf({ order, owner, id, terms }: Pricing): string {
    return `${this.#mac(order, { owner, id }, terms)}|${terms}`;
  }

  /**
   * @param row - as stored in the index.
   * @returns the terms, empty for a removed price; `undefined` for a row that was not written here
   *   for this name.
   */
  termsIn(name: ObjectName, row: string): string | undefined {
    const [order = '', mac = ''] = row.split('|', 2);
    const terms = row.slice(order.length + mac.length + 2);
    const [given, wanted] = [Buffer.from(mac), Buffer.from(this.#mac(Number(order), name, terms))];
    const isOurs = given.length === wanted.length && timingSafeEqual(given, wanted);
    return isOurs ? terms : undefined;
  }

  #mac(order: number, { owner, id }: ObjectName, terms: string): string {
    return createHmac('sha256', this.secret)
      .update(`price\n${JSON.stringify([order, owner, id, terms])}`)
      .digest('base64url');
  }
}
