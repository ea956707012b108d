import { type Hex, parseTransaction } from 'viem';
import type { Json } from '../support/payments.js';
import type { Payment } from './deals.js';

interface Sighting {
  readonly at: number;
  readonly raw: string;
}

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const USED = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5';

/** What everybody sees who watches the pool: raw transactions, from the moment they are sent. */
export class Pool {
  readonly #sightings: Sighting[] = [];
  readonly #waiting = new Map<Payment, () => void>();
  readonly #anybody = new Set<(raw: Hex) => void>();
  #payments: readonly Payment[] = [];

  /** These are looked for from now on; what was seen before is forgotten. */
  watchFor(payments: readonly Payment[]): void {
    this.#payments = payments;
    this.#sightings.length = 0;
    this.#waiting.clear();
  }

  see(raw: Hex): void {
    this.#sightings.push({ at: Date.now(), raw });
    for (const tell of this.#anybody) tell(raw);
    this.#anybody.clear();
    for (const [payment, tell] of this.#waiting) {
      if (!carries(raw, payment)) continue;
      this.#waiting.delete(payment);
      tell();
    }
  }

  /** Milliseconds since 1970 when a payment could first be copied. */
  firstSight(payment: Payment): number | undefined {
    return this.#sightings.find(({ raw }) => carries(raw, payment))?.at;
  }

  /** What the transactions since then have called, in lower case. */
  get targets(): ReadonlySet<string> {
    const called = this.#sightings.map(({ raw }) => parseTransaction(raw as Hex));
    // Who is sent coins for its approval is not called.
    const calls = called.filter(({ data = '0x' }) => data !== '0x');
    return new Set(calls.map(({ to }) => to?.toLowerCase()).filter((to) => to != null));
  }

  /** Resolves when a payment is on its way for the first time. */
  sight(payment: Payment): Promise<void> {
    if (this.firstSight(payment) !== undefined) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(payment, resolve));
  }

  /** Resolves with the next transaction, whatever it carries. */
  any(): Promise<Hex> {
    return new Promise((resolve) => this.#anybody.add(resolve));
  }

  /** The logs that all payments in a call would leave, for a node that says they were made. */
  readonly forge = (input: string): readonly Json[] =>
    this.#payments
      .filter((payment) => carries(input, payment))
      .flatMap(({ token, payer, payTo, amount, nonce }) => [
        { address: token, topics: [USED, word(payer), nonce], data: '0x' },
        {
          address: token,
          topics: [TRANSFER, word(payer), word(payTo)],
          data: `0x${amount.toString(16).padStart(64, '0')}`,
        },
      ]);
}

/** Both are hex: the words of a call stand in a transaction as they are. */
function carries(raw: string, { nonce, payTo, method, amount }: Payment): boolean {
  if (!raw.includes(nonce.slice(2)) || !raw.includes(payTo.slice(2).toLowerCase())) return false;
  return method !== 'upto' || raw.includes(amount.toString(16).padStart(64, '0'));
}

const word = (address: Hex): Hex => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
