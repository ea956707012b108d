import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import {
  aChain,
  FakeChain,
  type FakeTransaction,
  hash32,
  result,
  transferLog,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { ChainEvidence } from './chain-evidence.js';

const addressOf = (byte: string): Address => `0x${byte.repeat(20)}`;
const TRANSFER = {
  asset: addressOf('a1'),
  payer: addressOf('b2'),
  payTo: addressOf('c3'),
  amount: 5n,
};
const log = (more: Partial<typeof TRANSFER> = {}) =>
  transferLog({ method: 'eip3009', nonce: 1n, ...TRANSFER, ...more });
const HASH = hash32(77);

async function chainWith(transaction: Partial<FakeTransaction>, nodes = 1) {
  const truth = new FakeChain(5);
  const block = truth.mine({ hash: HASH, to: '0x', input: '0x', ...transaction });
  const made = await aChain(truth, nodes);
  const evidence = new ChainEvidence({
    served: (chainId) => (chainId === 56 ? made.chain : undefined),
  });
  return { truth, block, nodes: made.nodes, evidence };
}

describe('evidence in the receipt of a transaction', () => {
  it('is the log of exactly this transfer, and its block', async () => {
    const logs = [log({ amount: 4n }), log({ payTo: addressOf('d4') }), log()];
    const { truth, block, evidence } = await chainWith({ logs });
    expect(await evidence.find(56, HASH, TRANSFER)).toEqual({
      transaction: HASH,
      blockNumber: BigInt(block),
      blockHash: truth.blockHash(block),
      logIndex: 2,
    });
  });

  it.each<[string, Partial<FakeTransaction>]>([
    ['none is there', { logs: [log({ asset: addressOf('a2') })] }],
    ['two are alike', { logs: [log(), log()] }],
    ['the transaction failed', { logs: [log()], isSuccess: false }],
  ])('is not there where %s', async (_, transaction) => {
    const { evidence } = await chainWith(transaction);
    expect(await evidence.find(56, HASH, TRANSFER)).toBeUndefined();
  });

  it('is what two endpoints say: one that lies is not believed', async () => {
    const { nodes, evidence } = await chainWith({ logs: [] }, 2);
    const [liar] = nodes;
    if (liar === undefined) throw new Error('no node');
    const truth = new FakeChain(5);
    truth.mine({ hash: HASH, to: '0x', input: '0x', logs: [log()] });
    liar.lie = (method) =>
      method === 'eth_getTransactionReceipt' ? result(truth.receipt(HASH)) : undefined;
    await expect(evidence.find(56, HASH, TRANSFER)).rejects.toThrow(ChainUnavailableError);
  });

  it('is nothing while one of two endpoints names another block number', async () => {
    const { truth, nodes, evidence } = await chainWith({ logs: [log()] }, 2);
    const [liar] = nodes;
    if (liar === undefined) throw new Error('no node');
    const receipt = { ...(truth.receipt(HASH) as object), blockNumber: '0x1' };
    liar.lie = (method) => (method === 'eth_getTransactionReceipt' ? result(receipt) : undefined);
    await expect(evidence.find(56, HASH, TRANSFER)).rejects.toThrow(ChainUnavailableError);
  });

  it('is not known where no chain can say it', async () => {
    const { evidence } = await chainWith({ logs: [log()] });
    await expect(evidence.find(97, HASH, TRANSFER)).rejects.toThrow(ChainUnavailableError);
    await expect(evidence.find(56, hash32(78), TRANSFER)).rejects.toThrow(ChainUnavailableError);
  });
});
