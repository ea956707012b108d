import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import { aChain, FakeChain, hash32 } from '../../test/builders/platform/chain/fake-chain.js';
import { anAcceptedPayment } from '../../test/builders/protocol/payment/accepted-payment.js';
import {
  anAcceptedNote,
  anAcceptedQuietNote,
  collectedLogs,
  COLLECTOR,
  PAYEE,
  UNTIL,
} from '../../test/builders/protocol/schemes/toy-payment.js';
import { TILL, TOY_SCHEME } from '../../test/builders/protocol/schemes/toy-scheme.js';
import { MemoryLaneStore } from '../../test/twins/settlement/ledger/memory-lane-store.js';
import { refOf } from '../platform/chain/authorization-use.js';
import { readBlockHeader } from '../platform/chain/block.js';
import type { EvmChain } from '../platform/chain/evm-chain.js';
import type { UseOutcome } from '../platform/chain/use-search/use-search.js';
import { uintWord } from '../protocol/evm/abi-words.js';
import type { Sender } from '../protocol/evm/chain-reader.js';
import { type AcceptedPayment, assetNameOf } from '../protocol/payment/accepted-payment.js';
import { callOf, isExpiredAt } from '../protocol/payment/payment-facts.js';
import { registerScheme } from '../protocol/schemes/registry.js';
import { ChainOutcomeResolver } from './lanes/following/chain-outcome-resolver.js';
import { ChainReceiptReader } from './lanes/following/chain-receipt-reader.js';
import { ChainBatchSimulator } from './lanes/sending/chain-batch-simulator.js';
import { MeasuredGasEstimates } from './lanes/sending/gas-estimates.js';
import { AssetSuspension } from './lanes/sending/suspensions.js';
import { inclusionChanges, TrackedAttempt } from './lanes/state/tracked-attempt.js';
import { paymentFields, readDetails } from './ledger/record.js';
import { expiryLua } from './ledger/script-files.js';
import { gasBoundOf, groupForSending, type Sendable } from './model/grouping.js';

const MAX_GAS = 300_000n;
const sender: Sender = { address: COLLECTOR, gasPriceWei: 5n, balanceWei: 7n };

