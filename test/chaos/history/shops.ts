import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address } from 'viem';
import { createApiKey } from '../../../src/operations/access/api-key.js';

/** A key lists no more. */
const PAYEES_EACH = 100;
const SHOPS = 25;
/** Callers with keys of their own; those of one run are fewer. */
const TILLS = 500;

/** A seller with a webhook for its payees. */
export interface Shop {
  readonly name: string;
  readonly key: string;
  /** Lower case. */
  readonly payees: readonly Address[];
}

/** Who may ask for what: keys of sellers, each caller with one of its own, and payees that were never paid. */
export class Shops {
  readonly file: string;
  readonly all: readonly Shop[];
  readonly #tills: readonly string[];
  readonly #dir = mkdtempSync(join(tmpdir(), 'x402-chaos-shops-'));
  readonly #ofPayee: ReadonlyMap<string, Shop>;
  #taken = 0;

  constructor() {
    const shops = Array.from({ length: SHOPS }, (_, index) => newShop(`shop-${index}`));
    const tills = Array.from({ length: TILLS }, (_, index) =>
      createApiKey(`till-${index}`, ['verify', 'settle']),
    );
    this.file = join(this.#dir, 'keys.json');
    const keys = [...shops, ...tills].map(({ record }) => record);
    writeFileSync(this.file, JSON.stringify({ version: 1, keys }));
    this.all = shops;
    this.#tills = tills.map(({ key }) => key);
    this.#ofPayee = new Map(shops.flatMap((shop) => shop.payees.map((payee) => [payee, shop])));
  }

  /** One without a payment. */
  newPayee(): Address {
    const payees = this.current.payees;
    const payee = payees[this.#taken % PAYEES_EACH];
    this.#taken += 1;
    if (payee === undefined) throw new RangeError('no payee is left');
    return payee;
  }

  /** Whose payee is paid next. */
  get current(): Shop {
    const shop = this.all[Math.floor(this.#taken / PAYEES_EACH)];
    if (shop === undefined) throw new RangeError('no shop is left');
    return shop;
  }

  /** How many payees the current one has left. */
  get left(): number {
    return PAYEES_EACH - (this.#taken % PAYEES_EACH);
  }

  /** Leaves out what the current one has left. */
  next(): void {
    this.#taken += this.left;
  }

  shopOf(payee: string): Shop | undefined {
    return this.#ofPayee.get(payee.toLowerCase());
  }

  /** The key of a caller: who has another address has another one. */
  keyOf(address: string): string {
    const [, , third = 0, fourth = 0] = address.split('.').map(Number);
    return this.#tills[(third * 250 + fourth) % TILLS] ?? '';
  }

  stop(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

function newShop(name: string) {
  const payees = Array.from(
    { length: PAYEES_EACH },
    (): Address => `0x${randomBytes(20).toString('hex')}`,
  );
  return { name, payees, ...createApiKey(name, ['history'], payees) };
}
