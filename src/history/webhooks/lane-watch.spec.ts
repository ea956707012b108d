import { beforeEach, describe, expect, it } from '@jest/globals';
import type { PinoLogger } from 'nestjs-pino';
import type { AppConfig } from '../../platform/config/app-config.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import {
  LANE_SILENT_MS,
  type PublishedStatus,
} from '../../settlement/ledger/queries/lane-queries.js';
import { ArchiveError } from '../archive.js';
import type { LaneChange, LaneLevels } from './lane-levels.js';
import { LaneWatch } from './lane-watch.js';

const SIGNER = `0x${'d4'.repeat(20)}`;
const LANE = `56:${SIGNER}`;
const MARK = 1000;
const AT = 1_795_334_400_000;

/** {@link LaneLevels} in memory. */
class MemoryLevels implements LaneLevels {
  readonly isLow = new Map<string, boolean>();
  readonly bodies: string[] = [];
  /** What the next step fails with: after it was decided, before it is kept. */
  failure: Error | undefined;

  async change(
    decide: (isLow: ReadonlyMap<string, boolean>) => Promise<readonly LaneChange[]>,
  ): Promise<void> {
    const changes = await decide(new Map(this.isLow));
    if (this.failure !== undefined) throw this.failure;
    for (const { lane, isLow, body } of changes) {
      this.isLow.set(lane, isLow);
      if (body !== undefined) this.bodies.push(body);
    }
  }
}

/** Lanes whose gas balance runs low, and how often operators are notified. */
describe('the watch over lanes', () => {
  let levels: MemoryLevels;
  let lanes: () => Promise<readonly PublishedStatus[]>;
  let reported: string[];
  let watch: LaneWatch;

  const aStatus = (settlementsLeft: number, more: Partial<PublishedStatus> = {}) =>
    ({
      lane: LANE,
      chainId: 56,
      signer: SIGNER,
      settlementsLeft,
      silentMs: 300,
      balanceWei: '12000',
      gasPriceWei: '50000000',
      ...more,
    }) as PublishedStatus;
  const logger = {
    warn: (facts: object) => {
      reported.push(JSON.stringify(facts));
    },
    error: ({ err }: { readonly err?: unknown }) => {
      reported.push(String(err));
    },
  };
  const watched = (mark = MARK) =>
    new LaneWatch(
      { all: () => lanes() },
      levels,
      { webhooks: { laneLowSettlements: mark } } as AppConfig,
      { now: () => AT },
      { whenThere: () => undefined },
      logger as unknown as PinoLogger,
    );
  async function look(...statuses: readonly PublishedStatus[]): Promise<number> {
    lanes = () => Promise.resolve(statuses);
    await watch.round();
    return levels.bodies.length;
  }

  beforeEach(() => {
    levels = new MemoryLevels();
    reported = [];
    watch = watched();
  });

  it('tells of a fall once, with what the lane has left', async () => {
    expect(await look(aStatus(1000))).toBe(0);
    expect(await look(aStatus(999))).toBe(1);
    expect(await look(aStatus(12))).toBe(1);
    expect(JSON.parse(levels.bodies[0] ?? '')).toEqual({
      type: 'lane.low',
      timestamp: new Date(AT).toISOString(),
      data: {
        network: 'eip155:56',
        signer: SIGNER,
        balanceWei: '12000',
        settlementsLeft: 999,
        lowBelow: 1000,
      },
    });
    expect(reported).toEqual([
      JSON.stringify({ event: 'lane.low', lane: LANE, settlementsLeft: 999 }),
    ]);
  });

  it('tells of the next fall only after the lane has recovered', async () => {
    await look(aStatus(10));
    // Around the mark, as the price of gas goes.
    for (const left of [1000, 999, 1249, 998]) expect(await look(aStatus(left))).toBe(1);
    expect(await look(aStatus(1250))).toBe(1);
    expect(await look(aStatus(1000))).toBe(1);
    expect(await look(aStatus(999))).toBe(2);
  });

  it('tells of a lane that is low when it is first seen', async () => {
    expect(await look(aStatus(0))).toBe(1);
  });

  it('takes nothing for low that is not known: a price, or a lane whose process is gone', async () => {
    expect(await look(aStatus(0, { gasPriceWei: '0' }))).toBe(0);
    expect(await look(aStatus(0, { silentMs: LANE_SILENT_MS + 1 }))).toBe(0);
    expect(await look(aStatus(0, { silentMs: LANE_SILENT_MS }))).toBe(1);
    // Nor for well again.
    const gone = aStatus(5000, { silentMs: LANE_SILENT_MS + 1 });
    await look(gone);
    expect(await look(aStatus(0))).toBe(1);
  });

  it('tells of each lane apart', async () => {
    const other = aStatus(3, { lane: `97:${SIGNER}`, chainId: 97 });
    expect(await look(aStatus(5000), other)).toBe(1);
    expect(await look(aStatus(5), other)).toBe(2);
    expect(levels.bodies.map((body) => JSON.parse(body) as unknown)).toMatchObject([
      { data: { network: 'eip155:97' } },
      { data: { network: 'eip155:56' } },
    ]);
  });

  it('leaves to the next process what it dies before keeping, and tells nothing twice', async () => {
    levels.failure = new Error('killed');
    expect(await look(aStatus(5))).toBe(0);
    expect(reported).toEqual(['Error: killed']);
    levels.failure = undefined;
    watch = watched();
    expect(await look(aStatus(5))).toBe(1);
    watch = watched();
    expect(await look(aStatus(4))).toBe(1);
  });

  it('says once that it cannot look, and leaves it to others to say that Redis is away', async () => {
    lanes = () => Promise.reject(new RedisUnavailableError('lanes', 'away'));
    await watch.round();
    expect(reported).toEqual([]);
    watch = watched();
    levels.failure = new ArchiveError('database_unreachable', undefined);
    await look(aStatus(5));
    await look(aStatus(5));
    expect(reported).toHaveLength(1);
    levels.failure = undefined;
    expect(await look(aStatus(5))).toBe(1);
  });

  it('of which nothing is wanted is quiet', async () => {
    const quiet = watched(0);
    lanes = () => Promise.resolve([aStatus(0)]);
    await quiet.round();
    expect([levels.bodies, reported]).toEqual([[], []]);
  });
});
