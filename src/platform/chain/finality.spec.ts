import { describe, expect, it } from '@jest/globals';
import {
  aChain,
  FakeChain,
  type FakeNode,
  result,
  SILENT,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { ChainUnavailableError, EndpointsDisagreeError } from '../../protocol/errors.js';
import type { BlockHeader } from './block.js';
import type { EvmChain } from './evm-chain.js';

/** Blocks 0 to 19: 17 is final. */
const FINAL = 17;

type Said = Readonly<Record<string, unknown>>;

/** How one endpoint is wrong about the final block; all else it says is true. */
const lies: readonly (readonly [field: string, wrong: (truth: FakeChain) => Said])[] = [
  ['a later time', () => ({ timestamp: '0xffffffff' })],
  ['an earlier time', () => ({ timestamp: '0x1' })],
  ['a number one too high', () => ({ number: `0x${(FINAL + 1).toString(16)}` })],
  ['a number two too high', () => ({ number: `0x${(FINAL + 2).toString(16)}` })],
  ['a number one too low', () => ({ number: `0x${(FINAL - 1).toString(16)}` })],
  ['a number above every block', () => ({ number: '0x3b9aca00' })],
  ['a hash of no block', (truth) => ({ hash: truth.blockHash(99) })],
  ['the hash of another block', (truth) => ({ hash: truth.blockHash(FINAL - 1) })],
];

/** It names a true block, so many before or after the final one. */
const off =
  (blocks: number) =>
  (node: FakeNode, truth: FakeChain): void => {
    node.lie = (method, [name]) =>
      isFinalQuestion(method, name) ? result(truth.header(FINAL + blocks)) : undefined;
  };
const lateAboutFinal = off(-1);
const aheadAboutFinal = off(1);

const isFinalQuestion = (method: string, name: unknown): boolean =>
  method === 'eth_getBlockByNumber' && name === 'finalized';

describe('the final block, where an endpoint names', () => {
  async function world(count: number) {
    const truth = new FakeChain(20);
    truth.timestamp = (block) => 1_700_000_000 + block;
    const { chain, nodes } = await aChain(truth, count);
    return { truth, chain, nodes };
  }

  /** The believed block, as `number time hash`, or the kind of silence. */
  async function believed(chain: EvmChain): Promise<string> {
    try {
      return answer(await chain.currentFinalizedBlock());
    } catch (error) {
      if (error instanceof EndpointsDisagreeError) return 'contradiction';
      if (error instanceof ChainUnavailableError) return 'unknown';
      throw error;
    }
  }

  const answer = (
    header: Pick<BlockHeader, 'number' | 'timestamp' | 'hash'> | undefined,
  ): string =>
    header === undefined ? 'none' : `${header.number} ${header.timestamp} ${header.hash}`;

  const trueBlock = (truth: FakeChain, number: number): string =>
    answer({
      number: BigInt(number),
      timestamp: truth.timestamp(number),
      hash: truth.blockHash(number),
    });

  function lieAboutFinal(truth: FakeChain, node: FakeNode | undefined, wrong: Said): void {
    if (node === undefined) throw new Error('a node');
    const lie = { ...(truth.header(FINAL) as object), ...wrong };
    node.lie = (method, [name]) => (isFinalQuestion(method, name) ? result(lie) : undefined);
  }

  const cells = lies.flatMap(([field, wrong]) =>
    [0, 1].map((liar) => [field, liar, wrong] as const),
  );

  it.each([0, 1])(
    'nothing for ten minutes of probes: its blocks count by their depth only then (endpoint %i of two)',
    async (mute) => {
      const truth = new FakeChain(40);
      const { chain, nodes } = await aChain(truth, 2);
      const node = nodes[mute];
      if (node === undefined) throw new Error('two nodes');
      node.lie = (method, [name]) => (isFinalQuestion(method, name) ? SILENT : undefined);
      for (let probes = 0; probes < 59; probes += 1) {
        await chain.probe();
        expect(await believed(chain)).toBe('unknown');
      }
      await chain.probe();
      expect((await chain.currentFinalizedBlock())?.hash).toBe(truth.blockHash(19));
      node.lie = () => undefined;
      await chain.probe();
      expect((await chain.currentFinalizedBlock())?.hash).toBe(truth.blockHash(37));
    },
  );

  it.each(cells)('%s: nothing untrue is believed (liar is endpoint %i of two)', async (...cell) => {
    const [, liar, wrong] = cell;
    const { truth, chain, nodes } = await world(2);
    lieAboutFinal(truth, nodes[liar], wrong(truth));
    // The true block, an older one that is as final, or nothing.
    const truths = [FINAL - 1, FINAL].map((number) => trueBlock(truth, number));
    expect(['contradiction', 'unknown', ...truths]).toContain(await believed(chain));
  });

  it.each(cells)('%s: two others decide (liar is endpoint %i of three)', async (...cell) => {
    const [, liar, wrong] = cell;
    const { truth, chain, nodes } = await world(3);
    lieAboutFinal(truth, nodes[liar], wrong(truth));
    expect(await believed(chain)).toBe(trueBlock(truth, FINAL));
  });

  it.each(cells)(
    '%s, of every block it shows: nothing untrue either (liar is %i)',
    async (...cell) => {
      const [, liar, wrong] = cell;
      const { truth, chain, nodes } = await world(2);
      const [node, other] = [nodes[liar], nodes[1 - liar]];
      if (node === undefined || other === undefined) throw new Error('two nodes');
      other.lag = 1;
      node.lie = (method, [name]) => {
        const isNumbered = method === 'eth_getBlockByNumber' && String(name).startsWith('0x');
        if (!isNumbered && !isFinalQuestion(method, name)) return undefined;
        const number = isNumbered ? Number(name) : FINAL;
        return result({ ...(truth.header(number) as object), ...wrong(truth) });
      };
      const truths = [FINAL - 2, FINAL - 1, FINAL].map((number) => trueBlock(truth, number));
      expect(['contradiction', 'unknown', ...truths]).toContain(await believed(chain));
    },
  );

  it.each<[string, number, (node: FakeNode, truth: FakeChain) => void, string | number]>([
    ['nothing, the second of two', 1, (node) => (node.lie = silentAboutFinal), 'unknown'],
    ['nothing, the first of two', 0, (node) => (node.lie = silentAboutFinal), 'unknown'],
    ['what was final before, the second of two', 1, lateAboutFinal, FINAL - 1],
    ['what was final before, the first of two', 0, lateAboutFinal, FINAL - 1],
    ['a block that is not final yet, the second of two', 1, aheadAboutFinal, FINAL],
    ['a block that is not final yet, the first of two', 0, aheadAboutFinal, FINAL],
    ['a block two behind, the second of two', 1, (node) => (node.lag = 2), FINAL - 2],
    ['a block two behind, the first of two', 0, (node) => (node.lag = 2), FINAL - 2],
  ])('%s', async (_, index, prepare, expected) => {
    const { truth, chain, nodes } = await world(2);
    const node = nodes[index];
    if (node === undefined) throw new Error('a node');
    prepare(node, truth);
    const wanted = typeof expected === 'number' ? trueBlock(truth, expected) : expected;
    expect(await believed(chain)).toBe(wanted);
  });
});

describe('the final block, where one of three endpoints holds it back', () => {
  const young: FakeNode['lie'] = (method, [name]) =>
    isFinalQuestion(method, name) ? result(null) : undefined;
  const named =
    (truth: FakeChain, number: number): FakeNode['lie'] =>
    (method, [name]) =>
      isFinalQuestion(method, name) ? result(truth.header(number)) : undefined;

  async function world(count: number, blocks = 20) {
    const truth = new FakeChain(blocks);
    const alerts: string[] = [];
    const { chain, nodes } = await aChain(truth, count, {
      observer: {
        endpointChanged: () => undefined,
        contractFound: () => undefined,
        endpointsDisagree: (what) => alerts.push(what),
        endpointsAgree: () => undefined,
      },
    });
    const [view] = chain.views();
    if (view === undefined) throw new Error('a view');
    const final = async () => (await chain.finalizedBlock(view, await view.latestBlock()))?.number;
    return { truth, nodes, alerts, final };
  }

  const holders = [0, 1, 2].flatMap((index) =>
    [
      ['names an old one', (truth: FakeChain) => named(truth, 1)],
      ['is silent about it', () => silentAboutFinal],
      ['has none', () => young],
      [
        'names one that it does not have',
        (truth: FakeChain): FakeNode['lie'] =>
          (method, [name]) => {
            if (isFinalQuestion(method, name)) return result(truth.header(19));
            return method === 'eth_getBlockByNumber' && name === '0x11' ? SILENT : undefined;
          },
      ],
    ].map(([what, lie]) => [index, what, lie] as const),
  ) as [number, string, (truth: FakeChain) => FakeNode['lie']][];

  it.each(holders)('endpoint %i %s: two others decide', async (index, _, lie) => {
    const { truth, nodes, final } = await world(3);
    const node = nodes[index];
    if (node === undefined) throw new Error('three nodes');
    node.lie = lie(truth);
    expect(await final()).toBe(17n);
  });

  it.each([2, 3])('and far behind, there is an alert (of %i)', async (count) => {
    const { truth, nodes, final, alerts } = await world(count, 200);
    if (nodes[1] !== undefined) nodes[1].lie = named(truth, 100);
    expect(await final()).toBe(count === 2 ? 100n : 197n);
    expect(alerts).toEqual([]);
    if (nodes[1] !== undefined) nodes[1].lie = named(truth, 1);
    expect(await final()).toBe(count === 2 ? 1n : 197n);
    expect(alerts).toEqual(['finalized block']);
  });

  it('and does not show a block that decides, it is asked again without an alert (of two)', async () => {
    const { nodes, final, alerts } = await world(2);
    const [first, second] = nodes;
    if (first === undefined || second === undefined) throw new Error('two nodes');
    second.lag = 2;
    first.lie = (method, [name]) =>
      method === 'eth_getBlockByNumber' && name === '0xf' ? SILENT : undefined;
    await expect(final()).rejects.not.toThrow(EndpointsDisagreeError);
    expect(alerts).toEqual([]);
  });
});

const silentAboutFinal: FakeNode['lie'] = (method, [name]) =>
  isFinalQuestion(method, name) ? SILENT : undefined;
