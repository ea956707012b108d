import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import {
  aChain,
  failure,
  FakeChain,
  type FakeNode,
  type FakeTransaction,
  hash32,
  paymentLogs,
  result,
  transferLog,
} from '../../../../test/builders/platform/chain/fake-chain.js';
import {
  anAcceptedPayment,
  aPermit2Authorization,
} from '../../../../test/builders/protocol/payment/accepted-payment.js';
import { uintWord } from '../../../protocol/evm/abi-words.js';
import { batchCallOf, callOf } from '../../../protocol/payment/payment-facts.js';
import type { AuthorizationRef } from '../../../protocol/schemes/authorization-method.js';
import { refOf } from '../authorization-use.js';

const eip3009 = anAcceptedPayment();
const permit2 = anAcceptedPayment({ authorization: aPermit2Authorization() });
const word = (value: bigint): Hex => `0x${uintWord(value)}`;

function transactionOf(
  payment: typeof eip3009,
  hash: bigint,
  logs: FakeTransaction['logs'] = [],
): FakeTransaction {
  const { to, data } = callOf(payment);
  return { hash: hash32(hash), to, input: data, logs };
}

/** The state of the authorization: used from a block on. */
function usedFrom(truth: FakeChain, ref: AuthorizationRef, block: number): void {
  const bit = ref.method === 'eip3009' ? 1n : 1n << (ref.nonce & 0xffn);
  truth.call = (at) => word(at >= block ? bit : 0n);
}

const noLogs =
  (...more: string[]): FakeNode['lie'] =>
  (method) =>
    method === 'eth_getLogs' || more.includes(method)
      ? failure('method not found', -32_601)
      : undefined;

describe.each([
  ['EIP-3009', eip3009, paymentLogs(refOf(eip3009))],
  ['Permit2', permit2, [transferLog(refOf(permit2))]],
])('who used a payment by %s', (_, payment, logs) => {
  const ref = refOf(payment);
  const copy = transactionOf(payment, 1n, logs);

  function aTruth(): FakeChain {
    const truth = new FakeChain(20);
    truth.mine({ hash: hash32(7), to: hash32(3).slice(0, 42) as Hex, input: '0x' }, copy);
    usedFrom(truth, ref, truth.head);
    for (let blocks = 0; blocks < 5; blocks += 1) truth.mine();
    return truth;
  }
  const range = { from: 10n, to: 25n };
  const found = {
    kind: 'found',
    use: { transaction: copy.hash, blockNumber: 20n, blockHash: hash32(20n + 2n ** 128n) },
  };

  it.each([1, 2])('is found by logs, with %i endpoints', async (count) => {
    const { chain } = await aChain(aTruth(), count);
    expect(await chain.uses.find(ref, range)).toMatchObject(found);
  });

  it.each([
    ['receipts of blocks', []],
    ['single receipts', ['eth_getBlockReceipts']],
    ['blocks alone, where there is no state either', ['eth_getBlockReceipts', 'eth_call']],
  ])('is found without logs by %s', async (_name, more) => {
    const { chain, nodes } = await aChain(aTruth(), 2);
    for (const node of nodes) node.lie = noLogs(...more);
    await chain.probe();
    expect(await chain.uses.find(ref, range, 'lane')).toMatchObject(found);
  });

  it('is not said to be absent when neither logs nor blocks can be had', async () => {
    const { chain, nodes } = await aChain(aTruth(), 1);
    for (const node of nodes) {
      node.lie = (method, [, isFull]) =>
        method === 'eth_getBlockByNumber' && isFull === true
          ? failure('no')
          : noLogs('eth_getBlockReceipts', 'eth_call')(method, []);
    }
    await chain.probe();
    const outcome = await chain.uses.find(ref, range, 'lane').catch((error: unknown) => error);
    expect(outcome).not.toMatchObject({ readFrom: 10n });
  });

  it('differs from a use before the range', async () => {
    const { chain } = await aChain(aTruth(), 2);
    const later = { from: 21n, to: 25n };
    expect(await chain.uses.find(ref, later)).toEqual({ kind: 'not_found', readFrom: 21n });
  });

  it('is found although one node hides its logs', async () => {
    const { chain, nodes } = await aChain(aTruth(), 2);
    if (nodes[0] !== undefined) {
      nodes[0].lie = (method) => (method === 'eth_getLogs' ? result([]) : undefined);
    }
    expect(await chain.uses.find(ref, range, 'lane')).toMatchObject(found);
  });

  it('is not believed of one node that invents the receipt', async () => {
    const truth = aTruth();
    const { chain, nodes } = await aChain(truth, 2);
    if (nodes[1] !== undefined) {
      nodes[1].lie = (method) =>
        method === 'eth_getTransactionReceipt'
          ? result({ ...(truth.receipt(copy.hash) as object), status: '0x0', logs: [] })
          : undefined;
    }
    await expect(chain.uses.find(ref, range)).rejects.toThrow();
  });

  it.each([0, 1])(
    'is not believed in another block than it is in (liar is endpoint %i)',
    async (liar) => {
      const truth = aTruth();
      const { chain, nodes } = await aChain(truth, 2);
      const [node] = [nodes[liar]];
      if (node === undefined) throw new Error('a node');
      const receipt = { ...(truth.receipt(copy.hash) as object), blockNumber: '0xb' };
      node.lie = (method) => (method === 'eth_getTransactionReceipt' ? result(receipt) : undefined);
      await expect(chain.uses.find(ref, range)).rejects.toThrow();
    },
  );

  it('is not believed of a block that was not asked for, and may not be final', async () => {
    const truth = aTruth();
    const { chain, nodes } = await aChain(truth, 2);
    const [liar] = nodes;
    if (liar === undefined) throw new Error('a node');
    const asked = { from: 5n, to: 15n };
    liar.lie = (method) =>
      method === 'eth_getLogs' ? result(truth.logs(0, 25, [null])) : undefined;
    await expect(chain.uses.find(ref, asked)).rejects.toThrow();
  });

  it('is searched for once by all who ask at the same time', async () => {
    const { chain, nodes } = await aChain(aTruth(), 1);
    const before = nodes[0]?.asked.length ?? 0;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => chain.uses.find(ref, range)),
    );
    expect(answers.every(({ kind }) => kind === 'found')).toBe(true);
    await chain.uses.find(ref, range);
    expect((nodes[0]?.asked.length ?? 0) - before).toBeLessThan(8);
  });
});

