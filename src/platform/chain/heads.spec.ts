import { describe, expect, it } from '@jest/globals';
import {
  aChain,
  FakeChain,
  type FakeNode,
  hash32,
  result,
} from '../../../test/builders/platform/chain/fake-chain.js';

const BLOCK_SECONDS = 12;

function nodesOf(nodes: readonly FakeNode[]): readonly [FakeNode, FakeNode] {
  const [first, second] = nodes;
  if (first === undefined || second === undefined) throw new Error('two nodes');
  return [first, second];
}

const latestOf = (method: string, name: unknown): boolean =>
  method === 'eth_getBlockByNumber' && name === 'latest';

describe('a node that is ahead of the others', () => {
  it('does not bear its own leap out by showing the same block by its number', async () => {
    const truth = new FakeChain(20);
    const { chain, nodes } = await aChain(truth, 2);
    const [liar] = nodesOf(nodes);
    const leap = { ...(truth.header(19) as object), number: '0x1b', hash: hash32(77) };
    liar.lie = (method, [name]) =>
      method === 'eth_getBlockByNumber' && (name === 'latest' || name === '0x1b')
        ? result(leap)
        : undefined;
    await chain.probe();
    expect(chain.newestKnownBlock).toBe(19n);
    expect(
      (
        await chain.verifyNearHead(
          (view) => Promise.resolve(view),
          () => 'newest',
          true,
        )
      ).newestBlock,
    ).toBe(19n);
  });

  it('is not believed for being the first that answers', async () => {
    const truth = new FakeChain(20);
    const { chain } = await aChain(truth, 2, {}, (node, index) => {
      if (index === 1) return;
      node.lie = (method, [name]) =>
        latestOf(method, name)
          ? result({ ...(truth.header(19) as object), number: '0x1b', hash: hash32(77) })
          : undefined;
    });
    expect(chain.newestKnownBlock).toBe(19n);
  });

  it('is believed where its blocks follow on one that another node has', async () => {
    const { chain, nodes } = await aChain(new FakeChain(20), 2);
    const [, second] = nodesOf(nodes);
    second.lag = 6;
    await chain.probe();
    expect(chain.newestKnownBlock).toBe(19n);
  });

  it('is believed from block to block while the other one was not asked', async () => {
    const truth = new FakeChain(20);
    const { chain, nodes } = await aChain(truth, 2);
    const [first] = nodesOf(nodes);
    const [view] = chain.views();
    if (view === undefined) throw new Error('a view');
    for (let blocks = 0; blocks < 6; blocks += 1) {
      truth.mine();
      const asked = first.asked.length;
      await chain.confirmLeap(view, await view.latestBlock());
      // A block that follows on the last one costs no further question.
      expect(first.asked.length - asked).toBe(1);
    }
    expect(chain.newestKnownBlock).toBe(25n);
  });
});

describe('a chain whose blocks are 12 s apart', () => {
  async function slow(sinceLast: number) {
    const truth = new FakeChain(40);
    const now = Math.floor(Date.now() / 1000);
    truth.timestamp = (block) => now - sinceLast - (39 - block) * BLOCK_SECONDS;
    const made = await aChain(truth, 2);
    const [liar, honest] = nodesOf(made.nodes);
    const [, health] = made.chain.endpoints;
    if (health === undefined) throw new Error('two endpoints');
    const ahead = {
      ...(truth.header(39) as object),
      number: '0x2c',
      hash: hash32(77),
      timestamp: `0x${now.toString(16)}`,
    };
    liar.lie = (method, [name]) =>
      method === 'eth_getBlockByNumber' && (name === 'latest' || name === '0x2c')
        ? result(ahead)
        : undefined;
    const standStill = (ms: number): void => {
      health.headSince = performance.now() - ms;
    };
    return { ...made, health, liar, honest, standStill };
  }

  it('has no node taken out between two blocks by another one that claims to be ahead', async () => {
    const { chain, health, standStill } = await slow(11);
    standStill(11_000);
    await chain.probe();
    expect(health.isStuck).toBe(false);
    await expect(
      chain.quorumRead({
        what: 'test',
        read: (view) =>
          Promise.resolve({
            value: view.health.endpoint.name,
            key: view.health.endpoint.name,
            subject: '',
          }),
      }),
    ).rejects.toThrow();
  });

  it('has a node taken out that stands still for several blocks', async () => {
    const { chain, health, standStill } = await slow(60);
    standStill(60_000);
    await chain.probe();
    expect(health.isStuck).toBe(true);
  });
});
