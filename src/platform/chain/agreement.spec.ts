import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import {
  aChain,
  FakeChain,
  type FakeNode,
  hash32,
  result,
  SILENT,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { ChainUnavailableError, EndpointsDisagreeError } from '../../protocol/errors.js';
import { type BlockHeader, readBlockHeader } from './block.js';
import type { EvmChain } from './evm-chain.js';

const ACCOUNT: Address = '0x5555555555555555555555555555555555555555';
const HEAD = 19;

/** In how many ways one endpoint can be no witness; the others tell the truth. */
type Manner = (node: FakeNode, truth: FakeChain) => void;

async function world(count: number, wrong: Manner, index: number) {
  const truth = new FakeChain(HEAD + 1);
  truth.nonces = (block) => block - 10;
  truth.balance = (block) => 1000n + BigInt(block);
  truth.timestamp = (block) => 1_700_000_000 + block;
  const { chain, nodes } = await aChain(truth, count);
  const node = nodes[index];
  if (node === undefined) throw new Error('no such node');
  wrong(node, truth);
  return { truth, chain, nodes };
}

async function said<T>(asking: Promise<T>): Promise<T | 'contradiction' | 'unknown'> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof EndpointsDisagreeError) return 'contradiction';
    if (error instanceof ChainUnavailableError) return 'unknown';
    throw error;
  }
}

const answering =
  (method: string, value: unknown): Manner =>
  (node) => {
    node.lie = (asked) => (asked === method ? result(value) : undefined);
  };
const mute =
  (method: string): Manner =>
  (node) => {
    node.lie = (asked) => (asked === method ? SILENT : undefined);
  };
const behind: Manner = (node) => {
  node.lag = 1;
};
/** All others are a block behind it. */
const ahead: Manner = () => undefined;

/** Each of two, and each of three: the name, how many there are, and which of them it is. */
const places = (
  manners: readonly string[],
): readonly (readonly [name: string, count: number, index: number])[] =>
  manners.flatMap((name) =>
    [2, 3].flatMap((count) =>
      Array.from({ length: count }, (_, index) => [name, count, index] as const),
    ),
  );

describe('the nonces that are used in a block, where an endpoint', () => {
  const COUNT = 'eth_getTransactionCount';
  const manners: Readonly<Record<string, readonly [Manner, string]>> = {
    'counts more': [answering(COUNT, '0x64'), 'contradiction'],
    'counts fewer': [answering(COUNT, '0x1'), 'contradiction'],
    'counts nought': [answering(COUNT, '0x0'), 'contradiction'],
    'has no number': [answering(COUNT, null), 'unknown'],
    'is mute': [mute(COUNT), 'unknown'],
    'is late, and counts those of the block before': [answering(COUNT, '0x8'), 'contradiction'],
    'is behind': [behind, 'unknown'],
    'is ahead': [ahead, 'true'],
  };

  it.each(places(Object.keys(manners)))('%s (of %i, endpoint %i)', async (name, count, index) => {
    const [wrong, byTwo] = manners[name] ?? [ahead, ''];
    const { truth, chain, nodes } = await world(count, wrong, index);
    if (wrong === ahead) {
      truth.mine();
      nodes.forEach((node, at) => (node.lag = at === index ? 0 : 1));
    }
    const block = readBlockHeader(truth.header(HEAD));
    if (block === undefined) throw new Error('a block');
    const believed = await said(chain.transactionCountAt(ACCOUNT, block));
    expect(believed).toBe(count === 2 && byTwo !== 'true' ? byTwo : HEAD - 10);
  });
});

describe('the balance of a lane, where an endpoint', () => {
  const BALANCE = 'eth_getBalance';
  const wei = 1000n + BigInt(HEAD);
  const manners: Readonly<Record<string, readonly [Manner, bigint]>> = {
    // Not asked again: what it cannot pay for is taken by no node.
    'says more': [answering(BALANCE, '0xffffffff'), 0xffffffffn],
    'says less': [answering(BALANCE, '0x1'), wei],
    'says nought': [answering(BALANCE, '0x0'), wei],
    'has no number': [answering(BALANCE, null), wei],
    'is mute': [mute(BALANCE), wei],
    'is late, and says what was there before': [answering(BALANCE, '0x3e9'), wei],
    'is behind': [behind, wei],
  };

  it.each(places(Object.keys(manners)))('%s (of %i, endpoint %i)', async (name, count, index) => {
    const [wrong, byTwo] = manners[name] ?? [ahead, 0n];
    const { chain } = await world(count, wrong, index);
    expect(await chain.balanceByAll(ACCOUNT)).toBe(count === 2 ? byTwo : wei);
  });
});

