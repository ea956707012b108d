import { beforeEach, describe, expect, it } from '@jest/globals';
import type { PinoLogger } from 'nestjs-pino';
import { aRecorded, idOf } from '../../../test/builders/history/recorded-settlement.js';
import { TestClock } from '../../../test/builders/platform/concurrency/clock.js';
import { MemoryUnfinished } from '../../../test/twins/history/lost/memory-unfinished.js';
import { MemoryArchive } from '../../../test/twins/history/memory-archive.js';
import { MemoryOutbox } from '../../../test/twins/history/memory-outbox.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { eventsBetween } from '../webhooks/settlement-events.js';
import type { LostEnding, LostOutcome, LostResult } from './lost-outcome.js';
import { LostSettlements } from './lost-settlements.js';

const HASH = `0x${'5f'.repeat(32)}` as const;
const PLACE: NonNullable<LostEnding['place']> = {
  transaction: HASH,
  blockNumber: 12n,
  blockHash: `0x${'bb'.repeat(32)}`,
  blockTime: 1_700_000_050,
  logIndex: 4,
};

describe('settlements that a lost ledger has left', () => {
  let clock: TestClock;
  let archive: MemoryArchive;
  let outbox: MemoryOutbox;
  let held: Set<string>;
  let verdict: LostResult;
  let asked: string[];
  let opened: number;
  let reported: LostOutcome[];
  let failures: unknown[];
  let open: () => Promise<void>;

  beforeEach(() => {
    clock = new TestClock();
    archive = new MemoryArchive();
    outbox = new MemoryOutbox();
    held = new Set();
    verdict = ended({ state: 'expired', reason: 'settlement_not_sent' });
    [asked, reported, failures, opened] = [[], [], [], 0];
    open = () => Promise.resolve();
  });

  const ended = (ending: Partial<LostEnding>): LostResult => ({
    kind: 'ended',
    ending: { state: 'expired', isPaid: false, reason: undefined, place: undefined, ...ending },
  });
  const rounds = () =>
    new LostSettlements(
      new MemoryUnfinished(archive.rows, () => clock.now()),
      archive,
      outbox,
      {
        held: (_, ids) => Promise.resolve(new Set(ids.filter((id) => held.has(id)))),
        open: async () => {
          await open();
          opened += 1;
          return {
            outcomes: {
              resolve: ({ id }) => {
                asked.push(id.toString('base64url'));
                return Promise.resolve(verdict);
              },
            },
            close: () => {
              opened -= 1;
              return Promise.resolve();
            },
          };
        },
      },
      { resolvedLost: (_, outcome) => reported.push(outcome) },
      {
        debug: ({ err }: { readonly err?: unknown }) => {
          failures.push(err);
        },
        warn: () => undefined,
        error: ({ err }: { readonly err?: unknown }) => {
          failures.push(err);
        },
      } as unknown as PinoLogger,
      clock,
      { networks: [{ chainId: 56 }] },
      { whenThere: () => undefined },
    );
  const row = (name: string) => archive.rows.get(idOf(name));

  /** In the archive: accepted with a 202, and over a minute ago by default. */
  async function archived(name: string, overMs = 60_000, isSold = true): Promise<void> {
    const { view, details, ...rest } = aRecorded(name, 'queued');
    const deadline = BigInt(Math.floor((clock.now() - overMs) / 1000));
    const number = await archive.epochNumber({ chainId: 56, epoch: 'first' });
    const settlement = {
      ...rest,
      view: {
        ...view,
        isAsync: isSold,
        transaction: undefined,
        sale: isSold
          ? { ...view.sale, state: 'sold' as const, requester: 'process.1' }
          : { ...view.sale, state: 'open' as const },
      },
      details: details && { ...details, deadline, hashes: [] },
    };
    const version = { ms: clock.now() - overMs, sequence: 1 };
    await archive.store(56, number, [{ kind: 'recorded', id: idOf(name), version, settlement }]);
  }

  it('end as the chain says, and stay whose they were', async () => {
    await archived('a');
    await rounds().round();
    expect(row('a')).toMatchObject({
      state: 'expired',
      is_paid: false,
      reason: 'settlement_not_sent',
      transaction: null,
      sale: 'sold',
      sold_to: 'process.1',
      is_async: true,
      is_told: false,
      finished_at: new Date(clock.now()),
    });
    expect(reported).toEqual(['expired']);
    expect([opened, failures]).toEqual([0, []]);
  });

  it('are paid where the chain shows it, with block, log and hash', async () => {
    await archived('a');
    verdict = ended({ state: 'finalized', isPaid: true, place: PLACE });
    await rounds().round();
    const hash = Buffer.from(HASH.slice(2), 'hex');
    expect(row('a')).toMatchObject({
      state: 'finalized',
      is_paid: true,
      reason: null,
      transaction: hash,
      block_number: '12',
      log_index: 4,
      transactions: [hash],
      is_told: true,
      block_hash: Buffer.from('bb'.repeat(32), 'hex'),
      included_at: new Date(1_700_000_050_000),
      unclaimed_at: null,
    });
  });

  it('are unclaimed where they are paid and have no sale', async () => {
    await archived('a', 60_000, false);
    verdict = ended({ state: 'finalized', isPaid: true, place: PLACE });
    const one = rounds();
    const before = row('a');
    await one.round();
    const after = row('a');
    expect(after).toMatchObject({ sale: 'open', unclaimed_at: new Date(clock.now()) });
    if (before === undefined || after === undefined) throw new Error('it is archived');
    expect(eventsBetween(before, after)).toContain('settlement.unclaimed');
  });

  it('are not where they are unpaid', async () => {
    await archived('a', 60_000, false);
    await rounds().round();
    expect(row('a')).toMatchObject({ state: 'expired', unclaimed_at: null });
  });

  it('are broadcast again where their block was replaced, with a webhook', async () => {
    await archived('a');
    const included = row('a');
    if (included === undefined) throw new Error('it is archived');
    const hash = Buffer.from(HASH.slice(2), 'hex');
    const before = {
      ...included,
      state: 'included' as const,
      is_paid: true,
      transaction: hash,
      block_number: '11',
      block_hash: Buffer.alloc(32, 1),
      log_index: 0,
      included_at: new Date(5000),
    };
    archive.rows.set(idOf('a'), before);
    verdict = { kind: 'reorged', place: undefined };
    await rounds().round();
    const after = row('a');
    expect(after).toMatchObject({
      state: 'broadcast',
      is_paid: false,
      transaction: hash,
      block_number: null,
      block_hash: null,
      log_index: null,
      included_at: null,
      finished_at: null,
      version_sequence: 2,
    });
    if (after === undefined) throw new Error('it is archived');
    expect(eventsBetween(before, after)).toEqual(['settlement.reorged']);
    expect(reported).toEqual(['reorged']);
  });

  it('stay included where their payment is in another block', async () => {
    await archived('a');
    verdict = { kind: 'reorged', place: PLACE };
    await rounds().round();
    expect(row('a')).toMatchObject({
      state: 'included',
      is_paid: true,
      block_number: '12',
      block_hash: Buffer.from('bb'.repeat(32), 'hex'),
      log_index: 4,
      included_at: new Date(1_700_000_050_000),
      finished_at: null,
    });
  });

  it('are left to a ledger that knows them, and the chain is not asked', async () => {
    await archived('a');
    held.add(idOf('a'));
    await rounds().round();
    expect([row('a')?.state, asked, reported]).toEqual(['queued', [], []]);
  });

  it('are left alone until a while after their deadline', async () => {
    await archived('a', 10_000);
    await rounds().round();
    expect(asked).toEqual([]);
    await clock.pass(11_000);
    await rounds().round();
    expect(row('a')?.state).toBe('expired');
  });

  it('are left alone while words of the ledger wait to be archived', async () => {
    await archived('a');
    outbox.backlog = () => Promise.resolve({ entries: 1, oldestMs: 30_000 });
    await rounds().round();
    expect(asked).toEqual([]);
  });

  it('stay as they are where nothing can be said, and are asked for again, ever more rarely', async () => {
    await archived('a');
    verdict = { kind: 'unresolved', why: 'unread' };
    const one = rounds();
    for (let second = 0; second < 200; second += 10) {
      await one.round();
      await clock.pass(10_000);
    }
    // After 20, 40 and 80 seconds.
    expect(asked).toHaveLength(4);
    expect(row('a')?.state).toBe('queued');
    verdict = ended({});
    await clock.pass(600_000);
    await one.round();
    expect(row('a')?.state).toBe('expired');
  });

  it('are asked for again when the chain was away, and nothing is left open', async () => {
    await archived('a');
    open = () => Promise.reject(new ChainUnavailableError(56, 'head'));
    const one = rounds();
    await one.round();
    expect([failures.length, row('a')?.state]).toEqual([1, 'queued']);
    open = () => Promise.resolve();
    await clock.pass(20_000);
    await one.round();
    expect([row('a')?.state, opened]).toEqual(['expired', 0]);
  });

  it('are dated at the beginning of the ledger that does not know them', async () => {
    await archived('a');
    outbox.goBack('second');
    await rounds().round();
    expect(row('a')).toMatchObject({ epoch: 2, version_ms: 0, version_sequence: 0 });
  });

  it('are ended a part at a time, without a pause while there are more', async () => {
    for (let nth = 0; nth < 25; nth += 1) await archived(`s${nth}`);
    const one = rounds();
    expect(await one.round()).toBe(0);
    expect(asked).toHaveLength(20);
    expect(await one.round()).toBeGreaterThan(0);
    expect([...archive.rows.values()].every(({ state }) => state === 'expired')).toBe(true);
  });
});
