import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { MemorySaleStore } from '../../../test/twins/hub/sales/memory-sale-store.js';
import { DamagedObjectError, GatewayUnavailableError } from '../errors.js';
import type { StoredObject } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { SalesSecret } from './access-token.js';
import { requirementsOf } from './offer.js';
import type { PaymentGateway, SettleReply } from './payment-gateway.js';
import type { Price } from './price.js';
import { type SaleOutcome, Sales, type Showing } from './sales.js';

const OWNER = `0x${'11'.repeat(20)}` as const;
const BUYER = `0x${'22'.repeat(20)}` as const;
const STRANGER = `0x${'33'.repeat(20)}` as const;
const ASSET = `0x${'44'.repeat(20)}` as const;
const NETWORK = 'eip155:97';
const BYTES = Buffer.from('worth every cent');
const HOME = '198.51.100.7';
const ELSEWHERE = '203.0.113.9';
const NOW = 1_767_225_600;

const objectOf = (id: string, bytes = BYTES): StoredObject => ({
  op: 'put',
  owner: OWNER,
  id,
  bucket: OWNER,
  kind: 'memory',
  order: 1,
  volume: 1,
  start: 0,
  size: bytes.length,
  blocks: '',
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

const priceOf = (more: Partial<Price> = {}): Price => ({
  network: NETWORK,
  asset: ASSET,
  amount: 1000n,
  payTo: OWNER,
  accessSeconds: 3600,
  until: undefined,
  token: { name: 'USD', version: '1' },
  contentType: 'text/plain',
  object: objectOf('report'),
  ...more,
});

let nonces = 0;

/** The header of a buyer that has accepted these terms. */
function paymentFor(
  price: Price,
  { payer = BUYER, signature = 'ab', validBefore = NOW + 300, nonce = (nonces += 1) } = {},
): string {
  const accepted = requirementsOf(price);
  const authorization = {
    from: payer,
    to: price.payTo,
    value: price.amount.toString(),
    validAfter: '0',
    validBefore: String(validBefore),
    nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
  };
  const payload = { signature: `0x${signature.repeat(65)}`, authorization };
  return Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload })).toString('base64');
}

/** Settles each authorization once, for the first key that came with it, and counts what it moved. */
class FakeFacilitator implements PaymentGateway {
  readonly moved = new Map<string, string>();
  /** The answer in place of the true one, once for each call of a settle. */
  readonly #instead: (SettleReply | 'lost' | 'never sent')[] = [];
  settles = 0;
  invalidReason: string | undefined;

  next(...answers: (SettleReply | 'lost' | 'never sent')[]): void {
    this.#instead.push(...answers);
  }

  verify({
    paymentPayload,
  }: Parameters<PaymentGateway['verify']>[0]): ReturnType<PaymentGateway['verify']> {
    const isSold = this.moved.has(nonceIn(paymentPayload));
    const invalidReason = isSold ? 'duplicate_settlement' : this.invalidReason;
    return Promise.resolve({ isValid: invalidReason === undefined, invalidReason });
  }

  settle(
    { paymentPayload }: Parameters<PaymentGateway['settle']>[0],
    key: string,
  ): Promise<SettleReply> {
    this.settles += 1;
    const instead = this.#instead.shift();
    if (instead === 'never sent') return Promise.reject(new GatewayUnavailableError('settle'));
    if (typeof instead === 'object') return Promise.resolve(instead);
    const nonce = nonceIn(paymentPayload);
    const holder = this.moved.get(nonce) ?? key;
    this.moved.set(nonce, holder);
    if (instead === 'lost') return Promise.reject(new GatewayUnavailableError('settle'));
    const success = holder === key;
    const errorReason = success ? undefined : 'duplicate_settlement';
    return Promise.resolve({ success, errorReason, transaction: '0x01', network: NETWORK });
  }
}

function nonceIn(payload: unknown): string {
  return (payload as { payload: { authorization: { nonce: string } } }).payload.authorization.nonce;
}

