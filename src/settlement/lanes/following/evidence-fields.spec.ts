import { describe, expect, it } from '@jest/globals';
import {
  aChain,
  FakeChain,
  type FakeNode,
  hash32,
  paymentLogs,
  result,
  SILENT,
} from '../../../../test/builders/platform/chain/fake-chain.js';
import { anAcceptedPayment } from '../../../../test/builders/protocol/payment/accepted-payment.js';
import { refOf } from '../../../platform/chain/authorization-use.js';
import { readBlockHeader } from '../../../platform/chain/block.js';
import type { ChainObserver } from '../../../platform/chain/chain-observer.js';
import type { BlockState } from '../ports.js';
import type { TrackedAttempt } from '../state/tracked-attempt.js';
import { ChainReceiptReader } from './chain-receipt-reader.js';

const SIGNER = '0x5555555555555555555555555555555555555555';
const HASH = hash32(1);
const MINED = 20;
const payment = anAcceptedPayment();
const tracked = {
  accountNonce: 4,
  attempt: { accountNonce: 4, transactions: [{ hash: HASH }] },
  items: [{ id: 'a', payment }],
} as unknown as TrackedAttempt;

type Fields = Readonly<Record<string, unknown>>;
type Lie = FakeNode['lie'];

async function world(
  count: number,
  endpointsDisagree: ChainObserver['endpointsDisagree'] = () => undefined,
) {
  const none = (): undefined => undefined;
  const observer = {
    endpointChanged: none,
    contractFound: none,
    endpointsDisagree,
    endpointsAgree: none,
  };
  const truth = new FakeChain(MINED);
  truth.nonces = (block) => (block >= MINED ? 5 : 4);
  truth.mine({ hash: HASH, to: payment.asset, input: '0x', logs: paymentLogs(refOf(payment)) });
  const { chain, nodes } = await aChain(truth, count, { observer });
  return { truth, chain, nodes, reader: new ChainReceiptReader(chain, SIGNER) };
}

function nodeAt(nodes: readonly FakeNode[], index: number): FakeNode {
  const node = nodes[index];
  if (node === undefined) throw new Error('no such node');
  return node;
}

const receiptLie =
  (receipt: unknown): Lie =>
  (method) =>
    method === 'eth_getTransactionReceipt' ? result(receipt) : undefined;
const mute =
  (...methods: readonly string[]): Lie =>
  (method) =>
    methods.includes(method) ? SILENT : undefined;

/** Every field of a receipt that something is decided by later, and a wrong value for it. */
const wrongReceipts: readonly (readonly [field: string, wrong: (truth: FakeChain) => Fields])[] = [
  ['blockHash', (truth) => ({ blockHash: truth.blockHash(MINED - 1) })],
  ['blockNumber, lower', () => ({ blockNumber: '0x1' })],
  ['blockNumber, higher', () => ({ blockNumber: '0xff' })],
  ['status', () => ({ status: '0x0' })],
  ['gasUsed, one', () => ({ gasUsed: '0x1' })],
  ['gasUsed, more than there is', () => ({ gasUsed: '0xffffffff' })],
  ['effectiveGasPrice', () => ({ effectiveGasPrice: '0x0' })],
  ['logs, none', () => ({ logs: [] })],
  ['logs, at another place', (truth) => ({ logs: movedLogs(truth) })],
  ['logs, of another amount', (truth) => ({ logs: changedLogs(truth, { data: hash32(1) }) })],
  ['logs, of another token', (truth) => ({ logs: changedLogs(truth, { address: SIGNER }) })],
  ['logs, taken back', (truth) => ({ logs: changedLogs(truth, { removed: true }) })],
];

function changedLogs(truth: FakeChain, change: Fields): readonly unknown[] {
  const { logs } = truth.receipt(HASH) as { readonly logs: readonly Fields[] };
  return logs.map((log) => ({ ...log, ...change }));
}

