import { describe, expect, it } from '@jest/globals';
import {
  aChain,
  FakeChain,
  hash32,
  result,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { type Head, HeadWatcher } from './head-watcher.js';

const soon = async (what: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 400 && !what(); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(what()).toBe(true);
};

describe('HeadWatcher', () => {
  async function watched(nodes: number) {
    const truth = new FakeChain(20);
    const made = await aChain(truth, nodes);
    const watcher = new HeadWatcher(made.chain, () => true);
    const heads: Head[] = [];
    watcher.onHead((head) => heads.push(head));
    watcher.start();
    await soon(() => watcher.current?.finalized?.number === 17n);
    return { truth, ...made, watcher, heads };
  }

  it('notices that the same endpoint is on another chain, one block shorter', async () => {
    const { truth, nodes, watcher } = await watched(2);
    for (const node of nodes) {
      node.lie = (method, [name]) =>
        method === 'eth_getBlockByNumber' && name === 'latest'
          ? result({ ...(truth.header(18) as object), hash: hash32(1234) })
          : undefined;
    }
    await soon(() => watcher.current?.latest.hash === hash32(1234));
    await watcher.stop();
  });

  it('does not go back for another endpoint that is a block behind', async () => {
    const { truth, nodes, chain, watcher, heads } = await watched(2);
    if (nodes[1] !== undefined) nodes[1].lag = 1;
    const first = chain.endpoints[0];
    if (first !== undefined) first.coolsUntil = performance.now() + 60_000;
    const before = heads.length;
    for (let looks = 0; looks < 5; looks += 1) {
      watcher.look();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(heads.slice(before).every(({ latest }) => latest.number === 19n)).toBe(true);
    truth.mine();
    truth.mine();
    await soon(() => watcher.current?.latest.number === 20n);
    await watcher.stop();
  });

  it('takes no head for the newest known block before it is borne out', async () => {
    const { truth, nodes, watcher, chain } = await watched(2);
    const [liar] = nodes;
    if (liar === undefined) throw new Error('a node');
    let most = 0n;
    liar.lie = (method, [name]) => {
      // Asked for the block by its number: the claim is known, and not borne out yet.
      if (chain.newestKnownBlock > most) most = chain.newestKnownBlock;
      if (method === 'eth_blockNumber') return result('0x3e8');
      return method === 'eth_getBlockByNumber' && name === 'latest'
        ? result({ ...(truth.header(19) as object), number: '0x3e8', hash: hash32(77) })
        : undefined;
    };
    for (let looks = 0; looks < 5; looks += 1) {
      watcher.look();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    truth.mine();
    await soon(() => chain.newestKnownBlock === 20n);
    await watcher.stop();
    expect(most).toBeLessThanOrEqual(20n);
  });

  it('takes a head that is said twice at once for no more than one that is said once', async () => {
    const { truth, nodes, watcher, chain } = await watched(2);
    await watcher.stop();
    const [liar] = nodes;
    const [view] = chain.views();
    if (liar === undefined || view === undefined) throw new Error('a node');
    liar.lie = (method, [name]) =>
      method === 'eth_getBlockByNumber' && name === 'latest'
        ? result({ ...(truth.header(19) as object), number: '0x3e8', hash: hash32(77) })
        : undefined;
    const look = async (): Promise<void> => {
      await chain.confirmLeap(view, await view.latestBlock());
    };
    // The second one begins while the word of the first is not looked into yet.
    const answer = await view.latestBlock();
    await Promise.allSettled([look(), chain.confirmLeap(view, answer), look()]);
    expect(chain.newestKnownBlock).toBe(19n);
  });

  it('forgets a final block that was a lie, and never has one above the head', async () => {
    const { truth, nodes, watcher, heads } = await watched(1);
    const [liar] = nodes;
    if (liar === undefined) throw new Error('a node');
    liar.lie = (method, [name]) =>
      method === 'eth_getBlockByNumber' && name === 'finalized'
        ? result({ ...(truth.header(19) as object), number: '0x3b9aca00', hash: hash32(5) })
        : undefined;
    truth.mine();
    await soon(() => watcher.current?.latest.number === 20n);
    liar.lie = () => undefined;
    truth.mine();
    await soon(() => watcher.current?.finalized?.number === 19n);
    for (const { latest, finalized } of heads) {
      expect(finalized === undefined || finalized.number <= latest.number).toBe(true);
    }
    await watcher.stop();
  });
});