function shop(): {
  readonly facilitator: FakeFacilitator;
  readonly store: MemorySaleStore;
  readonly secret: SalesSecret;
  readonly clock: { now: number };
  readonly disk: { bytes: Buffer };
  readonly operator: { hasTakenDown: boolean; isFull: boolean };
  /** What became of payments. */
  readonly heard: readonly string[];
  /** Another process of the same hub, or this one after a crash. */
  readonly process: () => Sales;
  readonly ask: (
    price: Price,
    showing?: Partial<Showing>,
    maySettle?: boolean,
  ) => Promise<SaleOutcome>;
} {
  const facilitator = new FakeFacilitator();
  const store = new MemorySaleStore();
  const secret = new SalesSecret('s'.repeat(32), OWNER);
  const clock = { now: NOW };
  const disk = { bytes: BYTES };
  const operator = { hasTakenDown: false, isFull: false };
  const heard: string[] = [];
  const process = (): Sales =>
    new Sales({
      gateway: facilitator,
      store,
      secret,
      now: () => clock.now,
      failed: () => undefined,
      assertServed: () =>
        operator.hasTakenDown
          ? Promise.reject(HubRefusal.takenDown('court order'))
          : Promise.resolve(),
      takeRoom: () =>
        operator.isFull ? Promise.reject(HubRefusal.unavailable('full')) : Promise.resolve(),
      settled: (how) => {
        heard.push(how);
      },
      publicUrl: 'https://files.example/api',
      async *read() {
        yield await Promise.resolve(disk.bytes);
      },
    });
  const sales = process();
  return {
    facilitator,
    store,
    secret,
    clock,
    disk,
    operator,
    heard,
    process,
    ask: (price, showing, maySettle = true) =>
      sales.check(price, shown(showing), maySettle, offered),
  };
}

const shown = (showing: Partial<Showing> = {}): Showing => ({
  payment: undefined,
  token: undefined,
  signer: undefined,
  address: HOME,
  ...showing,
});

/** Nothing is taken down of what is sold now. */
const offered = (): void => undefined;

const PENDING: SettleReply = {
  success: false,
  errorReason: 'settlement_pending',
  transaction: '0x01',
  network: NETWORK,
};

describe('a file with a price', () => {
  it('is to be paid by everybody but its owner', async () => {
    const { ask, facilitator } = shop();
    expect(await ask(priceOf())).toMatchObject({ kind: 'unpaid' });
    expect(await ask(priceOf(), { signer: STRANGER })).toMatchObject({ kind: 'unpaid' });
    expect(await ask(priceOf(), { signer: OWNER })).toMatchObject({ kind: 'open' });
    expect(facilitator.settles).toBe(0);
  });

  it('is paid once, and read as often as its buyer likes until access ends', async () => {
    const { ask, facilitator, clock } = shop();
    const price = priceOf();
    const payment = paymentFor(price);
    const bought = await ask(price, { payment });
    expect(bought).toMatchObject({ kind: 'open', reply: { success: true, transaction: '0x01' } });
    const token = 'token' in bought ? bought.token : undefined;
    clock.now += price.accessSeconds - 1;
    for (const showing of [
      { payment },
      { token, address: ELSEWHERE },
      { signer: BUYER, address: ELSEWHERE },
      { payment: paymentFor(price, { validBefore: clock.now + 300 }) },
    ]) {
      expect(await ask(price, showing)).toMatchObject({ kind: 'open', object: price.object });
    }
    clock.now += 1;
    for (const showing of [{ payment }, { token }]) {
      expect(await ask(price, showing)).toMatchObject({ kind: 'unpaid' });
    }
    expect(facilitator.settles).toBe(1);
  });

  it('is settled once for a hundred requests with one payment', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf();
    const payment = paymentFor(price);
    const all = await Promise.all(Array.from({ length: 100 }, () => ask(price, { payment })));
    expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(['open']));
    expect(facilitator.settles).toBe(1);
  });

  it('costs a buyer once that comes with many payments at a time', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf();
    const all = await Promise.all(
      Array.from({ length: 20 }, () => ask(price, { payment: paymentFor(price) })),
    );
    expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(['open']));
    expect(facilitator.moved.size).toBe(1);
  });

  it('is not paid by a request that gets no bytes', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf();
    const head = await ask(price, { payment: paymentFor(price) }, false);
    expect([head.kind, facilitator.settles]).toEqual(['unpaid', 0]);
  });

  it('is sold no more once its offer has ended', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf({ until: NOW });
    expect((await ask(price, { payment: paymentFor(price) })).kind).toBe('ended');
    expect((await ask(price)).kind).toBe('ended');
    expect(facilitator.settles).toBe(0);
  });
});