function movedLogs(truth: FakeChain): readonly unknown[] {
  const { logs } = truth.receipt(HASH) as { readonly logs: readonly Fields[] };
  return logs.map((log, index) => ({ ...log, logIndex: `0x${(index + 7).toString(16)}` }));
}

describe('a receipt of which one field is wrong', () => {
  /** The ledger's input: the evidence that two endpoints have, seen by the first. */
  async function confirmed(count: number, liar: number, wrong: (truth: FakeChain) => Fields) {
    const { truth, chain, nodes, reader } = await world(count);
    const lie = { ...(truth.receipt(HASH) as object), ...wrong(truth) };
    nodeAt(nodes, liar).lie = receiptLie(lie);
    const [view] = chain.views();
    const latest = readBlockHeader(truth.header(truth.head));
    if (view === undefined || latest === undefined) throw new Error('a chain');
    const { included } = await reader.look({ view, latest }, [tracked]);
    const inclusion = included.get(tracked);
    if (inclusion === undefined) throw new Error('not seen');
    return { truth, inclusion: await reader.confirm(view, tracked, inclusion) };
  }

  it.each(
    wrongReceipts.flatMap(([field, wrong]) => [0, 1].map((liar) => [field, liar, wrong] as const)),
  )('%s: nothing is believed of it (liar is endpoint %i of two)', async (_, liar, wrong) => {
    expect((await confirmed(2, liar, wrong)).inclusion).toBeUndefined();
  });

  it.each(
    wrongReceipts.flatMap(([field, wrong]) =>
      [0, 1, 2].map((liar) => [field, liar, wrong] as const),
    ),
  )('%s: the two others decide (liar is endpoint %i of three)', async (_, liar, wrong) => {
    const { truth, inclusion } = await confirmed(3, liar, wrong);
    expect(inclusion).toMatchObject({
      blockNumber: BigInt(MINED),
      blockHash: truth.blockHash(MINED),
      isSuccess: true,
      gasUsed: 50_000n,
      effectiveGasPrice: 1n,
      credited: new Map([['a', 1]]),
    });
  });

  it('is reported with the name of each field', async () => {
    const said: string[] = [];
    const { truth, chain, nodes, reader } = await world(2, (_, answers) =>
      said.push(...answers.map(({ answer }) => answer)),
    );
    nodeAt(nodes, 1).lie = receiptLie({ ...(truth.receipt(HASH) as object), status: '0x0' });
    const [view] = chain.views();
    const latest = readBlockHeader(truth.header(truth.head));
    if (view === undefined || latest === undefined) throw new Error('a chain');
    const inclusion = (await reader.look({ view, latest }, [tracked])).included.get(tracked);
    expect(inclusion && (await reader.confirm(view, tracked, inclusion))).toBeUndefined();
    const block = `block ${MINED} ${truth.blockHash(MINED)}`;
    expect(said).toEqual([
      `success, ${block}, gas 50000, price 1, paid a:1`,
      `reverted, ${block}, gas 50000, price 1`,
    ]);
  });

  it.each<[string, (node: FakeNode, truth: FakeChain) => void]>([
    ['mute', (node) => (node.lie = mute('eth_getTransactionReceipt'))],
    ['behind', (node) => (node.lag = 1)],
    ['without receipts', (node) => (node.lie = receiptLie(null))],
    ['without a whole one', (node) => (node.lie = receiptLie({ status: '0x1' }))],
    [
      'answering for another transaction',
      (node, truth) =>
        (node.lie = receiptLie({ ...(truth.receipt(HASH) as object), transactionHash: hash32(2) })),
    ],
    [
      'late, with the block of before',
      (node, truth) =>
        (node.lie = receiptLie({
          ...(truth.receipt(HASH) as object),
          blockHash: hash32(98),
          blockNumber: `0x${(MINED - 1).toString(16)}`,
        })),
    ],
  ])('and one whose second endpoint is %s is not believed yet', async (_, prepare) => {
    const { truth, chain, nodes, reader } = await world(2);
    prepare(nodeAt(nodes, 1), truth);
    const [view] = chain.views();
    const latest = readBlockHeader(truth.header(truth.head));
    if (view === undefined || latest === undefined) throw new Error('a chain');
    const inclusion = (await reader.look({ view, latest }, [tracked])).included.get(tracked);
    expect(inclusion && (await reader.confirm(view, tracked, inclusion))).toBeUndefined();
  });

  it('is believed of an endpoint that is ahead, once the other one has it', async () => {
    const { truth, chain, nodes, reader } = await world(2);
    nodeAt(nodes, 1).lag = 1;
    const [view] = chain.views();
    const latest = readBlockHeader(truth.header(truth.head));
    if (view === undefined || latest === undefined) throw new Error('a chain');
    const inclusion = (await reader.look({ view, latest }, [tracked])).included.get(tracked);
    if (inclusion === undefined) throw new Error('not seen');
    expect(await reader.confirm(view, tracked, inclusion)).toBeUndefined();
    truth.mine();
    expect(await reader.confirm(view, tracked, inclusion)).toMatchObject({ isSuccess: true });
  });
});

