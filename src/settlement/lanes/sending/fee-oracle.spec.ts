import { describe, expect, it, jest } from '@jest/globals';
import {
  aChain,
  failure,
  FakeChain,
  type FakeNode,
  hash32,
  result,
} from '../../../../test/builders/platform/chain/fake-chain.js';
import { type BlockHeader, readBlockHeader } from '../../../platform/chain/block.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import type { Head } from '../../../platform/chain/head-watcher.js';
import { feesFor } from '../../model/gas-price.js';
import { FeeOracle } from './fee-oracle.js';

const GWEI = 1_000_000_000n;

function headOf(chain: EvmChain, truth: FakeChain): Head {
  const latest = readBlockHeader(truth.header(truth.head));
  const [view] = chain.views();
  if (latest === undefined || view === undefined) throw new Error('a chain');
  return { latest, finalized: undefined, view };
}

describe('FeeOracle', () => {
  async function market(nodes: number, prepare: (nodes: readonly FakeNode[]) => void) {
    const truth = new FakeChain(5);
    const made = await aChain(truth, nodes);
    prepare(made.nodes);
    const oracle = new FeeOracle(made.chain);
    const head = headOf(made.chain, truth);
    const urgent = (latest: Partial<BlockHeader> = {}) =>
      oracle.urgentMarket({ ...head, latest: { ...head.latest, ...latest } });
    return { ...made, truth, market: () => oracle.market(head), urgent, oracle };
  }

  const suggests =
    (wei: bigint): FakeNode['lie'] =>
    (method) =>
      method === 'eth_maxPriorityFeePerGas' ? result(`0x${wei.toString(16)}`) : undefined;

  const wants = (node: FakeNode | undefined): void => {
    if (node === undefined) return;
    node.lie = (method) =>
      method === 'eth_sendRawTransaction'
        ? failure('transaction underpriced: gas tip cap 1, minimum needed 4 gwei')
        : undefined;
  };

  it('offers the lower one of two suggestions, and the higher one for what is not mined by it', async () => {
    const { market: ask, urgent } = await market(2, ([first]) => {
      if (first !== undefined) first.lie = suggests(900n * GWEI);
    });
    expect(await ask()).toMatchObject({ suggestedTip: 50_000_000n });
    expect(await urgent()).toMatchObject({
      agreed: { suggestedTip: 50_000_000n },
      highest: { suggestedTip: 900n * GWEI },
    });
  });

  it.each<[string, bigint, bigint, bigint]>([
    ['the other one has a higher one', 1n, 1n, 10n],
    ['it has the higher one', GWEI, 10n, GWEI],
    ['it names one above the cap', 900n * GWEI, 10n, 10n],
  ])(
    'offers for what is not mined by the base fee of its node: %s',
    async (_, own, agreed, highest) => {
      const { urgent } = await market(2, () => undefined);
      expect(await urgent({ baseFeePerGas: own })).toMatchObject({
        agreed: { baseFeePerGas: agreed },
        highest: { baseFeePerGas: highest },
      });
    },
  );

  it('believes for what is not mined the base fee that two of three nodes reach', async () => {
    const { nodes, truth, urgent } = await market(3, () => undefined);
    const [, second] = nodes;
    if (second === undefined) throw new Error('three nodes');
    const header = truth.header(truth.head) as object;
    const lie = result({ ...header, baseFeePerGas: '0x3b9aca00' });
    second.lie = (method) => (method === 'eth_getBlockByNumber' ? lie : undefined);
    expect((await urgent()).agreed.baseFeePerGas).toBe(10n);
  });

  it('offers for what is not mined by its own base fee where the other node names one above the cap, or none', async () => {
    const { nodes, truth, urgent } = await market(2, () => undefined);
    const [, second] = nodes;
    if (second === undefined) throw new Error('two nodes');
    const header = truth.header(truth.head) as object;
    for (const block of [failure(), result({ ...header, baseFeePerGas: '0xd18c2e2800' })]) {
      second.lie = (method) => (method === 'eth_getBlockByNumber' ? block : undefined);
      expect((await urgent()).highest.baseFeePerGas).toBe(10n);
    }
  });

  it('asks for a tip again beside the lanes, which wait only where none is known of the last ten seconds', async () => {
    let now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    const { chain, nodes, market: ask } = await market(2, () => undefined);
    await ask();
    const answers: (() => void)[] = [];
    for (const [index, health] of chain.endpoints.entries()) {
      const node = nodes[index];
      const original = node?.request.bind(node);
      jest.spyOn(health.endpoint, 'request').mockImplementation(async (method, params) => {
        await new Promise<void>((resolve) => answers.push(resolve));
        return method === 'eth_maxPriorityFeePerGas'
          ? result('0x1')
          : (original?.(method, [...params]) ?? failure());
      });
    }
    now += 5000;
    expect(await ask()).toMatchObject({ suggestedTip: 50_000_000n });
    expect(await ask()).toMatchObject({ suggestedTip: 50_000_000n });
    expect(answers).toHaveLength(2);
    for (const answer of answers) answer();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await ask()).toMatchObject({ suggestedTip: 1n });
    now += 10_001;
    const asking = ask();
    await new Promise((resolve) => setImmediate(resolve));
    for (const answer of answers) answer();
    expect(await asking).toMatchObject({ suggestedTip: 1n });
    clock.mockRestore();
  });

  it('goes on when one of two nodes names a least tip above the cap', async () => {
    const { chain, market: ask } = await market(2, ([first]) => {
      if (first === undefined) return;
      first.lie = (method) =>
        method === 'eth_sendRawTransaction'
          ? failure('transaction underpriced: gas tip cap 1, minimum needed 900 gwei')
          : undefined;
    });
    await chain.broadcast('0x00');
    expect(chain.endpoints[0]?.leastTip?.wei).toBe(900n * GWEI);
    expect(feesFor(await ask())).toBeDefined();
  });

  it.each<[string, number, (nodes: readonly FakeNode[]) => void, bigint]>([
    ['the other one takes less', 2, () => undefined, 0n],
    [
      'the other one wants it too',
      2,
      ([, second]) => {
        wants(second);
      },
      4n * GWEI,
    ],
    ['it is the only one: up to ten times the suggestion', 1, () => undefined, GWEI / 2n],
  ])(
    'sends at a least tip that one node names below the cap where %s',
    async (_, count, prepare, least) => {
      const {
        chain,
        nodes,
        market: ask,
        urgent,
      } = await market(count, ([first]) => {
        wants(first);
      });
      prepare(nodes);
      await chain.broadcast('0x00');
      expect(await ask()).toMatchObject({ leastTip: least });
      const { agreed, highest } = await urgent();
      expect([agreed.leastTip, highest.leastTip]).toEqual([least, 4n * GWEI]);
    },
  );

  describe('where one node takes everything, forwards nothing and suggests no tip', () => {
    async function muteMarket(count = 2) {
      const made = await market(count, ([honest, mute]) => {
        if (honest === undefined) throw new Error('a node');
        const lie = suggests(0n);
        const refusal = failure('transaction underpriced: gas tip cap 1, minimum needed 4 gwei');
        honest.lie = (method, params) =>
          method === 'eth_sendRawTransaction' ? refusal : lie(method, params);
        if (mute !== undefined) mute.lie = lie;
      });
      await made.chain.broadcast('0x00');
      return made;
    }

    it.each([2, 1])('offers at once what a block took, by %d nodes', async (count) => {
      const clock = jest.spyOn(performance, 'now');
      const { oracle, chain, market: ask } = await muteMarket(count);
      oracle.noteMined(2n * GWEI);
      expect(feesFor(await ask())?.maxPriorityFeePerGas).toBe(2n * GWEI);
      const later = performance.now() + 300_001;
      clock.mockImplementation(() => later);
      const [honest] = chain.endpoints;
      if (honest !== undefined) honest.leastTip = { wei: 4n * GWEI, learnedAt: later };
      // Nothing is mined meanwhile.
      expect(feesFor(await ask())?.maxPriorityFeePerGas).toBe(2n * GWEI);
      oracle.noteMined(900n * GWEI);
      expect(feesFor(await ask())?.maxPriorityFeePerGas).toBe(4n * GWEI);
      // It was taken since then, so no refusal names it again.
      const [health] = chain.endpoints;
      if (health === undefined) throw new Error('an endpoint');
      health.leastTip = { wei: 4n * GWEI, learnedAt: performance.now() - 30_000 };
      expect(feesFor(await ask())?.maxPriorityFeePerGas).toBe(4n * GWEI);
      health.leastTip = { wei: 4n * GWEI, learnedAt: performance.now() - 60_001 };
      expect(feesFor(await ask())?.maxPriorityFeePerGas).toBe(1n);
      clock.mockRestore();
    });

    it.each([2, 1])(
      'offers no more for what needed replacements while less is mined, by %d nodes',
      async (count) => {
        const { oracle, market: ask } = await muteMarket(count);
        const offered = async () => feesFor(await ask())?.maxPriorityFeePerGas;
        oracle.noteMined(GWEI / 20n);
        for (let moment = 0; moment < 7; moment++) {
          const replaced = ((await offered()) ?? 0n) * 2n;
          oracle.noteMined(replaced);
          expect(await offered()).toBe(GWEI / 20n);
        }
        oracle.noteMined(GWEI / 50n);
        expect(await offered()).toBe(GWEI / 50n);
      },
    );

    it('offers what validators take at least, before a block took anything', async () => {
      const { chain, market: ask } = await muteMarket();
      expect(feesFor(await ask())?.maxPriorityFeePerGas).toBe(1n);
      Object.assign(chain.config, { leastTipWei: GWEI / 20n });
      const { latest, view } = headOf(chain, new FakeChain(5));
      const fresh = new FeeOracle(chain);
      const found = await fresh.market({ latest, view, finalized: undefined });
      expect(feesFor(found)?.maxPriorityFeePerGas).toBe(GWEI / 20n);
    });

    it('is stopped by no tip of before that is above the cap now', async () => {
      const { oracle, chain, market: ask } = await muteMarket();
      oracle.noteMined(900n * GWEI);
      const [health] = chain.endpoints;
      if (health === undefined) throw new Error('an endpoint');
      health.leastTip = { wei: 900n * GWEI, learnedAt: performance.now() };
      expect(feesFor(await ask())).toBeDefined();
    });
  });

  it('does not take an absent node as a witness against the least tip of the other', async () => {
    const { chain, market: ask } = await market(2, ([first]) => {
      wants(first);
    });
    await chain.broadcast('0x00');
    const [, second] = chain.endpoints;
    if (second === undefined) throw new Error('two nodes');
    second.isReachable = false;
    expect(await ask()).toMatchObject({ leastTip: GWEI / 2n });
  });

  describe('whose first node names a base fee above the cap for the newest block', () => {
    async function marketOf(nodes: number, prepare?: (nodes: readonly FakeNode[]) => void) {
      const truth = new FakeChain(5);
      const { chain, nodes: made } = await aChain(truth, nodes);
      prepare?.(made);
      const head = headOf(chain, truth);
      const lie = { ...head, latest: { ...head.latest, baseFeePerGas: 900n * GWEI } };
      const oracle = new FeeOracle(chain);
      return { made, market: () => oracle.market(lie) };
    }

    it('offers what the other one has for the same block, which it is asked once', async () => {
      const { made, market: ask } = await marketOf(2);
      expect(await ask()).toMatchObject({ baseFeePerGas: 10n });
      const asked = made[1]?.asked.filter((method) => method === 'eth_getBlockByNumber').length;
      expect(feesFor(await ask())).toBeDefined();
      const again = made[1]?.asked.filter((method) => method === 'eth_getBlockByNumber').length;
      expect(again).toBe(asked);
    });

    it.each<[string, Partial<BlockHeader>]>([
      ['under another hash', { hash: hash32(666) }],
      ['under another hash and as a block to come', { hash: hash32(666), number: 6n }],
    ])('offers what the other one has where it is named %s', async (_, more) => {
      const truth = new FakeChain(5);
      const { chain } = await aChain(truth, 2);
      const head = headOf(chain, truth);
      const latest = { ...head.latest, baseFeePerGas: 900n * GWEI, ...more };
      const market = await new FeeOracle(chain).market({ ...head, latest });
      expect(market).toMatchObject({ baseFeePerGas: 10n });
    });

    it('offers what the other one has for its newest block where that is behind', async () => {
      const { market: ask } = await marketOf(2, ([, second]) => second && (second.lag = 1));
      expect(await ask()).toMatchObject({ baseFeePerGas: 10n });
    });

    it.each<[string, number, (nodes: readonly FakeNode[]) => void]>([
      ['it is the only one', 1, () => undefined],
      ['the other one is mute', 2, ([, second]) => second && (second.lie = () => failure())],
    ])('is believed where %s', async (_, count, prepare) => {
      const { market: ask } = await marketOf(count, prepare);
      expect(feesFor(await ask())).toBeUndefined();
    });
  });

  it('forgets a least tip after ten seconds', async () => {
    const { chain, market: ask } = await market(1, () => undefined);
    const [health] = chain.endpoints;
    if (health === undefined) throw new Error('an endpoint');
    health.leastTip = { wei: 900n * GWEI, learnedAt: performance.now() };
    expect(feesFor(await ask())).toBeUndefined();
    health.leastTip = { wei: 900n * GWEI, learnedAt: performance.now() - 10_001 };
    expect(feesFor(await ask())).toBeDefined();
  });
});