describe('an attacker', () => {
  it('is refused with a payment that is nested deep', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf();
    const plain = Buffer.from(paymentFor(price), 'base64').toString();
    const nested = `${'['.repeat(5500)}${']'.repeat(5500)}`;
    const deep = plain.replace('"accessSeconds"', `"more":${nested},"accessSeconds"`);
    const payment = Buffer.from(deep).toString('base64');
    expect(await ask(price, { payment })).toMatchObject({
      kind: 'unpaid',
      error: 'invalid_payload',
    });
    expect(facilitator.settles).toBe(0);
  });

  it('fills no store with sales: where there is no room, nothing is settled', async () => {
    const { ask, facilitator, store, operator } = shop();
    const price = priceOf();
    const payment = paymentFor(price);
    operator.isFull = true;
    await expect(ask(price, { payment })).rejects.toMatchObject({ status: 503 });
    expect([facilitator.settles, store.sales.size]).toEqual([0, 0]);
    operator.isFull = false;
    expect(await ask(price, { payment })).toMatchObject({ kind: 'open' });
    operator.isFull = true;
    expect(await ask(price, { payment })).toMatchObject({ kind: 'open' });
  });

  it('gets nothing by a copy of a payment: it is public once it is broadcast', async () => {
    const { ask } = shop();
    const price = priceOf();
    const payment = paymentFor(price);
    await ask(price, { payment });
    expect(await ask(price, { payment, address: ELSEWHERE })).toMatchObject({
      kind: 'unpaid',
      error: 'duplicate_settlement',
    });
  });

  it('gets nothing by the nonce of a payment under a signature of its own', async () => {
    const { ask } = shop();
    const price = priceOf();
    await ask(price, { payment: paymentFor(price, { nonce: 7_000 }) });
    const forged = paymentFor(price, { nonce: 7_000, signature: 'cd' });
    expect(await ask(price, { payment: forged })).toMatchObject({ kind: 'unpaid' });
  });

  it('gets nothing by naming a payer that has bought it', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf();
    await ask(price, { payment: paymentFor(price) });
    facilitator.invalidReason = 'invalid_exact_evm_signature';
    expect(await ask(price, { payment: paymentFor(price) })).toMatchObject({ kind: 'unpaid' });
  });

  it('buys nothing for the price of another file, an earlier price, or other bytes', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf();
    const cheaper = priceOf({ amount: 999n });
    const other = priceOf({ object: objectOf('other', Buffer.from('other')) });
    for (const offer of [cheaper, other, priceOf({ payTo: STRANGER })]) {
      expect(await ask(price, { payment: paymentFor(offer) })).toMatchObject({
        kind: 'unpaid',
        error: 'invalid_payment_requirements',
      });
    }
    expect(facilitator.settles).toBe(0);
  });

  it('buys one file by one payment, also of the same bytes under another name', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf();
    const twin = priceOf({ object: objectOf('twin') });
    const payment = paymentFor(price);
    await ask(price, { payment });
    expect(await ask(twin, { payment })).toMatchObject({ kind: 'unpaid' });
    expect(facilitator.settles).toBe(1);
  });

  it('gets nothing by a token that was changed, is over, or is of another file or hub', async () => {
    const { ask, secret } = shop();
    const price = priceOf();
    const bought = await ask(price, { payment: paymentFor(price) });
    const token = ('token' in bought ? bought.token : undefined) ?? '';
    const access = secret.accessOf(token, NOW);
    const longer = Buffer.from(JSON.stringify({ ...access, u: NOW * 2 })).toString('base64url');
    const [, mac = ''] = token.split('.');
    const foreign = new SalesSecret('t'.repeat(32), OWNER);
    for (const forged of [
      '',
      '.',
      'a.b',
      `${token}.x`,
      'x'.repeat(5000),
      `${longer}.${mac}`,
      foreign.tokenOf({ authorizationId: 'a', payer: BUYER, fileTag: 'f', until: NOW * 2 }),
    ]) {
      expect(await ask(price, { token: forged })).toMatchObject({ kind: 'unpaid' });
    }
    const twin = priceOf({ object: objectOf('twin') });
    expect(await ask(twin, { token })).toMatchObject({ kind: 'unpaid' });
  });

  it('has no access again by a payment that is long settled', async () => {
    const { ask, store, clock } = shop();
    const price = priceOf({ accessSeconds: 60 });
    const payment = paymentFor(price);
    await ask(price, { payment });
    clock.now = NOW + 301;
    store.sales.clear();
    expect(await ask(price, { payment })).toMatchObject({ error: 'payment_expired' });
    const endless = paymentFor(price, { validBefore: clock.now + 86_401 });
    expect(await ask(price, { payment: endless })).toMatchObject({
      error: 'payment_valid_for_too_long',
    });
  });

  it.each(['', '{}', 'e30=', 'AAAA', Buffer.from('{"accepted":{}}').toString('base64')])(
    'gets that answer for a header that is no payment: %j',
    async (payment) => {
      const { ask } = shop();
      expect(await ask(priceOf(), { payment })).toMatchObject({
        kind: 'unpaid',
        error: 'invalid_payload',
      });
    },
  );
});

