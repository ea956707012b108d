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

const isFinalQuestion = (method: string, name: unknown): boolean =>
  method === 'eth_getBlockByNumber' && name === 'finalized';

describe('the final block, where an endpoint names', () => {
  async function world(count: number) {
    const truth = new FakeChain(20);
    truth.timestamp = (block) => 1_700_000_000 + block;
    const { chain, nodes } = await aChain(truth, count);
    return { truth, chain, nodes };
  }

  /** What is believed, as `number time hash`, or the kind of silence. */
  async function believed(chain: EvmChain): Promise<string> {
    try {
      return said(await chain.currentFinalizedBlock());
    } catch (error) {
      if (error instanceof EndpointsDisagreeError) return 'contradiction';
      if (error instanceof ChainUnavailableError) return 'unknown';
      throw error;
    }
  }

  const said = (header: Pick<BlockHeader, 'number' | 'timestamp' | 'hash'> | undefined): string =>
    header === undefined ? 'none' : `${header.number} ${header.timestamp} ${header.hash}`;

  const trueBlock = (truth: FakeChain, number: number): string =>
    said({
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

  it.each<[string, number, (node: FakeNode) => void, string | number]>([
    ['nothing, the second of two', 1, (node) => (node.lie = silentAboutFinal), 'unknown'],
    ['a block two behind, the second of two', 1, (node) => (node.lag = 2), FINAL - 2],
    ['a block two behind, the first of two', 0, (node) => (node.lag = 2), FINAL - 2],
  ])('%s', async (_, index, prepare, expected) => {
    const { truth, chain, nodes } = await world(2);
    const node = nodes[index];
    if (node === undefined) throw new Error('a node');
    prepare(node);
    const wanted = typeof expected === 'number' ? trueBlock(truth, expected) : expected;
    expect(await believed(chain)).toBe(wanted);
  });
});

const silentAboutFinal: FakeNode['lie'] = (method, [name]) =>
  isFinalQuestion(method, name) ? SILENT : undefined;
