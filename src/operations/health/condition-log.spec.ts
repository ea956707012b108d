import { describe, expect, it, jest } from '@jest/globals';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { ConditionLog } from './condition-log.js';
import type { LaneHealth } from './lane-health.js';
import type { NetworkHealth } from './network-health.js';

const OWN = 'this-process';

describe('the log of lanes and networks', () => {
  let lane: LaneHealth['code'];
  let network: NetworkHealth['code'];
  let owner = OWN;
  let isAway = false;
  let now = 0;
  let lines: unknown[] = [];
  const write =
    (level: string) =>
    (facts: unknown): void => {
      lines.push([level, facts]);
    };
  const deployment = {
    lanes: () => Promise.resolve([{ lane: '56:0xaa', code: lane, owner } as LaneHealth]),
    networks: () =>
      isAway
        ? Promise.reject(new RedisUnavailableError('lanes', 'away'))
        : Promise.resolve([{ network: 'eip155:56', code: network } as NetworkHealth]),
  };
  const log = { warn: write('warn'), info: write('info'), error: write('error') };
  const troubles = new ConditionLog(deployment, { processId: OWN }, log);

  /** The log lines within so many seconds. */
  async function within(seconds: number): Promise<unknown[]> {
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    lines = [];
    for (let second = 0; second < seconds; second += 2) {
      now += await troubles.round();
    }
    clock.mockRestore();
    return lines;
  }

  it('has one line when a lane turns bad, however long it lasts, and one when it is well', async () => {
    expect(await within(20)).toEqual([]);
    lane = 'no_gas';
    expect(await within(600)).toEqual([['warn', { lane: '56:0xaa', code: 'no_gas' }]]);
    lane = undefined;
    expect(await within(600)).toEqual([['info', { lane: '56:0xaa', was: 'no_gas' }]]);
  });

  it('has none of what passes within seconds, as at a start', async () => {
    lane = 'resyncing';
    network = 'head_stale';
    expect(await within(8)).toEqual([]);
    lane = undefined;
    network = undefined;
    expect(await within(60)).toEqual([]);
  });

  it('has one when the trouble is another one, and none of lanes that others write or operators pause', async () => {
    network = 'head_stale';
    expect(await within(60)).toEqual([['warn', { network: 'eip155:56', code: 'head_stale' }]]);
    network = 'rpc_unreachable';
    expect(await within(60)).toEqual([['warn', { network: 'eip155:56', code: 'rpc_unreachable' }]]);
    network = undefined;
    await within(60);
    lane = 'no_gas';
    owner = 'another';
    expect(await within(60)).toEqual([]);
    owner = OWN;
    lane = 'paused';
    expect(await within(60)).toEqual([]);
    lane = undefined;
  });

  it('has none while Redis is away: its connections say so', async () => {
    isAway = true;
    lane = 'no_gas';
    expect(await within(60)).toEqual([]);
  });
});
