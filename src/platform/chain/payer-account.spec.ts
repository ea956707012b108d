import { beforeEach, describe, expect, it } from '@jest/globals';
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
import type { EvmChain } from './evm-chain.js';
import { confirmedPayer } from './payer-account.js';

const PAYER: Address = `0x${'55'.repeat(20)}`;
const HASH = hash32(7n);
const TRUTH = {
  used: 3,
  pending: 3,
  isKnown: false,
  balanceWei: 1000n,
  gasPriceWei: 100n,
  baseFeePerGas: 10n,
};

describe('the account of a payer, as two nodes see it', () => {
  let truth: FakeChain;
  let chain: EvmChain;
  let liar: FakeNode;

  async function nodes(count: number): Promise<void> {
    const made = await aChain(truth, count);
    ({ chain } = made);
    const [first] = made.nodes;
    if (first === undefined) throw new Error('a node');
    liar = first;
  }
  beforeEach(async () => {
    truth = new FakeChain(20);
    truth.nonces = () => 3;
    await nodes(2);
  });

  const lies = (about: string, answer: unknown, at?: string): void => {
    liar.lie = (method, params) =>
      method === about && (at === undefined || params[1] === at) ? result(answer) : undefined;
  };

  it('is what both say', async () => {
    expect(await confirmedPayer(chain, PAYER, HASH)).toEqual(TRUTH);
  });

  it.each([
    ['eth_getTransactionCount', '0x64'],
    ['eth_getBalance', '0x0'],
  ])('is nothing while they disagree about a block (%s)', async (method, answer) => {
    lies(method, answer);
    await expect(confirmedPayer(chain, PAYER, HASH)).rejects.toThrow(EndpointsDisagreeError);
  });

  it.each([
    ['eth_getTransactionCount', '0x64'],
    ['eth_getBalance', '0x0'],
  ])('is what two of three say (%s)', async (method, answer) => {
    await nodes(3);
    lies(method, answer);
    expect(await confirmedPayer(chain, PAYER, HASH)).toEqual(TRUTH);
  });

  it('has nothing of what waits in the pool of one alone', async () => {
    lies('eth_getTransactionCount', '0x4', 'pending');
    expect(await confirmedPayer(chain, PAYER, HASH)).toEqual(TRUTH);
    await nodes(1);
    lies('eth_getTransactionCount', '0x4', 'pending');
    expect(await confirmedPayer(chain, PAYER, HASH)).toEqual({ ...TRUTH, pending: 4 });
  });

  it('knows a transaction that one of them knows', async () => {
    lies('eth_getTransactionByHash', { hash: HASH, from: PAYER, to: PAYER, input: '0x' });
    expect(await confirmedPayer(chain, PAYER, HASH)).toEqual({ ...TRUTH, isKnown: true });
  });

  it('has the lower one of two prices, and of two base fees', async () => {
    lies('eth_gasPrice', '0xe8d4a51000');
    expect(await confirmedPayer(chain, PAYER, HASH)).toEqual(TRUTH);
    const header = truth.header(19) as object;
    liar.lie = (method) =>
      method === 'eth_getBlockByNumber'
        ? result({ ...header, baseFeePerGas: '0xe8d4a51000' })
        : undefined;
    expect(await confirmedPayer(chain, PAYER, HASH)).toEqual(TRUTH);
  });

  it('is the word of one where the other is away', async () => {
    await nodes(2);
    const [, second] = chain.endpoints;
    if (second === undefined) throw new Error('two nodes');
    second.isReachable = false;
    lies('eth_getBalance', '0x5');
    expect(await confirmedPayer(chain, PAYER, HASH)).toEqual({ ...TRUTH, balanceWei: 5n });
  });

  it('is not known where no endpoint answers', async () => {
    await nodes(1);
    liar.lie = () => SILENT;
    await expect(confirmedPayer(chain, PAYER, HASH)).rejects.toThrow(ChainUnavailableError);
  });
});
