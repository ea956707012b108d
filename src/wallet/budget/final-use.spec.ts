import { describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import type { BlockHeader } from '../../platform/chain/block.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { readFinalUse } from './final-use.js';

const wallet: Address = `0x${'a1'.repeat(20)}`;
const ref = { method: 'eip3009' as const, asset: wallet, payer: wallet, nonce: 1n };

interface Node {
  readonly final: bigint;
  readonly isUsed: boolean;
  readonly hashOf?: (height: bigint) => Hex;
  readonly timeOf?: (height: bigint) => number;
}

const hash = (height: bigint): Hex => `0x${height.toString(16).padStart(64, '0')}`;

function view({ final, isUsed, hashOf = hash, timeOf = Number }: Node) {
  const header = (number: bigint): BlockHeader => ({
    number,
    hash: hashOf(number),
    timestamp: timeOf(number),
    baseFeePerGas: 0n,
    gasLimit: 30_000_000n,
  });
  return {
    chainId: 56,
    latestBlock: () => Promise.resolve(header(final + 2n)),
    finalizedBlock: () => Promise.resolve(header(final)),
    block: (number: bigint) => Promise.resolve(header(number)),
    call: () =>
      Promise.resolve({
        status: 'returned' as const,
        data: hash(isUsed ? 1n : 0n),
      }),
  };
}

const unavailable = () => Promise.reject(new ChainUnavailableError(56, 'any call'));
const silent = {
  chainId: 56,
  latestBlock: unavailable,
  finalizedBlock: unavailable,
  block: unavailable,
  call: unavailable,
};

describe('whether an authorization is used, at a final block', () => {
  it('is known by one node where there is no other', async () => {
    expect(await readFinalUse([view({ final: 9n, isUsed: false })], ref)).toMatchObject({
      kind: 'known',
      isUsed: false,
      block: { number: 9n },
    });
  });

  it('is asked of the highest block that two hold final', async () => {
    const views = [view({ final: 12n, isUsed: false }), view({ final: 9n, isUsed: false })];
    expect(await readFinalUse(views, ref)).toMatchObject({ kind: 'known', block: { number: 9n } });
  });

  it('is not known by what one node alone says of its final block, or of its time', async () => {
    const liar = view({ final: 10n ** 9n, isUsed: false, timeOf: () => 4_000_000_000 });
    expect(await readFinalUse([liar, silent], ref)).toEqual({ kind: 'unknown' });
    const honest = view({ final: 9n, isUsed: false });
    expect(await readFinalUse([liar, honest], ref)).toEqual({ kind: 'disputed' });
  });

  it.each([
    ['whether it is used', view({ final: 9n, isUsed: true })],
    ['the block', view({ final: 9n, isUsed: false, hashOf: () => hash(7n) })],
  ])('is disputed when two disagree about %s', async (_what, other) => {
    const views = [view({ final: 9n, isUsed: false }), other];
    expect(await readFinalUse(views, ref)).toEqual({ kind: 'disputed' });
  });

  it('is not known while no endpoint answers', async () => {
    expect(await readFinalUse([silent], ref)).toEqual({ kind: 'unknown' });
    expect(await readFinalUse([], ref)).toEqual({ kind: 'unknown' });
  });
});
