import { describe, expect, it } from '@jest/globals';
import {
  aChain,
  FakeChain,
  result,
  SILENT,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { EvmLaneChain } from './evm-lane-chain.js';

const SIGNER = '0x5555555555555555555555555555555555555555';

describe('the balance of a lane, asked of all endpoints', () => {
  it.each<[string, readonly (number | undefined | 'silent')[], bigint]>([
    ['one says nought', [0, undefined], 1000n],
    ['the other one says nought', [undefined, 0], 1000n],
    ['one of three says too much', [undefined, 9000, undefined], 1000n],
    ['both say nought', [0, 0], 0n],
    ['there is one', [0], 0n],
    ['one is silent', [undefined, 'silent'], 1000n],
  ])('%s', async (_, says, expected) => {
    const { chain, nodes } = await aChain(new FakeChain(5), says.length);
    nodes.forEach((node, index) => {
      const wei = says[index];
      node.lie = (method) => {
        if (method !== 'eth_getBalance' || wei === undefined) return undefined;
        return wei === 'silent' ? SILENT : result(`0x${wei.toString(16)}`);
      };
    });
    expect(await new EvmLaneChain(chain).balanceByAll(SIGNER)).toBe(expected);
  });

  it('is unknown where nobody answers', async () => {
    const { chain, nodes } = await aChain(new FakeChain(5), 2);
    for (const node of nodes) node.lie = () => SILENT;
    await expect(new EvmLaneChain(chain).balanceByAll(SIGNER)).rejects.toThrow(
      ChainUnavailableError,
    );
  });
});
