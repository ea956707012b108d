import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import {
  addressOf,
  aRecordedPayment,
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
  SILENT,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { TestClock } from '../../../test/builders/platform/concurrency/clock.js';
import { MemorySettlementHistory } from '../../../test/twins/history/reconciliation/memory-settlement-history.js';
import { ChainEvidence } from './chain-evidence.js';
import { Reconciler, type ReconcilerParts, type ReconcilerTask } from './reconciler.js';
import type { RecordedSettlement } from './records.js';
import type { Checkpoint } from './settlement-history.js';

/** Sleeping takes no time but its own. */
class HastyClock extends TestClock {
  slept = 0;
  constructor(private readonly at: number) {
    super();
  }
  override now(): number {
    return this.at + this.slept;
  }
  override sleep(ms: number): Promise<void> {
    this.slept += ms;
    return Promise.resolve();
  }
}

const START_S = 1_700_000_000;
const FEE = 50_000n;
const WINDOW = { fromMs: START_S * 1000, toMs: (START_S + 1000) * 1000 };
const TASK: ReconcilerTask = { startedBy: 'command', window: WINDOW };
const payerOf = (nonce: number): Address => addressOf(String(nonce));
const hashOfNonce = (nonce: number) => hash32(1000 + nonce);

/** A payment in a transaction of the lane, and its row. */
const paid = (nonce: number): FakeTransaction => ({
  hash: hashOfNonce(nonce),
  to: ASSET,
  input: '0x',
  from: LANE,
  nonce,
  logs: [aUse(0, { payer: payerOf(nonce) }), aTransfer(1, { payer: payerOf(nonce) })],
});

describe('a run of reconciliation', () => {
  let truth: FakeChain;
  let nodes: readonly FakeNode[];
  let evidence: ChainEvidence;
  let books: MemorySettlementHistory;
  let clock: HastyClock;
  let lanes: readonly Address[] | undefined;

  const row = (nonce: number, block: number, more: Partial<RecordedSettlement> = {}) =>
    aRecordedPayment({
      id: String(nonce),
      payer: payerOf(nonce),
      transaction: hashOfNonce(nonce),
      transactions: [hashOfNonce(nonce)],
      blockNumber: BigInt(block),
      blockHash: truth.blockHash(block),
      ...more,
    });
  const run = async (task: Partial<ReconcilerTask> = {}, more: Partial<ReconcilerParts> = {}) =>
    new Reconciler(
      { evidence, history: books, clock, ledgerLanes: lanes, topUpMostWei: 0n, ...more },
      { ...TASK, ...task },
    ).run();
  const names = async (task: Partial<ReconcilerTask> = {}) =>
    (await run(task)).findings.map(({ name }) => name);

  /** Twenty blocks, final up to 18, with payments in blocks 3, 5 and 8 by a lane that had 1 coin. */
  beforeEach(async () => {
    truth = new FakeChain(21);
    for (const [nonce, block] of [3, 5, 8].entries()) truth.blocks[block] = [paid(nonce)];
    truth.nonces = (block) => [3, 5, 8].filter((one) => one <= block).length;
    truth.balance = (block) => 10n ** 18n - BigInt(truth.nonces(block)) * FEE;
    truth.timestamp = (block) => START_S + 10 * block;
    const made = await aChain(truth, 2);
    nodes = made.nodes;
    clock = new HastyClock(START_S * 1000 + 10_000_000);
    evidence = new ChainEvidence(made.chain, clock);
    books = new MemorySettlementHistory();
    books.rows = [row(0, 3), row(1, 5), row(2, 8)];
    lanes = [LANE];
  });

  it('finds nothing where everything is right, and says what it has seen', async () => {
    const result = await run();
    expect(result).toMatchObject({
      chainId: 56,
      startedBy: 'command',
      settlements: 3,
      transactions: 3,
      findings: [],
      blocks: { from: 1n, to: 18n, lastHash: truth.blockHash(18) },
    });
    expect(result.lanes).toEqual([
      {
        lane: LANE,
        transactions: 3,
        feesWei: 3n * FEE,
        sentWei: 0n,
        receivedWei: 0n,
        before: { nonce: 0, balanceWei: 10n ** 18n },
        after: { nonce: 3, balanceWei: 10n ** 18n - 3n * FEE },
      },
    ]);
    expect(clock.slept).toBe(0);
  });

  it('finds nothing without the ledger: who sent what is ours is a lane', async () => {
    lanes = undefined;
    expect((await run()).lanes).toHaveLength(1);
    expect(await names()).toEqual([]);
  });

  it('finds nothing in what others did of a channel, which the state of its contract shows', async () => {
    const unnamed = { transaction: undefined, transactions: [], logIndex: undefined };
    const channel = { scheme: 'batch-settlement', method: 'channel-refund' };
    books.rows.push(row(7, 5, { ...unnamed, ...channel, state: 'foreign' }));
    expect(await names()).toEqual([]);
  });

  it.each<[string, () => void, readonly string[]]>([
    ['an amount', () => (books.rows[1] = row(1, 5, { amount: 1n })), ['amount_differs']],
    ['a row that is gone', () => books.rows.splice(1, 1), ['log_without_settlement']],
    [
      'all rows that are gone',
      () => (books.rows = []),
      Array.from({ length: 3 }, () => 'log_without_settlement'),
    ],
    [
      'a row too many',
      () => books.rows.push(row(7, 5, { transaction: hash32(5) })),
      ['settled_without_log'],
    ],
    ['a copy of a row', () => books.rows.push(row(1, 5, { id: 'copy' })), ['log_credited_twice']],
    [
      'a payment without a transaction',
      () => books.rows.push(row(7, 5, { transaction: undefined, transactions: [] })),
      ['settled_without_log'],
    ],
    [
      'a payment that the books call a failure',
      () =>
        (books.rows[1] = row(1, 5, { isPaid: false, state: 'expired', blockNumber: undefined })),
      ['state_differs'],
    ],
  ])('names %s', async (_, tamper, expected) => {
    tamper();
    expect(await names()).toEqual(expected);
  });

  it('judges no transaction by a part of its settlements: one was claimed in the time before', async () => {
    const [first, second] = [paid(0), paid(9)];
    truth.blocks[3] = [{ ...first, logs: [...(first.logs ?? []), ...(second.logs ?? [])] }];
    // The block is of the second in which the time begins.
    const fromMs = (START_S + 31) * 1000;
    books.rows = [
      { ...row(0, 3), claimedAt: fromMs + 1 },
      { ...row(9, 3, { logIndex: 3, transaction: hashOfNonce(0) }), claimedAt: fromMs - 1 },
      ...[row(1, 5), row(2, 8)].map((one) => ({ ...one, claimedAt: fromMs + 5 })),
    ].map((one) => ({ ...one, transactions: [one.transaction ?? hash32(1)] }));
    expect(await names({ window: { ...WINDOW, fromMs } })).toEqual([]);
  });

  it('says once what is wrong with a transaction that several places lead to', async () => {
    const [first, second] = [paid(0), paid(9)];
    truth.blocks[3] = [{ ...first, logs: [...(first.logs ?? []), ...(second.logs ?? [])] }];
    // One that was carried by it, and is in no block: its page leads to the same transaction.
    books.rows.push(
      row(7, 3, {
        isPaid: false,
        state: 'expired',
        transaction: undefined,
        blockNumber: undefined,
      }),
    );
    books.rows = books.rows.map((one) =>
      one.id === '7' ? { ...one, transactions: [hashOfNonce(0)] } : one,
    );
    expect(await names()).toEqual(['log_without_settlement']);
  });

  it('names payments by strangers that the books call ours', async () => {
    lanes = [STRANGER];
    const found = (await names()).filter((name) => name === 'sender_differs');
    expect(found).toHaveLength(3);
  });

  it('asks for nothing where nothing was due', async () => {
    const nothing = { transaction: undefined, transactions: [], blockNumber: undefined };
    books.rows.push(row(7, 5, { ...nothing, amount: 0n }));
    expect(await names()).toEqual([]);
  });

  it('names what a lane sent by hand, and what it was sent', async () => {
    const byHand = { ...paid(3), logs: [aTransfer(0, { payer: LANE, payTo: STRANGER })] };
    truth.blocks[12] = [byHand];
    truth.nonces = (block) => [3, 5, 8, 12].filter((one) => one <= block).length;
    expect((await run()).findings).toMatchObject([
      { name: 'log_without_settlement', transaction: hashOfNonce(3), lane: LANE },
    ]);
    const before = truth.balance;
    truth.balance = (block) => before(block) + (block > 6 ? 77n : 0n);
    expect((await run()).findings).toMatchObject([
      { name: 'log_without_settlement' },
      { name: 'lane_funded', found: '77 wei' },
    ]);
    truth.balance = (block) => before(block) - (block > 6 ? 77n : 0n);
    expect(await names()).toEqual(['log_without_settlement', 'lane_gas_differs']);
  });

  it('reads what a treasury sent, which no log names, by what the ledger has kept', async () => {
    const hash = hash32(2000);
    const to = addressOf('f');
    lanes = [LANE, to];
    truth.blocks[12] = [{ hash, to, input: '0x', from: LANE, nonce: 3, value: 9n, logs: [] }];
    truth.nonces = (block) => [3, 5, 8, 12].filter((one) => one <= block).length;
    // Nodes that have forgotten the state of old blocks: nothing else leads to it.
    evidence.find = () => Promise.resolve(new Map());
    const without = await run();
    expect(without.findings.map(({ name }) => name)).toContain('not_checked');
    const refills = new Map([[LANE, new Map([[3, [hash32(1), hash]]])]]);
    const { findings } = await run({}, { refills });
    const ofTreasury = findings.filter(({ lane }) => lane === LANE);
    expect(ofTreasury.map(({ name }) => name)).not.toContain('not_checked');
    expect(ofTreasury).toContainEqual({
      name: 'lane_refilled',
      lane: LANE,
      transaction: hash,
      blockNumber: 12n,
      found: '9 wei',
    });
  });

  it('is not content with nonces that it cannot explain', async () => {
    truth.nonces = (block) => (block < 3 ? 0 : 5);
    const found = await run();
    expect(found.findings).toMatchObject([
      { name: 'not_checked', lane: LANE, expected: 'account nonce 3 to 4' },
    ]);
    expect(found.lanes[0]?.receivedWei).toBeUndefined();
  });

  it('says not checked where the endpoints do not agree, or are silent', async () => {
    const [, second] = nodes;
    if (second === undefined) throw new Error('there are two');
    second.lie = (method) => (method === 'eth_getTransactionReceipt' ? failure() : undefined);
    expect(new Set(await names())).toEqual(new Set(['not_checked']));
    second.lie = (method) => (method === 'eth_getBalance' ? failure() : undefined);
    expect((await run()).findings).toMatchObject([{ name: 'not_checked', lane: LANE }]);
    for (const node of nodes) node.lie = () => SILENT;
    const { findings, blocks, settlements } = await run();
    expect(findings).toEqual([{ name: 'not_checked', expected: 'the blocks of the window' }]);
    expect([blocks, settlements]).toEqual([undefined, 0]);
  });

  it('looks again at what may still be on its way, before it calls it wrong', async () => {
    clock = new HastyClock((START_S + 200) * 1000);
    const late = books.rows.pop();
    books.onRead = () => {
      if (clock.slept > 3000 && late !== undefined && !books.rows.includes(late)) {
        books.rows.push(late);
      }
    };
    expect(await names()).toEqual([]);
    expect(clock.slept).toBeGreaterThan(3000);
  });

  it('waits longer for an archive that is behind, whatever else is wrong meanwhile', async () => {
    clock = new HastyClock((START_S + 200) * 1000);
    const late = books.rows.pop();
    const archiveLagMs = () => Promise.resolve(clock.slept < 40_000 ? 5000 : 0);
    books.onRead = () => {
      if (clock.slept >= 40_000 && late !== undefined && !books.rows.includes(late)) {
        books.rows.push(late);
      }
    };
    expect((await run({}, { archiveLagMs })).findings).toEqual([]);
    books.rows[1] = row(1, 5, { amount: 1n });
    const { findings } = await run({}, { archiveLagMs: () => Promise.resolve(5000) });
    expect(findings.map(({ name }) => name)).toEqual(['amount_differs']);
  });

  it('does not look again for ever', async () => {
    clock = new HastyClock((START_S + 200) * 1000);
    books.rows[1] = row(1, 5, { amount: 1n });
    expect(await names()).toEqual(['amount_differs']);
    expect(clock.slept).toBeLessThan(60_000);
  });

  it('looks at the blocks of its time alone', async () => {
    const window = { fromMs: (START_S + 40) * 1000, toMs: (START_S + 80) * 1000 };
    expect(await run({ window })).toMatchObject({
      blocks: { from: 4n, to: 7n },
      settlements: 1,
      findings: [],
      lanes: [{ transactions: 1, before: { nonce: 1 }, after: { nonce: 2 } }],
    });
    const nothing = { fromMs: WINDOW.toMs, toMs: WINDOW.toMs + 1000 };
    expect(await run({ window: nothing })).toMatchObject({ settlements: 0, findings: [] });
  });

  it('goes on where another run ended, without the state of that time', async () => {
    for (const node of nodes) {
      node.lie = (method, [, at]) =>
        method === 'eth_getBalance' && JSON.stringify(at).includes(truth.blockHash(4))
          ? failure('pruned')
          : undefined;
    }
    const window = { fromMs: (START_S + 50) * 1000, toMs: WINDOW.toMs };
    expect(await names({ window })).toEqual(['not_checked']);
    const resume: Checkpoint = {
      lastBlock: 4n,
      lastHash: truth.blockHash(4),
      toMs: window.fromMs,
      lanes: new Map([[LANE, { nonce: 1, balanceWei: 10n ** 18n - FEE }]]),
    };
    expect(await run({ window, resume })).toMatchObject({
      blocks: { from: 5n, to: 18n },
      findings: [],
      settlements: 2,
    });
    expect(await names({ window, resume: { ...resume, lastHash: hash32(1) } })).toEqual([
      'not_checked',
    ]);
  });

  it('reads in pages of whole blocks', async () => {
    const many = Array.from({ length: 600 }, (_, index) => ({
      ...paid(3 + index),
      logs: [aTransfer(0, { payer: STRANGER })],
    }));
    truth.blocks[12] = many;
    truth.nonces = (block) =>
      [3, 5, 8].filter((one) => one <= block).length + (block < 12 ? 0 : 600);
    for (let nonce = 3; nonce < 603; nonce += 1) {
      books.rows.push(row(nonce, 12, { payer: STRANGER, logIndex: 0, method: 'permit2' }));
    }
    expect(await run()).toMatchObject({ settlements: 603, transactions: 603, findings: [] });
  });

  it('ends on request', async () => {
    const abort = new AbortController();
    abort.abort(new Error('another process has taken over'));
    await expect(run({}, { signal: abort.signal })).rejects.toThrow('taken over');
  });
});