describe('the code of a signer, where an endpoint', () => {
  const CODE = 'eth_getCode';
  /** With code a lane sends one transaction at a time: one endpoint that says so is enough. */
  const manners: Readonly<Record<string, readonly [Manner, boolean]>> = {
    'says that it has some': [answering(CODE, '0xef01'), true],
    'says that it has none': [answering(CODE, '0x'), false],
    'is mute': [mute(CODE), false],
    'has no text': [answering(CODE, null), false],
    'is behind': [behind, false],
  };

  it.each(places(Object.keys(manners)))('%s (of %i, endpoint %i)', async (name, count, index) => {
    const [wrong, hasCode] = manners[name] ?? [ahead, false];
    const { chain, nodes } = await world(count, wrong, index);
    nodes.forEach((node, at) => {
      if (at !== index || wrong === behind) answering(CODE, '0x')(node, new FakeChain(1));
    });
    expect(await chain.hasCode(ACCOUNT)).toBe(hasCode);
  });
});

describe('the newest block of one endpoint, where it is wrong of', () => {
  type Fields = Readonly<Record<string, unknown>>;
  const fields: readonly (readonly [field: string, wrong: Fields])[] = [
    ['its time, later', { timestamp: '0x7fffffff' }],
    ['its time, earlier', { timestamp: '0x1' }],
    ['its base fee, more', { baseFeePerGas: '0xffffffffff' }],
    ['its base fee, less', { baseFeePerGas: '0x1' }],
    ['its base fee, none', { baseFeePerGas: null }],
    ['its hash', { hash: hash32(77) }],
    ['its parent', { parentHash: hash32(77) }],
    ['its number, 8 too high', { number: `0x${(HEAD + 8).toString(16)}` }],
    ['its number, far too high', { number: '0x3b9aca00' }],
    ['its number, too low', { number: '0x1' }],
  ];
  const isOfHead = (name: unknown): boolean => name === 'latest' || Number(name) >= HEAD;

  async function lying(count: number, index: number, wrong: Fields) {
    const made = await world(
      count,
      (node, truth) => {
        const lie = { ...(truth.header(HEAD) as object), ...wrong };
        node.lie = (method, [name]) =>
          method === 'eth_getBlockByNumber' && isOfHead(name) ? result(lie) : undefined;
      },
      index,
    );
    await made.chain.probe();
    return made;
  }

  const viewOf = (chain: EvmChain, name: string | undefined) => {
    const view = chain.views().find(({ health }) => health.endpoint.name === name);
    if (view === undefined) throw new Error('a view');
    return view;
  };

  it.each(
    fields.flatMap(([field, wrong]) =>
      [2, 3].flatMap((count) =>
        Array.from({ length: count }, (_, index) => [field, count, index, wrong] as const),
      ),
    ),
  )('%s: others are asked, and say the truth (of %i, endpoint %i)', async (...cell) => {
    const [, count, index, wrong] = cell;
    const { truth, chain, nodes } = await lying(count, index, wrong);
    const shown = readBlockHeader({ ...(truth.header(HEAD) as object), ...wrong });
    if (shown === undefined) throw new Error('a block');
    const elsewhere = await chain.newestElsewhere(viewOf(chain, nodes[index]?.name), shown);
    const isTrue = ({ number, baseFeePerGas, timestamp }: BlockHeader): boolean =>
      baseFeePerGas === truth.baseFeePerGas && timestamp === truth.timestamp(Number(number));
    expect([elsewhere.length, elsewhere.every(isTrue)]).toEqual([count - 1, true]);
    // And no block counts as known that does not exist.
    expect(chain.knownHeads.agreed).toBeLessThanOrEqual(BigInt(HEAD));
    expect(chain.newestKnownBlock).toBeLessThanOrEqual(BigInt(HEAD));
  });
});
