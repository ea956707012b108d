import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import type { Archive } from '../../../src/history/archive.js';
import type { ArchiveReader } from '../../../src/history/archive-reader.js';
import { holdsAllOf } from '../../../src/history/archived-row.js';
import type { SettlementFilter } from '../../../src/history/sellers/settlement-filter.js';
import type { Position, SettlementReader } from '../../../src/history/sellers/settlement-reader.js';
import { hashOf } from '../../../src/protocol/payment/hash.js';
import type { Change } from '../../../src/settlement/ledger/outbox.js';
import type { ArchiveQuery } from '../../../src/settlement/ledger/settlement-archive.js';
import type { RecordedSettlement } from '../../../src/settlement/model/recorded-settlement.js';
import type { SettlementState } from '../../../src/settlement/model/settlement.js';
import { aRecorded, CLAIMED_AT, idOf } from '../../builders/history/recorded-settlement.js';

/** An archive, and those who read it: its look-ups, and lists of sellers. */
interface ArchiveWorld {
  readonly archive: Archive;
  /** The same archive, kept for this many months beside the current one. */
  keeping(months: number): Archive;
  readonly reader: Pick<ArchiveReader, 'find'>;
  lists(): SettlementReader;
  /** Ids of records that no row could be made of. */
  unreadable(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** What it is now in every world. */
export const ARCHIVE_NOW = CLAIMED_AT;

const CHAIN_ID = 56;
const NUMERIC_MOST = 10n ** 78n - 1n;
const PAYEE: Address = `0x${'c3'.repeat(20)}`;
const hashNamed = (byte: string): Hex => `0x${byte.repeat(32)}`;
const OLD_TX = hashNamed('11');

/** What a test wants to be different. */
interface Wanted {
  readonly state?: SettlementState;
  readonly claimed?: number;
  readonly byte?: string;
  readonly sale?: Partial<RecordedSettlement['view']['sale']>;
  readonly details?: Partial<NonNullable<RecordedSettlement['details']>>;
  readonly authorizationId?: string;
  readonly view?: Partial<RecordedSettlement['view']>;
}

/** A settlement as it is read back: its payment knows the block that the record knows. */
function aSettlement(name: string, wanted: Wanted = {}): RecordedSettlement {
  const { state = 'finalized', claimed = CLAIMED_AT, byte = 'ab' } = wanted;
  const { view, details, times, ...rest } = aRecorded(name, state);
  const { included, finished } = times;
  return {
    ...rest,
    authorizationId: wanted.authorizationId ?? rest.authorizationId,
    times: { claimed, included, finished },
    view: {
      ...view,
      transaction: hashNamed(byte),
      ...wanted.view,
      sale: { ...view.sale, ...wanted.sale },
    },
    details: details && {
      ...details,
      hashes: [OLD_TX, hashNamed(byte)],
      blockHash: rest.blockHash,
      times: { ...details.times, claimed, included, finished },
      ...wanted.details,
    },
  };
}

/** Cases that everything which calls itself an archive passes: in memory, and in PostgreSQL. */
export function describeArchive(name: string, open: () => Promise<ArchiveWorld>): void {
  describe(`${name}, by the contract of archives`, () => {
    let world: ArchiveWorld;
    let epoch: number;
    let sequence: number;

    beforeEach(async () => {
      world = await open();
      await world.archive.open();
      epoch = await world.archive.epochNumber({ chainId: CHAIN_ID, epoch: 'first' });
      sequence = 0;
    });
    afterEach(() => world.close());

    const change = (settlement: RecordedSettlement, at?: number, ms = 1000): Change => {
      sequence += 1;
      const version = { ms, sequence: at ?? sequence };
      return { kind: 'recorded', id: settlement.view.id, version, settlement };
    };
    const store = (...settlements: readonly RecordedSettlement[]) =>
      world.archive.store(
        CHAIN_ID,
        epoch,
        settlements.map((one) => change(one)),
      );
    const found = async (query: ArchiveQuery): Promise<readonly string[]> =>
      (await world.reader.find(query)).map(({ view }) => view.id);
    const byId = async (...names: readonly string[]) =>
      world.reader.find({ by: 'id', chainId: CHAIN_ID, ids: names.map(idOf) });
    const stateOf = async (one: string) => (await byId(one))[0]?.view.state;

    describe('of two versions', () => {
      const at = (state: SettlementState, ...version: readonly [number, number?]) =>
        world.archive.store(CHAIN_ID, epoch, [change(aRecorded('a', state), ...version)]);

      it('keeps the newer one, whichever comes last', async () => {
        expect(await at('included', 9)).toEqual({
          written: 1,
          stale: 0,
          expired: 0,
          unreadable: 0,
        });
        expect(await at('broadcast', 8)).toMatchObject({ written: 0, stale: 1 });
        expect(await at('broadcast', 99, 999)).toMatchObject({ written: 0, stale: 1 });
        expect(await stateOf('a')).toBe('included');
        // By number, not by text.
        expect(await at('finalized', 10)).toMatchObject({ written: 1, stale: 0 });
        expect(await at('reverted', 1, 1001)).toMatchObject({ written: 1, stale: 0 });
        expect(await stateOf('a')).toBe('reverted');
      });

      it('takes an equal one once, whatever it says', async () => {
        await at('included', 5);
        expect(await at('included', 5)).toMatchObject({ written: 0, stale: 1 });
        expect(await at('finalized', 5)).toMatchObject({ written: 0, stale: 1 });
        expect(await stateOf('a')).toBe('included');
      });

      it('believes the later epoch, whatever the clock says', async () => {
        const of = (number: number, state: SettlementState, ms: number) =>
          world.archive.store(CHAIN_ID, number, [change(aRecorded('a', state), 1, ms)]);
        await of(epoch, 'finalized', 2000);
        const later = await world.archive.epochNumber({ chainId: CHAIN_ID, epoch: 'second' });
        expect(later).toBeGreaterThan(epoch);
        // Asked for again, and by another chain.
        expect(await world.archive.epochNumber({ chainId: CHAIN_ID, epoch: 'first' })).toBe(epoch);
        expect(await world.archive.epochNumber({ chainId: 97, epoch: 'first' })).not.toBe(epoch);
        await of(later, 'broadcast', 1000);
        expect(await stateOf('a')).toBe('broadcast');
        expect(await of(epoch, 'included', 3000)).toMatchObject({ written: 0, stale: 1 });
        expect(await stateOf('a')).toBe('broadcast');
      });

      it('keeps the payment, and the moment of the claim, that only the older one knew', async () => {
        const known = aSettlement('a', { state: 'included' });
        await store(known);
        const later = await world.archive.epochNumber({ chainId: CHAIN_ID, epoch: 'second' });
        const again = {
          ...aSettlement('a', { claimed: Date.UTC(2026, 11, 3) }),
          details: undefined,
        };
        await world.archive.store(CHAIN_ID, later, [change(again)]);
        const [read] = await byId('a');
        expect(read?.view.state).toBe('finalized');
        expect(read?.times.claimed).toBe(CLAIMED_AT);
        expect(read?.details).toMatchObject({
          payer: known.details?.payer,
          hashes: [OLD_TX, known.view.transaction],
        });
        expect(read && holdsAllOf(read, again)).toBe(true);
      });
    });

    describe('of a record', () => {
      it('gives back every field, also those that are not there', async () => {
        const bare: RecordedSettlement = {
          ...aSettlement('bare', { state: 'broadcast', view: { transaction: undefined } }),
          details: undefined,
        };
        const full = aSettlement('full', {
          view: {
            settledAmount: 5n,
            isAsync: true,
            reason: 'invalid_exact_evm_transaction_failed',
          },
          sale: { soldKeyTag: hashOf(['key', 'sold']) },
        });
        await store(full, bare);
        for (const one of [full, bare]) {
          const [read] = await world.reader.find({
            by: 'id',
            chainId: CHAIN_ID,
            ids: [one.view.id],
          });
          expect(read).toEqual({ chainId: CHAIN_ID, ...one });
          expect(read && holdsAllOf(read, one)).toBe(true);
        }
      });

      it('keeps numbers of 78 digits exactly', async () => {
        const numbers = { amount: NUMERIC_MOST, authorizationNonce: 2n ** 256n - 1n, deadline: 0n };
        await store(aSettlement('a', { details: numbers, view: { settledAmount: NUMERIC_MOST } }));
        const [read] = await byId('a');
        expect(read?.details).toMatchObject(numbers);
        expect(read?.view.settledAmount).toBe(NUMERIC_MOST);
      });

      it('that no row can hold keeps the others from nothing, and is kept as it is', async () => {
        const result = await world.archive.store(CHAIN_ID, epoch, [
          change(aSettlement('a')),
          change(aSettlement('large', { details: { amount: NUMERIC_MOST + 1n } })),
          change(aSettlement('zero', { sale: { requester: 'a\u0000b' } })),
          change(aSettlement('far', { view: { logIndex: 2 ** 31 } })),
          change(aSettlement('short', { authorizationId: 'short' })),
          { kind: 'unreadable', id: 'text', version: { ms: 1, sequence: 1 }, text: '["x"]' },
          change(aSettlement('b')),
        ]);
        expect(result).toEqual({ written: 2, stale: 0, expired: 0, unreadable: 5 });
        expect((await byId('a', 'b', 'large', 'zero', 'far', 'short')).length).toBe(2);
        expect([...(await world.unreadable())].sort()).toEqual(
          [...['large', 'zero', 'far', 'short'].map(idOf), 'text'].sort(),
        );
      });
    });

    describe('of months', () => {
      it('finds what was claimed on both sides of their ends', async () => {
        const ends = [Date.UTC(2026, 10, 1) - 1, Date.UTC(2026, 10, 1), Date.UTC(2027, 0, 1) - 1];
        const all = [...ends, Date.UTC(2020, 1, 29)];
        await store(...all.map((claimed, index) => aSettlement(`m${index}`, { claimed })));
        const read = await byId('m0', 'm1', 'm2', 'm3');
        expect(new Set(read.map(({ times }) => times.claimed))).toEqual(new Set(all));
      });

      it('keeps the current one and those before it that are wanted', async () => {
        const [first, before] = [Date.UTC(2026, 9, 1), Date.UTC(2026, 9, 1) - 1];
        await store(
          aSettlement('old', { claimed: before }),
          aSettlement('kept', { claimed: first }),
        );
        const kept = world.keeping(1);
        await kept.upkeep(ARCHIVE_NOW);
        expect((await byId('old', 'kept')).map(({ view }) => view.id)).toEqual([idOf('kept')]);
        // A settlement of a dropped month does not come back.
        const again = [change(aSettlement('old', { claimed: before })), change(aSettlement('new'))];
        expect(await kept.store(CHAIN_ID, epoch, again)).toEqual({
          written: 1,
          stale: 0,
          expired: 1,
          unreadable: 0,
        });
        expect(await byId('old')).toEqual([]);
      });
    });

    describe('is asked', () => {
      it('by id, of one chain', async () => {
        await store(aSettlement('a'), aSettlement('b'));
        const ids = ['a', 'b', 'unknown'].map(idOf);
        const all = await found({ by: 'id', chainId: CHAIN_ID, ids });
        expect([...all].sort()).toEqual(['a', 'b'].map(idOf).sort());
        expect(await found({ by: 'id', chainId: 97, ids })).toEqual([]);
        expect(await found({ by: 'id', chainId: CHAIN_ID, ids: [] })).toEqual([]);
      });

      it('by authorization: of its claims the one that was sold, then what is paid, then the newest', async () => {
        const authorizationId = hashOf(['authorization', 'shared']);
        const open = { state: 'open', requester: undefined } as const;
        const of = (name: string, wanted: Wanted) =>
          aSettlement(name, { ...wanted, authorizationId });
        await store(
          of('reverted', { state: 'reverted', claimed: CLAIMED_AT + 50 }),
          of('expired', { state: 'expired', claimed: CLAIMED_AT + 60 }),
          of('paid', { claimed: CLAIMED_AT + 40, sale: open }),
          of('sold', { claimed: CLAIMED_AT }),
          aSettlement('other'),
        );
        const query = { by: 'authorization', chainId: CHAIN_ID } as const;
        expect(await found({ ...query, authorizationIds: [authorizationId] })).toEqual(
          ['sold', 'paid', 'expired', 'reverted'].map(idOf),
        );
        const two = [authorizationId, hashOf(['authorization', 'other'])];
        expect(await found({ ...query, authorizationIds: two })).toHaveLength(5);
        expect(await found({ ...query, chainId: 97, authorizationIds: two })).toEqual([]);
        expect(await found({ ...query, authorizationIds: [] })).toEqual([]);
      });

      it('by transaction, also one that another has replaced, and one of a record without a payment', async () => {
        await store(
          aSettlement('a', { byte: 'd1' }),
          aSettlement('b', { byte: 'd1', claimed: CLAIMED_AT - 1 }),
          { ...aSettlement('adopted', { byte: 'd2' }), details: undefined },
        );
        const by = (transaction: Hex, chainId = CHAIN_ID) =>
          found({ by: 'transaction', chainId, transaction });
        expect(await by(hashNamed('d1'))).toEqual(['a', 'b'].map(idOf));
        expect(await by(OLD_TX)).toEqual(['a', 'b'].map(idOf));
        expect(await by(hashNamed('d2'))).toEqual([idOf('adopted')]);
        expect(await by(hashNamed('d3'))).toEqual([]);
        expect(await by(hashNamed('d1'), 97)).toEqual([]);
      });

      it('by key: what is bound to it and what was sold to it, of every chain', async () => {
        const keyTag = hashOf(['key', 'of an order']);
        await store(
          aSettlement('bound', { sale: { boundKeyTag: keyTag }, claimed: CLAIMED_AT + 1 }),
        );
        const other = await world.archive.epochNumber({ chainId: 97, epoch: 'first' });
        await world.archive.store(97, other, [
          change(aSettlement('sold', { sale: { soldKeyTag: keyTag, boundKeyTag: undefined } })),
        ]);
        expect(await found({ by: 'key', keyTag })).toEqual(['bound', 'sold'].map(idOf));
        expect(await found({ by: 'key', keyTag: hashOf(['key', 'of nobody']) })).toEqual([]);
      });

      it('by time: the newest, of all or of one payer', async () => {
        const payer: Address = `0x${'77'.repeat(20)}`;
        await store(
          aSettlement('i', { claimed: CLAIMED_AT - 2, details: { payer } }),
          aSettlement('j', { claimed: CLAIMED_AT + 1 }),
          aSettlement('k', { details: { payer } }),
        );
        const query = { by: 'time', chainId: CHAIN_ID, payer: undefined, most: 2 } as const;
        expect(await found(query)).toEqual(['j', 'k'].map(idOf));
        expect(await found({ ...query, payer, most: 9 })).toEqual(['k', 'i'].map(idOf));
        expect(await found({ ...query, chainId: 97 })).toEqual([]);
      });
    });

    describe('is listed', () => {
      const filter: SettlementFilter = {
        payees: [PAYEE],
        payTo: undefined,
        from: undefined,
        to: undefined,
        state: undefined,
        asset: undefined,
        chainId: undefined,
      };
      const newest = async (after?: Position, most = 100) =>
        (await world.lists().page(filter, after, most)).map(({ settlement }) => settlement.view.id);

      it('page by page, each once, though all were claimed at one moment', async () => {
        const names = Array.from({ length: 7 }, (_, index) => `same ${index}`);
        await store(
          ...names.map((one) => aSettlement(one)),
          aSettlement('newer', { claimed: CLAIMED_AT + 1 }),
        );
        const seen: string[] = [];
        let after: Position | undefined;
        for (;;) {
          const page = await world.lists().page(filter, after, 2);
          seen.push(...page.map(({ settlement }) => settlement.view.id));
          after = page.at(-1)?.position;
          if (page.length < 2 || after === undefined) break;
        }
        const descending = (a: string, b: string) =>
          Buffer.compare(Buffer.from(b, 'base64url'), Buffer.from(a, 'base64url'));
        expect(seen).toEqual([idOf('newer'), ...names.map(idOf).sort(descending)]);
      });

      it('from a place that nothing is at, and beyond its end', async () => {
        await store(aSettlement('a'), aSettlement('b', { claimed: CLAIMED_AT - 10 }));
        const [low, high] = [Buffer.alloc(32), Buffer.alloc(32, 0xff)];
        const at = (ms: number, id: Buffer): Position => ({ claimedAt: new Date(ms), id });
        expect(await newest(at(CLAIMED_AT, high))).toEqual(['a', 'b'].map(idOf));
        expect(await newest(at(CLAIMED_AT, low))).toEqual([idOf('b')]);
        expect(await newest(at(CLAIMED_AT - 5, high))).toEqual([idOf('b')]);
        expect(await newest(at(CLAIMED_AT - 10, low))).toEqual([]);
        expect(await newest(at(0, high))).toEqual([]);
        // A row that is added while a reader pages moves nothing.
        await store(aSettlement('c', { claimed: CLAIMED_AT + 1 }));
        expect(await newest(at(CLAIMED_AT, low))).toEqual([idOf('b')]);
      });

      it('without what has no payee, whose amounts are in no total either', async () => {
        await store(
          { ...aSettlement('bare'), details: undefined },
          aSettlement('a', { details: { amount: NUMERIC_MOST } }),
          aSettlement('b', { details: { amount: NUMERIC_MOST } }),
          aSettlement('c', { state: 'reverted', details: { amount: 7n } }),
          aSettlement('d', { details: { amount: 100n }, view: { settledAmount: 3n } }),
          // Money of its payer in escrow.
          aSettlement('e', { details: { amount: 5n, scheme: 'batch-settlement' } }),
        );
        const listed = ['a', 'b', 'c', 'd', 'e'].map(idOf).sort();
        expect([...(await newest())].sort()).toEqual(listed);
        const grouping = { byDay: false, byPayee: false };
        const totals = await world.lists().totals(filter, grouping, 100);
        expect(totals).toMatchObject([
          { state: 'finalized', count: 4n, paidCount: 3n, paidAmount: 2n * NUMERIC_MOST + 3n },
          { state: 'reverted', count: 1n, paidCount: 0n, paidAmount: 0n },
        ]);
      });

      it('one by its id, and nothing for one that is not there', async () => {
        const one = aSettlement('a');
        await store(one);
        expect((await world.lists().byId(idOf('a')))?.view).toEqual(one.view);
        expect(await world.lists().byId(idOf('b'))).toBeUndefined();
      });
    });
  });
}
