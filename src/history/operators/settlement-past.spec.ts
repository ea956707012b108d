import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryOperatorArchive } from '../../../test/builders/history/operators/operator-archive.js';
import { CLAIMED_AT, idOf } from '../../../test/builders/history/recorded-settlement.js';
import { rowNamed } from '../../../test/builders/history/sellers/settlement-reader.js';
import { ArchiveError } from '../archive.js';
import { SettlementPasts } from './settlement-past.js';

const HOUR_MS = 3_600_000;
const NOW = CLAIMED_AT + 5 * HOUR_MS;

describe('the past of a settlement', () => {
  let archive: MemoryOperatorArchive;
  let pasts: SettlementPasts;
  const of = { id: idOf('a'), chainId: 56, claimedAt: CLAIMED_AT, finishedAt: CLAIMED_AT + 1000 };

  beforeEach(() => {
    archive = new MemoryOperatorArchive();
    pasts = new SettlementPasts(archive, { now: () => NOW });
    const times = [-2 * HOUR_MS, -1000, 500, 2000];
    archive.audit.push(
      ...times.map((ms, index) => ({
        id: `${index}`,
        chainId: 56,
        at: new Date(CLAIMED_AT + ms),
        by: 'night-shift',
        action: 'lane_paused',
        subject: '56:0x',
      })),
      {
        id: 'elsewhere',
        chainId: 97,
        at: new Date(CLAIMED_AT),
        by: 'night-shift',
        action: 'lane_paused',
        subject: '97:0x',
      },
    );
  });

  const actionsOf = async (asked: typeof of | object): Promise<readonly unknown[]> => {
    const past = await pasts.of({ ...of, ...asked });
    if (past.status !== 'known') throw new Error(past.status);
    return past.actions.map(({ id }) => id);
  };

  it('has what operators did on its network, from an hour before its claim to its end', async () => {
    expect(await actionsOf({})).toEqual(['2', '1']);
    expect(await actionsOf({ finishedAt: undefined })).toEqual(['3', '2', '1']);
    expect(await actionsOf({ claimedAt: undefined })).toEqual([]);
  });

  it('has what operators did to it, whenever they did', async () => {
    const closing = { action: 'unclaimed_closed', subject: of.id, by: 'night-shift' };
    archive.audit.push({ id: 'closing', chainId: 56, at: new Date(NOW), ...closing });
    expect(await actionsOf({})).toEqual(['closing', '2', '1']);
    expect(await actionsOf({ finishedAt: undefined })).toEqual(['closing', '3', '2', '1']);
  });

  it('says what was archived, and that nothing was', async () => {
    expect(await pasts.of(of)).toMatchObject({ status: 'known', row: undefined, events: [] });
    archive.rows.push(rowNamed('a', 0));
    expect(await pasts.of(of)).toMatchObject({ row: { isTold: true } });
  });

  it('reports that it cannot be read, and shows the settlement all the same', async () => {
    archive.trouble = new ArchiveError('database_unreachable', 'ECONNREFUSED');
    expect(await pasts.of(of)).toMatchObject({
      status: 'unavailable',
      code: 'history_unavailable',
    });
    archive.trouble = new TypeError('a fault of this service');
    await expect(pasts.of(of)).rejects.toBe(archive.trouble);
    expect(await new SettlementPasts(undefined, { now: () => NOW }).of(of)).toEqual({
      status: 'off',
    });
  });
});