/** The engine, with a settlement of a scheme that answers none of its questions as those that are served. */
describe('a settlement of another scheme', () => {
  beforeAll(() => {
    registerScheme(TOY_SCHEME);
  });

  it('is stored with its name, and read again', () => {
    const written = paymentFields(anAcceptedNote, { termsTag: 't', signedTag: 's', arrivedAt: 5 });
    const fields = new Map<string, string>();
    for (let i = 0; i < written.length; i += 2) fields.set(written[i] ?? '', written[i + 1] ?? '');
    expect(Object.fromEntries(fields)).toMatchObject({ scheme: 'toy', nonce: '7', kind: 'p' });
    expect(readDetails(fields, fields)).toMatchObject({ scheme: 'toy', method: 'note' });
    const exact = paymentFields(anAcceptedPayment(), {
      termsTag: 't',
      signedTag: 's',
      arrivedAt: 5,
    });
    expect(exact).not.toContain('scheme');
  });

  it('shares no transaction where it says so', () => {
    const item = (id: string, payment: AcceptedPayment): Sendable => {
      return { id, payment, goesAlone: false };
    };
    const others = [anAcceptedPayment(), anAcceptedPayment()];
    const ready = [
      item('toy', anAcceptedNote),
      item('toy 2', anAcceptedNote),
      ...others.map((payment, index) => item(`exact ${index}`, payment)),
    ];
    const safeAssets = new Set([anAcceptedNote, ...others].map(assetNameOf));
    const rules = { maxItems: 9, safeAssets, optOut: new Set<Address>(), maxGas: gasBoundOf(0n) };
    const { batches, singles } = groupForSending(ready, rules, () => 1n);
    expect(batches.map((batch) => batch.map(({ id }) => id))).toEqual([['exact 0', 'exact 1']]);
    expect(singles.map(({ id }) => id)).toEqual(['toy', 'toy 2']);
  });

  it('is simulated under its own cap of gas, and explains its own failure', async () => {
    const gas: bigint[] = [];
    let revertData: Hex = '0x01';
    const view = {
      isIsolated: () => false,
      isTrusted: () => false,
      call: () => Promise.resolve({ status: 'returned', data: `0x${uintWord(0)}` }),
      prove: (settlement: { gas: bigint; payTo: Address }) => {
        gas.push(settlement.gas);
        return Promise.resolve({ status: 'reverted', data: revertData });
      },
    };
    const chain = {
      verifyByTwo: async (look: (from: unknown) => Promise<unknown>) => ({
        value: await look(view),
        newestBlock: 1n,
      }),
    } as unknown as EvmChain;
    const estimates = new MeasuredGasEstimates(MAX_GAS);
    const simulator = new ChainBatchSimulator(chain, estimates, new AssetSuspension(), {
      walletFactories: new Set<Address>(),
      maxGas: MAX_GAS,
      onDecided: () => undefined,
      onError: () => undefined,
    });
    const rules = { maxItems: 9, safeAssets: new Set<string>(), optOut: new Set<Address>() };
    const preflight = async () => {
      const ready = [{ id: 'a', payment: anAcceptedNote, goesAlone: false }];
      const [checked] = await simulator.preflight(ready, { ...rules, maxGas: 1n }, sender);
      return checked?.refusals.map(({ reason }) => reason);
    };
    expect(await preflight()).toEqual(['payee_not_allowed']);
    revertData = '0x02';
    expect(await preflight()).toEqual(['no_gas']);
    expect(gas).toEqual([MAX_GAS * 3n, MAX_GAS * 3n]);
    expect(estimates.note(anAcceptedNote, MAX_GAS * 2n)).toBe((MAX_GAS * 2n * 6n) / 5n);
    expect(estimates.note(anAcceptedPayment(), MAX_GAS * 2n)).toBeUndefined();
  });

  it('is found on the chain by its calldata and its event', async () => {
    const call = callOf(anAcceptedNote);
    const truth = new FakeChain(6);
    const ref = refOf(anAcceptedNote);
    expect(ref).toMatchObject({ payTo: TILL, amount: 900n, nonce: 7n });
    const block = truth.mine({
      hash: hash32(5),
      to: call.to,
      input: call.data,
      logs: collectedLogs(),
    });
    truth.call = (at) => hash32(at >= block ? 1 : 0);
    truth.mine();
    const { chain } = await aChain(truth, 2);
    const range = { from: 1n, to: BigInt(truth.head) };
    const blockHash = truth.blockHash(block);
    expect(await chain.uses.find(ref, range)).toEqual({
      kind: 'found',
      use: {
        transaction: hash32(5),
        blockNumber: BigInt(block),
        blockHash,
        logIndex: 1,
        moved: { payTo: TILL, amount: 900n, logIndex: 1 },
      },
    });
    await chain.close();
  });

  it('is paid by the state of its block, where no log shows it', async () => {
    const truth = new FakeChain(4);
    const { to, data: input } = callOf(anAcceptedQuietNote);
    const [first, second, third] = [hash32(1), hash32(2), hash32(3)];
    truth.mine({ hash: first, to, input, logs: [] });
    const done = truth.mine({ hash: second, to, input, logs: [] });
    truth.mine({ hash: third, to, input: '0x', logs: [] });
    truth.call = (at) => hash32(at >= done ? 1 : 0);
    const { chain } = await aChain(truth, 2);
    const [view] = chain.views();
    const latest = readBlockHeader(truth.header(truth.head));
    if (view === undefined || latest === undefined) throw new Error('no head');
    const reader = new ChainReceiptReader(chain, COLLECTOR);
    const inclusionOf = async (hash: Hex, isNoop = false) => {
      const transaction = { hash, raw: '0x', gas: 1n, signedAt: 0, isNoop } as const;
      const fees = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n };
      const tracked = new TrackedAttempt({
        attempt: {
          accountNonce: 0,
          kind: 'single',
          settlementIds: ['a'],
          allocatedAtBlock: 0n,
          transactions: [{ ...transaction, ...fees }],
        },
        payments: new Map([['a', anAcceptedQuietNote]]),
        atBlock: 0n,
        nowMs: 0,
      });
      const seen = (await reader.look({ view, latest }, [tracked])).included.get(tracked);
      return seen && reader.confirm(view, tracked, seen);
    };
    const unpaid = await inclusionOf(first);
    const paid = await inclusionOf(second);
    expect([...(unpaid?.credited ?? [['none']])]).toEqual([]);
    expect([...(paid?.credited ?? [])]).toEqual([['a', undefined]]);
    // It was done before, by another sender: a transaction that uses the nonce up has not done it.
    const cancelled = await inclusionOf(third, true);
    expect([...(cancelled?.credited ?? [['none']])]).toEqual([]);
    const ofLedger = { payments: new Map([['a', anAcceptedQuietNote]]), stored: new Map() };
    const include = [{ id: 'a', logIndex: undefined }];
    expect(inclusionChanges(ofLedger, paid)).toEqual({ uninclude: [], include });
    expect(inclusionChanges(ofLedger, unpaid)).toEqual({ uninclude: [], include: [] });
    await chain.close();
  });

  it('is done where a stranger has done it, and expires with its own reason', async () => {
    let isUsed = 1;
    const view = {
      chainId: 56,
      transaction: () => Promise.resolve({ from: PAYEE }),
      call: () => Promise.resolve({ status: 'returned', data: `0x${uintWord(isUsed)}` }),
    };
    // Used before the broadcast, and without a transfer: for `exact` that would be a foreign use.
    const use = {
      transaction: hash32(5),
      blockNumber: 3n,
      blockHash: hash32(3),
      logIndex: undefined,
    };
    const found: UseOutcome = { kind: 'found', use };
    const chain = {
      chainId: 56,
      uses: { look: () => found },
      quorumRead: async ({ read }: { read: (from: unknown) => Promise<{ value: unknown }> }) =>
        (await read(view)).value,
      withView: (work: (from: unknown) => unknown) => work(view),
    } as unknown as EvmChain;
    const resolver = new ChainOutcomeResolver({
      chain,
      endings: new MemoryLaneStore(() => 0).endings,
      maxGas: MAX_GAS,
      onSearched: () => undefined,
      isOwnSigner: () => Promise.resolve(false),
    });
    const finalized = { number: 20n, hash: hash32(20), timestamp: UNTIL };
    const block = { ...finalized, baseFeePerGas: 0n, gasLimit: 0n };
    const sent = { sinceBlock: 10n, hashes: [hash32(1)] };
    const ending = async (payment: AcceptedPayment, timestamp = UNTIL) => {
      const verdict = await resolver.resolveAgain('a', payment, sent, { ...block, timestamp });
      return verdict.kind === 'ended' ? verdict.ending : verdict.kind;
    };
    expect(await ending(anAcceptedNote)).toMatchObject({ state: 'foreign', isPaid: true });
    expect(await ending(anAcceptedPayment())).toMatchObject({ state: 'foreign', isPaid: false });
    expect(await ending(anAcceptedQuietNote)).toEqual({ id: 'a', state: 'foreign', isPaid: true });
    isUsed = 0;
    expect(isExpiredAt(anAcceptedNote, UNTIL)).toBe(false);
    expect(await ending(anAcceptedNote)).toBe('requeue');
    expect(await ending(anAcceptedNote, UNTIL + 1)).toMatchObject({
      state: 'expired',
      reason: 'settlement_not_sent',
    });
    expect(expiryLua()).toContain("['toy note'] = 'settlement_not_sent'");
  });
});
