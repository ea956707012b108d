import { describe, expect, it } from '@jest/globals';
import { MessageReader, StatementNamer } from './pg-wire.js';
import type { Delivery } from './receiver.js';
import type { Write } from './rows.js';
import { eventsOf, heardAt } from './tellings.js';

/** What the long form judges by has to be able to say no. */
describe('the judges of the history', () => {
  const write = (state: string, isPaid: boolean, blockHash?: Write['blockHash']): Write => ({
    operation: 'UPDATE',
    epoch: 1n,
    versionMs: 1n,
    versionSequence: 0n,
    state,
    isPaid,
    isUnclaimed: false,
    transaction: '0x01',
    blockHash,
    payTo: '0x02',
  });
  const types = (...writes: readonly Write[]) =>
    eventsOf(writes).map(({ type }) => type.slice('settlement.'.length));

  it('know what has happened between the states of a row', () => {
    const [sent, included] = [write('broadcast', false), write('included', true, '0xa')];
    const [final, failed] = [write('finalized', true, '0xa'), write('reverted', false)];
    expect(types(sent, included, included, final, final)).toEqual(['included', 'finalized']);
    expect(types(final)).toEqual(['included', 'finalized']);
    expect(types(sent, failed, failed)).toEqual(['failed']);
    expect(types(included, sent, failed)).toEqual(['included', 'reorged', 'failed']);
    const elsewhere = write('included', true, '0xb');
    expect(types(included, elsewhere)).toEqual(['included', 'reorged', 'included']);
    // A ledger that was lost left it without a sale.
    const unclaimed = { ...final, isUnclaimed: true };
    expect(types(included, unclaimed, unclaimed)).toEqual(['included', 'finalized', 'unclaimed']);
    // Its block became known later.
    expect(types(write('included', true), included)).toEqual(['included']);
  });

  const expected = eventsOf([write('included', true, '0xa'), write('finalized', true, '0xa')]);
  let clock = 0;
  const tick = () => (clock += 1);
  function aDelivery(index: number, isTaken = true, change: object = {}): Delivery {
    const event = expected[index];
    const block = { hash: event?.blockHash };
    const data = {
      state: event?.state,
      paid: event?.isPaid,
      transaction: event?.transaction,
      block,
    };
    const type = event?.type ?? '';
    return {
      path: '/shop/well',
      id: `evt_${index}`,
      type,
      settlementId: 's',
      arrivedAt: tick(),
      body: JSON.stringify({ type, data: { ...data, ...change } }),
      acceptedAt: isTaken ? tick() : undefined,
    };
  }
  const verdictOn = (...attempts: readonly Delivery[]) => heardAt('well', attempts, expected);
  const isWaiting = true;

  it('find nothing wrong in what was told in order, repeats too', () => {
    const nothing = { wrong: [], isWaiting: false };
    expect(verdictOn(aDelivery(0), aDelivery(1))).toEqual(nothing);
    expect(
      verdictOn(aDelivery(0, false), aDelivery(0), aDelivery(0), aDelivery(1, false), aDelivery(1)),
    ).toEqual(nothing);
    expect(verdictOn(aDelivery(0), aDelivery(1, false))).toEqual({ wrong: [], isWaiting });
    expect(verdictOn()).toEqual({ wrong: [], isWaiting });
    expect(heardAt('dead', [aDelivery(0, false)], expected)).toEqual(nothing);
  });

  it.each<readonly [string, () => readonly Delivery[], string]>([
    [
      'what did not happen',
      () => [aDelivery(0), aDelivery(1), aDelivery(2)],
      'which did not happen',
    ],
    ['one event twice', () => [aDelivery(0), { ...aDelivery(0), id: 'evt_again' }], 'came next'],
    ['a step left out', () => [aDelivery(1)], 'where settlement.included came next'],
    ['another state', () => [aDelivery(0, true, { paid: false })], 'came next'],
    ['another block', () => [aDelivery(0, true, { block: { hash: '0xb' } })], 'came next'],
    [
      'too early',
      () => [aDelivery(0, false), aDelivery(1)],
      'before settlement.included was taken',
    ],
    [
      'late repeats',
      () => [aDelivery(0), aDelivery(1), aDelivery(0)],
      'again after settlement.finalized',
    ],
    [
      'two bodies of one event',
      () => [aDelivery(0), aDelivery(0, true, { more: 1 })],
      'two bodies',
    ],
  ])('find %s', (_, attempts, problem) => {
    expect(verdictOn(...attempts()).wrong.join('; ')).toContain(problem);
  });

  it('read what a client of PostgreSQL says, however it is cut', () => {
    const typed = (type: string, text: string) => {
      const body = Buffer.from(text);
      const head = Buffer.alloc(5, type);
      head.writeUInt32BE(4 + body.length, 1);
      return Buffer.concat([head, body]);
    };
    const first = Buffer.alloc(8);
    first.writeUInt32BE(8);
    const wire = Buffer.concat([
      first,
      typed('Q', 'begin\0'),
      typed('P', '\0insert into "x402"."settlements" values ($1)\0\0\0'),
      typed('B', '\0\0'),
      typed('P', 'a name\0update x402.webhook_deliveries set state = $1\0\0\0'),
      typed('Q', 'COMMIT\0'),
      typed('Q', 'commit\0'),
    ]);
    for (const length of [1, 7, wire.length]) {
      const [reader, namer] = [new MessageReader(), new StatementNamer()];
      const steps: (string | undefined)[] = [];
      const passed: Buffer[] = [];
      for (let at = 0; at < wire.length; at += length) {
        for (const { bytes, statement } of reader.read(wire.subarray(at, at + length))) {
          passed.push(bytes);
          if (statement !== undefined) steps.push(namer.nameOf(statement));
        }
      }
      expect(Buffer.concat(passed)).toEqual(wire);
      expect(steps.filter((step) => step !== undefined)).toEqual([
        'sql insert into settlements',
        'sql update webhook_deliveries',
        'sql commit settlements',
      ]);
    }
  });
});
