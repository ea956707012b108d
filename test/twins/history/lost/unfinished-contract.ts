import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Archive } from '../../../../src/history/archive.js';
import type { ArchiveReader } from '../../../../src/history/archive-reader.js';
import {
  type UnfinishedSettlements,
  versionAfter,
} from '../../../../src/history/lost/unfinished.js';
import type { SettlementRow } from '../../../../src/history/settlement-row.js';
import type { Change } from '../../../../src/settlement/ledger/outbox.js';
import type { RecordedSettlement } from '../../../../src/settlement/model/recorded-settlement.js';
import type { SettlementState } from '../../../../src/settlement/model/settlement.js';
import { aRecorded, idOf } from '../../../builders/history/recorded-settlement.js';

interface UnfinishedWorld {
  readonly archive: Archive;
  readonly reader: Pick<ArchiveReader, 'find'>;
  readonly unfinished: UnfinishedSettlements;
  close(): Promise<void>;
}

const CHAIN_ID = 56;
const DEADLINE = 1_700_000_000;
const LATER = { deadline: DEADLINE + 100, writtenMs: 2000, epoch: 1 };

/** Cases that all pass which call themselves the unfinished settlements: in memory, and in PostgreSQL. */
export function describeUnfinished(name: string, open: () => Promise<UnfinishedWorld>): void {
  describe(`${name}, by the contract of unfinished settlements`, () => {
    let world: UnfinishedWorld;
    let epoch: number;
    let sequence = 0;

    beforeEach(async () => {
      world = await open();
      await world.archive.open();
      epoch = await world.archive.epochNumber({ chainId: CHAIN_ID, epoch: 'first' });
    });
    afterEach(() => world.close());

    function unended(
      one: string,
      state: SettlementState = 'queued',
      deadline = DEADLINE,
    ): RecordedSettlement {
      const base = aRecorded(one, state);
      return {
        ...base,
        details: base.details && {
          ...base.details,
          deadline: BigInt(deadline),
          amount: 1000n,
          authorizationNonce: 5n,
        },
      };
    }
    function archive(settlement: RecordedSettlement, of = epoch, ms = 1000) {
      sequence += 1;
      const { id } = settlement.view;
      const change: Change = { kind: 'recorded', id, version: { ms, sequence }, settlement };
      return world.archive.store(CHAIN_ID, of, [change]);
    }
    const take = (overdue = LATER, most = 10) => world.unfinished.take(CHAIN_ID, overdue, most);
    const namesOf = (rows: readonly SettlementRow[]) =>
      rows.map(({ id }) => id.toString('base64url'));
    async function taken(): Promise<SettlementRow> {
      const [row] = await take();
      if (row === undefined) throw new Error('nothing was taken');
      return row;
    }
    const expired = (row: SettlementRow, now = epoch): SettlementRow => ({
      ...row,
      state: 'expired',
      finished_at: new Date(5000),
      ...versionAfter(row, now),
    });
    async function known(one: string) {
      const [found] = await world.reader.find({ by: 'id', chainId: CHAIN_ID, ids: [idOf(one)] });
      return found;
    }
    const stateOf = async (one: string) => (await known(one))?.view.state;

    it('takes what has not ended and is over, the earliest first', async () => {
      await archive(unended('later', 'included', DEADLINE + 9));
      await archive(unended('queued'));
      await archive(unended('broadcast', 'broadcast', DEADLINE + 5));
      for (const state of ['finalized', 'expired', 'foreign', 'reverted'] as const) {
        await archive(unended(state, state));
      }
      await archive(unended('not over', 'queued', LATER.deadline + 1));
      await archive(unended('just said', 'queued'), epoch, LATER.writtenMs + 1);
      expect(namesOf(await take())).toEqual(['queued', 'broadcast', 'later'].map(idOf));
    });

    it('takes what an earlier epoch has left in a block, whatever its deadline', async () => {
      const later = LATER.deadline + 1000;
      await archive(unended('included', 'included', later));
      await archive(unended('broadcast', 'broadcast', later));
      const second = await world.archive.epochNumber({ chainId: CHAIN_ID, epoch: 'second' });
      await archive(unended('followed', 'included', later), second);
      await archive(unended('just said', 'included', later), epoch, LATER.writtenMs + 1);
      expect(namesOf(await take({ ...LATER, epoch: second }))).toEqual([idOf('included')]);
    });

    it('takes nothing of another chain, no more than asked for, and each once', async () => {
      for (const one of ['a', 'b', 'c']) await archive(unended(one));
      expect(await world.unfinished.take(57, LATER, 10)).toEqual([]);
      const [first, second] = [await take(LATER, 2), await take(LATER, 2)];
      expect([first.length, second.length, (await take()).length]).toEqual([2, 1, 0]);
      expect(namesOf([...first, ...second]).sort()).toEqual(['a', 'b', 'c'].map(idOf).sort());
    });

    it('gives the row as it was written, and keeps what does not change', async () => {
      await archive(unended('a', 'broadcast'));
      const row = await taken();
      expect(row).toMatchObject({
        chain_id: CHAIN_ID,
        epoch,
        version_ms: 1000,
        state: 'broadcast',
        method: 'eip3009',
        amount: '1000',
        authorization_nonce: '5',
        deadline: String(DEADLINE),
      });
      const before = await known('a');
      expect(await world.unfinished.replace(row, expired(row))).toBe(true);
      const after = await known('a');
      expect(after).toEqual({
        ...before,
        view: { ...before?.view, state: 'expired' },
        details: {
          ...before?.details,
          times: { ...before?.details?.times, finished: 5000 },
        },
        times: { ...before?.times, finished: 5000 },
      });
      expect(await take()).toEqual([]);
    });

    it('does not write over what the ledger has said meanwhile', async () => {
      await archive(unended('a'));
      const row = await taken();
      await archive(unended('a', 'broadcast'), epoch, 1500);
      expect(await world.unfinished.replace(row, expired(row))).toBe(false);
      expect(await stateOf('a')).toBe('broadcast');
    });

    it('leaves the last word to the ledger, the same one and the one after it', async () => {
      await archive(unended('same'));
      const same = await taken();
      expect(await world.unfinished.replace(same, expired(same))).toBe(true);
      await archive(unended('same', 'finalized'), epoch, 1001);
      expect(await stateOf('same')).toBe('finalized');
      await archive(unended('next'));
      const next = await taken();
      const second = await world.archive.epochNumber({ chainId: CHAIN_ID, epoch: 'second' });
      expect(await world.unfinished.replace(next, expired(next, second))).toBe(true);
      // Writes of a lost epoch count no more, whenever they are read.
      await archive(unended('next', 'broadcast'), epoch, 9000);
      expect(await stateOf('next')).toBe('expired');
      await archive(unended('next', 'finalized'), second, 1);
      expect(await stateOf('next')).toBe('finalized');
    });

    it('ends one of two who looked at it', async () => {
      await archive(unended('a'));
      const row = await taken();
      const outcomes = await Promise.all([
        world.unfinished.replace(row, expired(row)),
        world.unfinished.replace(row, expired(row)),
      ]);
      expect(outcomes.sort()).toEqual([false, true]);
    });

    it('pays one settlement by one log', async () => {
      await archive(aRecorded('paid', 'finalized', { details: unended('paid').details }));
      await archive(unended('a', 'broadcast'));
      const row = await taken();
      const paid = (log_index: number): SettlementRow => ({
        ...expired(row),
        state: 'finalized',
        is_paid: true,
        block_number: '7',
        log_index,
      });
      // Of one transaction; log 3 is the other's.
      expect(await world.unfinished.replace(row, paid(3))).toBe(false);
      expect(await world.unfinished.replace(row, paid(4))).toBe(true);
    });

    it('knows which transactions are ours', async () => {
      expect(await world.unfinished.ownTransactions(CHAIN_ID, 5)).toEqual([]);
      await archive(unended('a', 'broadcast'));
      expect(await world.unfinished.ownTransactions(CHAIN_ID, 5)).toEqual([]);
      for (const one of ['b', 'c']) await archive(unended(one, 'finalized'));
      const own = await world.unfinished.ownTransactions(CHAIN_ID, 5);
      expect(own).toEqual([`0x${'ab'.repeat(32)}`]);
    });
  });
}