describe('whether a block that may be final is still there, where', () => {
  const OTHER = hash32(99);
  /** What one endpoint says of the block: as it is, replaced, nothing, or that it has no such block. */
  const says: Readonly<Record<string, (truth: FakeChain) => Lie>> = {
    there: () => () => undefined,
    replaced:
      (truth) =>
      (method, [name]) =>
        method === 'eth_getBlockByNumber' && Number(name) === MINED
          ? result({ ...(truth.header(MINED) as object), hash: OTHER })
          : undefined,
    mute: () => mute('eth_getBlockByNumber'),
    'without a whole one':
      () =>
      (method, [name]) =>
        method === 'eth_getBlockByNumber' && Number(name) === MINED
          ? result({ number: `0x${MINED.toString(16)}` })
          : undefined,
    behind:
      () =>
      (method, [name]) =>
        method === 'eth_getBlockByNumber' && Number(name) === MINED ? result(null) : undefined,
    'wrong of its number':
      (truth) =>
      (method, [name]) =>
        method === 'eth_getBlockByNumber' && Number(name) === MINED
          ? result({ ...(truth.header(MINED) as object), number: '0x1' })
          : undefined,
  };

  const expected = (first: string, second: string): BlockState => {
    if (first === 'there' && second === 'there') return 'there';
    return first === 'replaced' && second === 'replaced' ? 'replaced' : 'unknown';
  };

  const cells = Object.keys(says).flatMap((first) =>
    Object.keys(says).map((second) => [first, second, expected(first, second)] as const),
  );

  async function standing(...sayings: readonly string[]): Promise<BlockState> {
    const { truth, nodes, reader } = await world(sayings.length);
    sayings.forEach((one, index) => {
      nodeAt(nodes, index).lie = says[one]?.(truth) ?? mute();
    });
    truth.mine();
    const finalized = readBlockHeader(truth.header(truth.head));
    if (finalized === undefined) throw new Error('a block');
    return reader.standingOf({ number: BigInt(MINED), hash: truth.blockHash(MINED) }, finalized);
  }

  it.each(cells)('the first says it is %s, the second %s: it is %s', async (first, second, is) => {
    expect(await standing(first, second)).toBe(is);
  });

  it.each<[readonly string[], BlockState]>([
    [['there', 'replaced', 'there'], 'there'],
    [['replaced', 'there', 'there'], 'there'],
    [['replaced', 'there', 'replaced'], 'replaced'],
    [['there', 'mute', 'there'], 'there'],
  ])('three say %j: it is %s', async (sayings, is) => {
    expect(await standing(...sayings)).toBe(is);
  });
});
