import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Address, serializeErc6492Signature } from 'viem';
import {
  aChain,
  FakeChain,
  type FakeNode,
  hash32,
  result,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { EndpointsDisagreeError } from '../../protocol/errors.js';
import { ContractOwners } from './contract-owners.js';

const OWNER: Address = `0x${'66'.repeat(20)}`;
const DIGEST = hash32(9n);
const YES = `0x1626ba7e${'0'.repeat(56)}` as const;
const NO = `0xffffffff${'0'.repeat(56)}` as const;

describe('an owner that is a contract, as two nodes see it', () => {
  let truth: FakeChain;
  let owners: ContractOwners;
  let nodes: readonly FakeNode[];
  let asked: string[];

  beforeEach(async () => {
    truth = new FakeChain(20);
    const made = await aChain(truth, 2);
    ({ nodes } = made);
    const { chainId } = made.chain;
    owners = new ContractOwners({ contractOwnersOn: chainId }, new ChainRegistry([made.chain]));
    asked = [];
  });

  const say = (answers: readonly string[], code = '0x6001'): void => {
    for (const [index, node] of nodes.entries()) {
      node.lie = (method) => {
        asked.push(method);
        if (method === 'eth_getCode') return result(code);
        return method === 'eth_call' ? result(answers[index]) : undefined;
      };
    }
  };
  const isSigned = (signature: `0x${string}` = '0x1234'): Promise<boolean> =>
    owners.isSignedBy(OWNER, DIGEST, signature);

  it('has signed when both say so', async () => {
    say([YES, YES]);
    expect(await isSigned()).toBe(true);
    say([NO, NO]);
    expect(await isSigned()).toBe(false);
  });

  it('is not believed by the word of one', async () => {
    say([YES, NO]);
    await expect(isSigned()).rejects.toThrow(EndpointsDisagreeError);
  });

  it('is an account with a key where it has no code, and nothing is called', async () => {
    say([YES, YES], '0x');
    expect(await isSigned()).toBe(false);
    expect(asked).not.toContain('eth_call');
  });

  it('is not asked about a wrapper in a wrapper', async () => {
    say([YES, YES]);
    const wrap = (signature: `0x${string}`) =>
      serializeErc6492Signature({ address: OWNER, data: '0x', signature });
    expect(await isSigned(wrap(wrap('0x12')))).toBe(false);
    expect(asked).toEqual([]);
  });
});