describe('a payment for missing bytes is not taken', () => {
  it.each([
    ['damaged', Buffer.from('worth every dime')],
    ['cut off', BYTES.subarray(1)],
    ['gone', Buffer.alloc(0)],
  ])('where they are %s', async (_what, bytes) => {
    const { ask, facilitator, disk } = shop();
    const price = priceOf();
    const payment = paymentFor(price);
    disk.bytes = bytes;
    await expect(ask(price, { payment })).rejects.toThrow(DamagedObjectError);
    expect(facilitator.settles).toBe(0);
    // The sale is open: the same payment buys them once they are back.
    disk.bytes = BYTES;
    expect(await ask(price, { payment })).toMatchObject({ kind: 'open' });
  });
});

describe('paid if and only if downloadable', () => {
  it('waits while it is not known whether it is paid, and finds the sale by the same payment', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf();
    const payment = paymentFor(price);
    facilitator.next(PENDING, 'never sent', 'lost');
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await ask(price, { payment })).toMatchObject({ kind: 'pending' });
    }
    expect(await ask(price, { payment })).toMatchObject({ kind: 'open' });
    expect(facilitator.moved.size).toBe(1);
  });

  it('settles nothing for what was taken down meanwhile', async () => {
    const { ask, facilitator, operator } = shop();
    const price = priceOf();
    const payment = paymentFor(price);
    facilitator.next(PENDING);
    expect(await ask(price, { payment })).toMatchObject({ kind: 'pending' });
    operator.hasTakenDown = true;
    await expect(ask(price, { payment })).rejects.toThrow('taken_down');
    expect(facilitator.moved.size).toBe(0);
    operator.hasTakenDown = false;
    expect(await ask(price, { payment })).toMatchObject({ kind: 'open' });
  });

  it('does not take a second payment while the first may still be one', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf();
    facilitator.next('lost');
    expect((await ask(price, { payment: paymentFor(price) })).kind).toBe('pending');
    expect((await ask(price, { payment: paymentFor(price) })).kind).toBe('open');
    expect(facilitator.moved.size).toBe(1);
  });

  it('takes another payment where the first has failed', async () => {
    const { ask, facilitator } = shop();
    const price = priceOf();
    facilitator.next({ ...PENDING, errorReason: 'invalid_exact_evm_nonce_already_used' });
    const failed = await ask(price, { payment: paymentFor(price) });
    expect(failed).toMatchObject({ kind: 'unpaid', reply: { success: false } });
    expect((await ask(price, { payment: paymentFor(price) })).kind).toBe('open');
  });

  it('does not believe that a payment has failed for a reason that it does not know', async () => {
    const { ask, facilitator, store } = shop();
    const price = priceOf();
    facilitator.next({ ...PENDING, errorReason: 'toString' });
    expect((await ask(price, { payment: paymentFor(price) })).kind).toBe('pending');
    expect(store.sales.size).toBe(1);
  });

  it.each(['find', 'begin', 'complete'] as const)(
    'where the process dies at %s: another one finishes the sale, for one payment',
    async (step) => {
      const { store, facilitator, process } = shop();
      const price = priceOf();
      const payment = paymentFor(price);
      const dying = dieAt(store, step);
      await expect(process().check(price, shown({ payment }), true, offered)).rejects.toThrow(
        'killed',
      );
      dying.restore();
      const outcome = await process().check(price, shown({ payment }), true, offered);
      expect(outcome).toMatchObject({ kind: 'open' });
      expect(facilitator.moved.size).toBe(1);
    },
  );

  it('where the record of the sale is lost: the facilitator knows by whose key it was settled', async () => {
    const { ask, store, facilitator } = shop();
    const price = priceOf();
    const payment = paymentFor(price);
    const bought = await ask(price, { payment });
    store.sales.clear();
    const token = 'token' in bought ? bought.token : undefined;
    expect(await ask(price, { token, address: ELSEWHERE })).toMatchObject({ kind: 'open' });
    expect(await ask(price, { payment })).toMatchObject({ kind: 'open' });
    expect(facilitator.moved.size).toBe(1);
  });

  it('gives what was sold, whatever has become of its price, its name and its bytes since', async () => {
    const { ask, process } = shop();
    const price = priceOf();
    const payment = paymentFor(price);
    const bought = await ask(price, { payment });
    const token = 'token' in bought ? bought.token : undefined;
    const newer = priceOf({ amount: 5n, object: objectOf('report', Buffer.from('newer')) });
    for (const showing of [{ token }, { payment }]) {
      expect(await ask(newer, showing)).toMatchObject({ kind: 'open', object: price.object });
      expect(await process().held(price.object, shown(showing))).toMatchObject({
        kind: 'open',
        object: price.object,
      });
    }
    expect(await process().held(price.object, shown({ payment: paymentFor(price) }))).toBe(
      undefined,
    );
  });

  it('gives what was sold also where only what is sold now was taken down', async () => {
    const { ask, process, facilitator } = shop();
    const price = priceOf();
    const payment = paymentFor(price);
    const bought = await ask(price, { payment });
    const token = 'token' in bought ? bought.token : undefined;
    const newer = priceOf({ amount: 5n, object: objectOf('report', Buffer.from('newer')) });
    const verdictOf = (showing: Partial<Showing>): Promise<SaleOutcome> =>
      process().check(newer, shown(showing), true, () => {
        throw HubRefusal.takenDown('court order');
      });
    for (const showing of [{ token, address: ELSEWHERE }, { payment }]) {
      expect(await verdictOf(showing)).toMatchObject({ kind: 'open', object: price.object });
    }
    for (const showing of [
      {},
      { signer: STRANGER },
      { payment: paymentFor(newer) },
      { token: 'nonsense' },
      { payment, address: ELSEWHERE },
    ]) {
      await expect(verdictOf(showing)).rejects.toThrow(HubRefusal);
    }
    expect(facilitator.settles).toBe(1);
  });
});

/** Dies once at a step of the store, before it is done. */
function dieAt(
  store: MemorySaleStore,
  step: 'find' | 'begin' | 'complete',
): { readonly restore: () => void } {
  Object.assign(store, { [step]: () => Promise.reject(new Error('killed')) });
  return {
    restore: () => {
      Reflect.deleteProperty(store, step);
    },
  };
}
