import { describe, expect, it } from '@jest/globals';
import { newestOwner, readOwners } from './cluster-map.js';

const NODES = [
  'a1 10.0.0.1:7001@17001,one.example myself,master - 0 0 1 connected 0-5460 9000 [5460->-b2]',
  'b2 10.0.0.2:7002@17002 master - 0 1426238316232 2 connected 5461-10922',
  'c3 10.0.0.3:7003@17003 slave b2 0 1426238318243 2 connected',
  'd4 fd00::4:7004@17004,,shard-id=d master,fail - 0 1426238317741 3 disconnected 10923-16383',
  'e5 :0@0 master,noaddr - 0 0 0 disconnected',
  '',
].join('\n');

describe('what a node tells of its Cluster', () => {
  it('is which primaries have which slots', () => {
    expect(readOwners(NODES, 'asked', false)).toEqual([
      {
        host: '10.0.0.1',
        port: 7001,
        epoch: 1,
        slots: [
          [0, 5460],
          [9000, 9000],
        ],
      },
      { host: '10.0.0.2', port: 7002, epoch: 2, slots: [[5461, 10_922]] },
      { host: 'fd00::4', port: 7004, epoch: 3, slots: [[10_923, 16_383]] },
    ]);
  });

  it('names hosts as certificates do, and a node that does not know itself as it was asked', () => {
    expect(readOwners(NODES, 'asked', true).map(({ host }) => host)).toEqual([
      'one.example',
      '10.0.0.2',
      'fd00::4',
    ]);
    const [alone] = readOwners('a1 :7001@17001 myself,master - 0 0 1 connected 0', 'asked', false);
    expect(alone).toMatchObject({ host: 'asked', port: 7001 });
    expect(readOwners('what is that', 'asked', false)).toEqual([]);
  });

  it('leaves out who cannot be connected to, and counts a word without an age least', () => {
    const lost = 'e5 10.0.0.5:7005@17005 master,noaddr - 0 0 7 disconnected 0-16383';
    expect(readOwners(lost, 'asked', false)).toEqual([]);
    expect(readOwners('e5 :0@0 master - 0 0 7 connected 0', 'asked', false)).toEqual([]);
    const vague = readOwners('f6 10.0.0.6:7006 master - 0 0 x connected 0-16383', 'x', false);
    const owners = [...vague, ...readOwners(NODES, 'x', false)];
    expect(newestOwner(owners, 6000)).toMatchObject({ port: 7002 });
    expect(newestOwner([...owners].reverse(), 6000)).toMatchObject({ port: 7002 });
  });

  it('counts where it is the newest word', () => {
    const former = readOwners(NODES, 'x', false);
    const promoted = 'c3 10.0.0.3:7003@17003 myself,master - 0 0 9 connected 5461-10922';
    const all = [...readOwners(promoted, 'x', false), ...former];
    expect(newestOwner(all, 6000)).toMatchObject({ port: 7003 });
    expect(newestOwner([...all].reverse(), 6000)).toMatchObject({ port: 7003 });
    expect(newestOwner(all, 100)).toMatchObject({ epoch: 1 });
    expect(newestOwner(former.slice(0, 1), 16_000)).toBeUndefined();
  });
});
