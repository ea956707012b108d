import { describe, expect, it } from '@jest/globals';
import {
  ASSET,
  aTransfer,
  aUse,
  LANE,
  STRANGER,
} from '../../../test/builders/history/reconciliation/records.js';
import {
  aChain,
  failure,
  FakeChain,
  type FakeNode,
  type FakeTransaction,
  hash32,
  result,
  SILENT,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { TestClock } from '../../../test/builders/platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { ChainEvidence } from './chain-evidence.js';
import { compareTransaction } from './compare-transaction.js';

/** Never waits. */
class HastyClock extends TestClock {
  override sleep(): Promise<void> {
    return Promise.resolve();
  }
}

const sent = (nonce: number, more: Partial<FakeTransaction> = {}): FakeTransaction => ({
  hash: hash32(1000 + nonce),
  to: ASSET,
  input: '0x',
  from: LANE,
  nonce,
  logs: [aUse(0), aTransfer(1)],
  ...more,
});

/** Ten blocks, and the transactions of a lane in blocks 3, 5 and 8; final up to 10. */
async function evidence(endpoints = 2) {
  const truth = new FakeChain(13);
  truth.blocks[3] = [sent(0)];
  truth.blocks[5] = [sent(1, { value: 7n })];
  truth.blocks[8] = [sent(9, { from: STRANGER }), sent(2, { isSuccess: false, logs: [] })];
  truth.nonces = (block) => [3, 5, 8].filter((one) => one <= block).length;
  truth.balance = (block) => 1000n - BigInt(block);
  truth.timestamp = (block) => 1_700_000_000 + 10 * block;
  const { chain, nodes } = await aChain(truth, endpoints);
  return { truth, nodes, is: new ChainEvidence(chain, new HastyClock()) };
}

const lies = (node: FakeNode | undefined, method: string, answer = failure('pruned')): void => {
  if (node === undefined) throw new Error('no such node');
  const before = node.lie;
  node.lie = (asked, params) => (asked === method ? answer : before(asked, params));
};
const all = (nodes: readonly FakeNode[], method: string, answer = failure('pruned')): void => {
  for (const node of nodes) lies(node, method, answer);
};
const one = (nonce: number, blockNumber?: bigint) => ({
  hash: hash32(1000 + nonce),
  blockNumber,
});
const gap = (nonce: number, from = 1n, to = 10n) => ({ nonce, from, to });

describe('what the chain shows', () => {
  it('is a transaction with its sender, nonce, fee and logs', async () => {
    const { is } = await evidence();
    const reads = await is.look([one(0), one(1), one(2)]);
    expect(reads.get(hash32(1000))).toMatchObject({
      kind: 'seen',
      transaction: { from: LANE, nonce: 0, feeWei: 50_000n, valueWei: 0n, isSuccess: true },
    });
    expect(reads.get(hash32(1001))).toMatchObject({ transaction: { valueWei: 7n } });
    expect(reads.get(hash32(1002))).toMatchObject({ transaction: { isSuccess: false, logs: [] } });
  });

  it('is not what one endpoint says and the other does not', async () => {
    const { is, nodes, truth } = await evidence();
    lies(
      nodes[1],
      'eth_getTransactionReceipt',
      result({ ...(truth.receipt(hash32(1000)) as object), status: '0x0' }),
    );
    expect((await is.look([one(0)])).get(hash32(1000))).toEqual({ kind: 'unread' });
    lies(nodes[1], 'eth_getTransactionReceipt', SILENT);
    expect((await is.look([one(0)])).get(hash32(1000))).toEqual({ kind: 'unread' });
    lies(nodes[1], 'eth_getBalance', result('0x1'));
    expect(await is.laneState(LANE, await is.header(9n))).toBeUndefined();
  });

  it.each(['number', 'timestamp'])(
    'is no block with another %s than the other one has',
    async (field) => {
      const { is, nodes, truth } = await evidence();
      const header = { ...(truth.header(9) as object), [field]: '0x1' };
      lies(nodes[0], 'eth_getBlockByNumber', result(header));
      await expect(is.header(9n)).rejects.toThrow(ChainUnavailableError);
    },
  );

  it('is no transaction in another block than the other one has it in', async () => {
    const { is, nodes, truth } = await evidence();
    const receipt = { ...(truth.receipt(hash32(1000)) as object), blockNumber: '0x1' };
    lies(nodes[0], 'eth_getTransactionReceipt', result(receipt));
    expect((await is.look([one(0)])).get(hash32(1000))).toEqual({ kind: 'unread' });
  });

  it('is what two of three say', async () => {
    const { is, nodes } = await evidence(3);
    lies(nodes[0], 'eth_getTransactionReceipt', result(null));
    expect((await is.look([one(0, 3n)])).get(hash32(1000))).toMatchObject({ kind: 'seen' });
    lies(nodes[1], 'eth_getTransactionReceipt', SILENT);
    expect((await is.look([one(0, 3n)])).get(hash32(1000))).toEqual({ kind: 'unread' });
  });

  it('is what the only endpoint says', async () => {
    const { is } = await evidence(1);
    expect((await is.look([one(0)])).get(hash32(1000))).toMatchObject({ kind: 'seen' });
  });

  it('lacks a transaction only where its block was read', async () => {
    const { is, nodes } = await evidence();
    const absent = hash32(7);
    const read = async (blockNumber?: bigint) =>
      (await is.look([{ hash: absent, blockNumber }])).get(absent);
    expect(await read(3n)).toEqual({ kind: 'absent', isProven: true });
    expect(await read()).toEqual({ kind: 'absent', isProven: false });
    // Both have forgotten its receipt, and their block still has it.
    all(nodes, 'eth_getTransactionReceipt', result(null));
    expect((await is.look([one(0, 3n)])).get(hash32(1000))).toEqual({ kind: 'unread' });
    all(nodes, 'eth_getBlockByNumber', result(null));
    expect(await read(3n)).toEqual({ kind: 'unread' });
  });

  it('is never well where nothing could be read', async () => {
    const { is, nodes } = await evidence();
    for (const node of nodes) node.lie = () => SILENT;
    const result = (await is.look([one(0, 3n)])).get(hash32(1000)) ?? { kind: 'unread' };
    const transaction = { hash: hash32(1000), result, settlements: [] };
    expect(result).toEqual({ kind: 'unread' });
    expect(compareTransaction(transaction, new Set([LANE]))).toEqual([]);
    await expect(is.finalBlock()).rejects.toThrow('no endpoint');
    await expect(is.header(3n)).rejects.toThrow('no endpoint');
    expect(await is.find({ lane: LANE, gaps: [gap(0)], assets: [] })).toEqual(new Map());
  });

  it('has a final block that both have', async () => {
    const { is, nodes, truth } = await evidence();
    expect(await is.finalBlock()).toMatchObject({ number: 10n, hash: truth.blockHash(10) });
    lies(
      nodes[1],
      'eth_getBlockByNumber',
      result({ ...(truth.header(10) as object), hash: hash32(5) }),
    );
    await expect(is.finalBlock()).rejects.toThrow('disagree');
  });

  it('finds the first block that is not before a moment', async () => {
    const { is } = await evidence();
    const last = await is.finalBlock();
    const at = (seconds: number) => is.firstBlockSince((1_700_000_000 + seconds) * 1000, last);
    expect(await Promise.all([at(-5), at(40), at(41), at(100), at(101)])).toEqual([
      1n,
      4n,
      5n,
      10n,
      11n,
    ]);
  });

  it('tells the state of a lane at the end of a block', async () => {
    const { is } = await evidence();
    expect(await is.laneState(LANE, await is.header(5n))).toEqual({ nonce: 2, balanceWei: 995n });
  });
});

describe('a transaction that the books do not name', () => {
  const lost = { lane: LANE, gaps: [gap(0), gap(1), gap(2)], assets: [ASSET] };
  const hashes = new Map([0, 1, 2].map((nonce) => [nonce, hash32(1000 + nonce)]));

  it('is found by the state of past blocks', async () => {
    const { is } = await evidence();
    expect(await is.find(lost)).toEqual(hashes);
  });

  it('is found by logs where the state is gone, as far as it left some', async () => {
    const { is, nodes } = await evidence();
    all(nodes, 'eth_getTransactionCount');
    const far = lost.gaps.map(({ nonce }) => gap(nonce, 1n, 900n));
    const found = await is.find({ ...lost, gaps: far });
    expect([...found.keys()].sort()).toEqual([0, 1]);
    // Not by what a stranger sent.
    expect(found.get(9)).toBeUndefined();
  });

  it('is found in the blocks where they are few', async () => {
    const { is, nodes } = await evidence();
    all(nodes, 'eth_getTransactionCount');
    all(nodes, 'eth_getLogs');
    expect(await is.find(lost)).toEqual(hashes);
    const far = { ...lost, gaps: [gap(0, 1n, 900n)] };
    expect(await is.find(far)).toEqual(new Map());
  });

  it('is found by the second endpoint where the first one knows nothing', async () => {
    const { is, nodes } = await evidence();
    const [first] = nodes;
    if (first !== undefined) first.lie = () => failure('pruned');
    expect(await is.find(lost)).toEqual(hashes);
  });
});