describe('a search', () => {
  const ref = refOf(permit2);

  it('among thousands of transfers from payer to payee asks for some transactions only', async () => {
    const truth = new FakeChain(20);
    const plain = (hash: bigint): FakeTransaction => ({
      hash: hash32(hash),
      to: permit2.asset,
      input: '0xa9059cbb',
      logs: [transferLog(ref)],
    });
    for (let block = 0n; block < 100n; block += 1n) {
      truth.mine(
        ...Array.from({ length: 30 }, (_, place) => plain(1000n + block * 30n + BigInt(place))),
      );
    }
    truth.mine(plain(5n), transactionOf(permit2, 1n, [transferLog(ref)]));
    const used = truth.head;
    usedFrom(truth, ref, used);
    for (let block = 0n; block < 50n; block += 1n) truth.mine(plain(9000n + block));
    const { chain, nodes } = await aChain(truth, 1);
    const before = nodes[0]?.asked.length ?? 0;
    const range = { from: 0n, to: BigInt(truth.head) };
    expect(await chain.uses.find(ref, range)).toMatchObject({
      kind: 'found',
      use: { transaction: hash32(1), blockNumber: BigInt(used), logIndex: 0 },
    });
    expect((nodes[0]?.asked.length ?? 0) - before).toBeLessThan(30);
  });

  describe('finds who used it, and not who presented it in vain', () => {
    const own = transactionOf(permit2, 1n, [transferLog(ref)]);
    const like = anAcceptedPayment({ authorization: aPermit2Authorization({ nonce: 99n }) });
    const { to, data } = batchCallOf([permit2, like], undefined);
    // It had too little gas for the first, and paid the second.
    const vain = { hash: hash32(2), to, input: data, logs: [transferLog(ref)] };

    it.each<[string, readonly FakeTransaction[][], boolean]>([
      ['in a later block', [[own], [vain]], false],
      ['later in the same block', [[own, vain]], false],
      ['earlier in the same block', [[vain, own]], false],
      ['in an earlier block whose state is not to be had', [[vain], [own]], true],
    ])('%s', async (_, blocks, isStateless) => {
      const truth = new FakeChain(20);
      for (const transactions of blocks) truth.mine(...transactions);
      usedFrom(truth, ref, 20);
      const { chain, nodes } = await aChain(truth, 1);
      const [node] = nodes;
      if (isStateless && node !== undefined)
        node.lie = (method) => (method === 'eth_call' ? failure() : undefined);
      const range = { from: 10n, to: BigInt(truth.head) };
      expect(await chain.uses.find(ref, range)).toMatchObject({
        kind: 'found',
        use: { transaction: hash32(1) },
      });
    });

    it('at a node without logs', async () => {
      const truth = new FakeChain(20);
      truth.mine(vain, own);
      usedFrom(truth, ref, 20);
      const { chain, nodes } = await aChain(truth, 1);
      if (nodes[0] !== undefined) nodes[0].lie = noLogs();
      const range = { from: 10n, to: BigInt(truth.head) };
      expect(await chain.uses.find(ref, range)).toMatchObject({
        kind: 'found',
        use: { transaction: hash32(1) },
      });
    });

    it('and none where two may have', async () => {
      const truth = new FakeChain(20);
      truth.mine(own, { ...own, hash: hash32(3) });
      usedFrom(truth, ref, 20);
      const { chain } = await aChain(truth, 1);
      const range = { from: 10n, to: BigInt(truth.head) };
      expect(await chain.uses.find(ref, range)).toMatchObject({ kind: 'not_found' });
    });
  });

  it('that costs too much ends without an answer, and says so', async () => {
    const truth = new FakeChain(1000);
    usedFrom(truth, ref, 1);
    const { chain, nodes } = await aChain(truth, 1);
    if (nodes[0] !== undefined) nodes[0].lie = noLogs('eth_call');
    await chain.probe();
    const before = nodes[0]?.asked.length ?? 0;
    const outcome = await chain.uses.find(ref, { from: 0n, to: 999n });
    expect(outcome).toMatchObject({ kind: 'not_found' });
    expect(outcome).not.toMatchObject({ readFrom: 0n });
    expect((nodes[0]?.asked.length ?? 0) - before).toBeLessThan(80);
  });

  it('does not keep a lane waiting, which is called when it has ended', async () => {
    const truth = new FakeChain(20);
    truth.mine(transactionOf(permit2, 1n, [transferLog(ref)]));
    usedFrom(truth, ref, 20);
    const { chain } = await aChain(truth, 1);
    const range = { from: 10n, to: 20n };
    await new Promise<void>((resolve) => {
      expect(chain.uses.look(ref, range, resolve)).toBe('searching');
    });
    expect(chain.uses.look(ref, range, () => undefined)).toMatchObject({ kind: 'found' });
  });

  it('of strangers leaves room for lanes', async () => {
    const truth = new FakeChain(20);
    truth.mine(transactionOf(permit2, 1n, [transferLog(ref)]));
    usedFrom(truth, ref, 20);
    const { chain, nodes } = await aChain(truth, 1);
    const range = { from: 10n, to: 20n };
    const stuck = new Promise<never>(() => undefined);
    const node = nodes[0];
    if (node === undefined) throw new Error('a node');
    const ask = node.request.bind(node);
    node.request = () => stuck;
    const strangers = Array.from({ length: 80 }, (_, index) =>
      chain.uses.find({ ...ref, nonce: BigInt(index) + 1000n }, range),
    );
    // The queue is full: the last ones get the answer that nothing is known.
    expect(await strangers.at(-1)).toEqual({ kind: 'not_found', readFrom: undefined });
    node.request = ask;
    expect(await chain.uses.find(ref, range, 'lane')).toMatchObject({ kind: 'found' });
  });
});
