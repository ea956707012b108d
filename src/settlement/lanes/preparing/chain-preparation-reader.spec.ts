import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import {
  aChain,
  FakeChain,
  type FakeNode,
  hash32,
  result,
} from '../../../../test/builders/platform/chain/fake-chain.js';
import { EndpointsDisagreeError } from '../../../protocol/errors.js';
import type { Preparation } from '../../../protocol/schemes/scheme.js';
import { ChainPreparationReader } from './chain-preparation-reader.js';

const PAYER: Address = `0x${'55'.repeat(20)}`;
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`;
/** Costs 1000 wei at the most, which is what the payer has. */
const PREPARATION: Preparation = {
  transaction: {
    raw: '0x02',
    hash: hash32(7n),
    accountNonce: 3,
    gas: 100n,
    maxFeePerGas: 10n,
  },
  proof: { to: PAYER, data: '0xdd62ed3e' },
  least: 5n,
  failed: 'erc20_approval_tx_failed',
};

describe('how far the own transaction of a payer is', () => {
  let truth: FakeChain;
  let reader: ChainPreparationReader;
  let liar: FakeNode;

  async function nodes(count: number): Promise<void> {
    const made = await aChain(truth, count);
    reader = new ChainPreparationReader(made.chain);
    const [first] = made.nodes;
    if (first === undefined) throw new Error('a node');
    liar = first;
  }
  beforeEach(async () => {
    truth = new FakeChain(20);
    truth.nonces = () => 3;
    truth.call = () => word(0);
    await nodes(2);
  });

  const lies = (about: string, answer: unknown): void => {
    liar.lie = (method) => (method === about ? result(answer) : undefined);
  };
  const look = () => reader.look(PAYER, PREPARATION);

  it('is what a node says, where the transaction can be sent or has done its work', async () => {
    expect(await look()).toEqual({ isDone: false, usedNonces: 3, balanceWei: 1000n });
    truth.call = () => word(5);
    expect(await look()).toMatchObject({ isDone: true });
  });

  it.each([
    ['its nonce is used', 'eth_getTransactionCount', '0x6'],
    ['a nonce before it is free', 'eth_getTransactionCount', '0x1'],
    ['the payer has nothing', 'eth_getBalance', '0x0'],
  ])('is not known while one of two says that %s', async (_, method, answer) => {
    lies(method, answer);
    await expect(look()).rejects.toThrow(EndpointsDisagreeError);
    await nodes(3);
    lies(method, answer);
    expect(await look()).toEqual({ isDone: false, usedNonces: 3, balanceWei: 1000n });
  });

  it('is done where one says so, and nothing can be sent any more', async () => {
    truth.nonces = () => 4;
    truth.call = () => word(5);
    lies('eth_call', word(0));
    expect(await look()).toMatchObject({ isDone: true, usedNonces: 4 });
  });

  it('has come to nothing where both say so', async () => {
    truth.nonces = () => 4;
    expect(await look()).toMatchObject({ isDone: false, usedNonces: 4 });
  });
});
