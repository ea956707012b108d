import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import { refOf } from '../platform/chain/authorization-use.js';
import type { ChainRegistry } from '../platform/chain/chain-registry.js';
import type { EvmChain } from '../platform/chain/evm-chain.js';
import { aChain, FakeChain, hash32 } from '../platform/chain/fake-chain.builder.js';
import type { UseOutcome } from '../platform/chain/use-search/use-search.js';
import { addressWord, uintWord } from '../protocol/evm/abi-words.js';
import { aggregateCall } from '../protocol/evm/calls.js';
import type { Sender } from '../protocol/evm/chain-reader.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../protocol/evm/contracts.js';
import { type ReceiptLog, TRANSFER_TOPIC } from '../protocol/evm/logs.js';
import { anAcceptedPayment } from '../protocol/payment/accepted-payment.builder.js';
import { type AcceptedPayment, assetNameOf } from '../protocol/payment/accepted-payment.js';
import { decodePayment, encodePayment } from '../protocol/payment/accepted-payment-codec.js';
import { identityOf, termsOf } from '../protocol/payment/identity.js';
import {
  type ParsedPayment,
  parsePayment,
  readEnvelope,
} from '../protocol/payment/parse-payment.js';
import { callOf, isExpiredAt, settlementOf } from '../protocol/payment/payment-facts.js';
import type { Payment } from '../protocol/payment/payment.js';
import { creditLogs } from '../protocol/schemes/credit.js';
import { presentedAuthorizations } from '../protocol/schemes/presented.js';
import { EXACT } from '../protocol/schemes/exact/exact.js';
import { isMethodName, registerScheme } from '../protocol/schemes/registry.js';
import {
  COLLECT_SELECTOR,
  COLLECTED_TOPIC,
  COUNTER,
  NOTE_METHOD,
  type NoteAuthorization,
  TILL,
  TOY_SCHEME,
} from '../protocol/schemes/toy-scheme.builder.js';
import { expiryLua } from '../settlement/ledger/expiry-lua.js';
import { MemoryLaneStore } from '../settlement/ledger/memory/memory-lane-store.js';
import type { LaneBoard, PublishedStatus } from '../settlement/ledger/queries/lane-board.js';
import { paymentFields, readDetails } from '../settlement/ledger/record.js';
import { ChainOutcomeResolver } from '../settlement/lanes/following/chain-outcome-resolver.js';
import { AssetSuspension } from '../settlement/lanes/sending/asset-suspension.js';
import { ChainBatchSimulator } from '../settlement/lanes/sending/chain-batch-simulator.js';
import { LearnedGasEstimates } from '../settlement/lanes/sending/gas-estimates.js';
import { gasBoundOf, groupForSending, type Sendable } from '../settlement/model/grouping.js';
import { SupportedService } from './supported.service.js';
import { LaneSenders } from './verify/lane-senders.js';
import { type Judgement, PaymentVerifier } from './verify/payment-verifier.js';

const PAYER: Address = `0x${'a1'.repeat(20)}`;
const ASSET: Address = `0x${'33'.repeat(20)}`;
const PAYEE: Address = `0x${'22'.repeat(20)}`;
const COLLECTOR: Address = `0x${'0c'.repeat(20)}`;
const SIGNATURE: Hex = `0x${'5e'.repeat(65)}`;
const MAX_GAS = 300_000n;
const UNTIL = 2_000_000_000;

const note = { from: PAYER, collector: COLLECTOR, serial: '7', ceiling: '1000', until: UNTIL };

function parsed(changed: object = {}, version: 1 | 2 = 2, amount = '900'): ParsedPayment {
  const terms = { scheme: 'toy', network: 'eip155:56', amount, asset: ASSET, payTo: PAYEE };
  const envelope = readEnvelope({
    paymentPayload: {
      x402Version: version,
      accepted: terms,
      payload: { signature: SIGNATURE, note: { ...note, ...changed } },
    },
    paymentRequirements: terms,
  });
  if (envelope === undefined) throw new Error('no envelope');
  return parsePayment(envelope, [1, 2], () => true);
}

function aPayment(changed: object = {}, amount?: string): Payment {
  const read = parsed(changed, 2, amount);
  if (!read.ok) throw new Error(read.reason);
  return read.payment;
}

const authorization: NoteAuthorization = {
  ...{ scheme: 'toy', method: NOTE_METHOD, from: PAYER, signature: SIGNATURE },
  ...{ serial: 7n, ceiling: 1000n, collector: COLLECTOR, until: BigInt(UNTIL) },
};
const accepted: AcceptedPayment = {
  ...{ chainId: 56, asset: ASSET, payTo: PAYEE, amount: 900n, authorization },
  ...{ payerHasCode: false, tokenName: undefined, tokenVersion: undefined },
};
const sender: Sender = { address: COLLECTOR, gasPriceWei: 5n, balanceWei: 7n };
const aLane = (signer: Address): PublishedStatus =>
  ({
    ...{ lane: `56:${signer}`, chainId: 56, signer, balanceWei: '7', gasPriceWei: '5' },
    ...{ suspendedAssets: [], silentMs: 100 },
  }) as unknown as PublishedStatus;
const topic = (address: Address): Hex => `0x${addressWord(address)}`;

/** What a collected note leaves: the event of the counter, and the transfer into the till. */
function collectedLogs(serial = 7n, firstIndex = 0): ReceiptLog[] {
  const used: Hex[] = [COLLECTED_TOPIC, topic(PAYER), `0x${uintWord(serial)}`];
  const moved: Hex[] = [TRANSFER_TOPIC, topic(PAYER), topic(TILL)];
  return [
    { address: ASSET, topics: used, data: '0x', logIndex: firstIndex },
    { address: ASSET, topics: moved, data: `0x${uintWord(900)}`, logIndex: firstIndex + 1 },
  ];
}

/** Every question of the engine and of the HTTP API, put to a scheme that answers none of them as exact. */
describe('a scheme that is added to the registry', () => {
  beforeAll(() => {
    expect(parsed()).toMatchObject({ ok: false, reason: 'unsupported_scheme' });
    expect(isMethodName(NOTE_METHOD)).toBe(false);
    registerScheme(TOY_SCHEME);
  });

  it('is registered once, and takes nothing from another one', () => {
    const [action] = TOY_SCHEME.actions;
    if (action === undefined) throw new Error('no action');
    const other = { ...TOY_SCHEME, name: 'other' };
    expect(() => registerScheme(TOY_SCHEME)).toThrow('scheme toy is registered');
    expect(() => registerScheme(other)).toThrow(`selector ${COLLECT_SELECTOR} is taken`);
    const method = { ...action.method };
    expect(() => registerScheme({ ...other, actions: [{ ...action, method }] })).toThrow(
      'transfer method note is another one',
    );
  });

  it('is parsed by itself, in the versions that have it', () => {
    const { claim, payerAsSent } = aPayment();
    const name = { scheme: 'toy', method: NOTE_METHOD };
    expect(claim).toMatchObject({ ...name, from: PAYER, nonce: 7n, ceiling: 1000n });
    expect(payerAsSent).toBe(PAYER);
    expect(parsed({ serial: 'x' })).toMatchObject({ reason: 'invalid_payload' });
    expect(parsed({}, 1)).toMatchObject({
      reason: 'unsupported_scheme',
      correspondent: { payerAsSent: PAYER },
    });
  });

  it('names what the chain executes at most once', () => {
    const identity = identityOf(aPayment());
    expect(identity).toEqual(identityOf(aPayment({ serial: '0x07' })));
    expect(identityOf(aPayment({ serial: '8' }))?.authorizationId).not.toBe(
      identity?.authorizationId,
    );
    const raised = identityOf(aPayment({ ceiling: '2000' }));
    expect(raised?.authorizationId).toBe(identity?.authorizationId);
    expect(raised?.termsTag).not.toBe(identity?.termsTag);
    const { authorizationId, termsTag } = termsOf(56, ASSET, authorization);
    expect(identity).toMatchObject({ authorizationId, termsTag });
  });

  describe('is verified', () => {
    const verifierOf = (signers: readonly Address[], balance = 10_000n) => {
      const asked: Hex[] = [];
      const view = {
        call: ({ data }: { data: Hex }) => {
          asked.push(data);
          return Promise.resolve({ status: 'returned', data: `0x${uintWord(balance)}` });
        },
      };
      const chain = {
        judge: async (judge: (from: unknown) => Promise<unknown>) => ({ value: await judge(view) }),
      };
      const verifier = new PaymentVerifier({ get: () => chain } as unknown as ChainRegistry, {
        recoverSigner: (digest) => Promise.resolve(BigInt(digest) === 7n ? PAYER : undefined),
        maxGas: MAX_GAS,
        admission: {} as ConstructorParameters<typeof PaymentVerifier>[1]['admission'],
        senders: new LaneSenders({ all: () => Promise.resolve(signers.map(aLane)) }),
      });
      const judge = (payment: Payment, balanceNeeded = 0n, allowanceNeeded = 0n) => {
        const inFlight = { balanceNeeded, allowanceNeeded, hasSponsoredPermit: false };
        return verifier.judge(payment, { inFlight, recentReverts: 0 });
      };
      return { judge, asked };
    };
    const short = (judgement: Judgement): string =>
      judgement.isValid ? 'valid' : judgement.reason;

    it('from the only account that may send it, whatever other lanes there are', async () => {
      const others: Address[] = [`0x${'01'.repeat(20)}`, `0x${'02'.repeat(20)}`];
      const judgement = await verifierOf([...others, COLLECTOR]).judge(aPayment());
      expect(judgement).toMatchObject({ isValid: true, authorization });
      expect(short(await verifierOf(others).judge(aPayment()))).toBe('unauthorized');
    });

    it('by its own checks', async () => {
      const { judge } = verifierOf([COLLECTOR]);
      expect(short(await judge(aPayment({ serial: '8' })))).toBe('invalid_payload');
      expect(short(await judge(aPayment({}, '1001')))).toBe('amount_too_small');
    });

    it('against what its payer has in flight, with its own reasons and its own approval', async () => {
      const { judge, asked } = verifierOf([COLLECTOR], 1000n);
      expect(short(await judge(aPayment(), 100n))).toBe('valid');
      expect(short(await judge(aPayment(), 101n))).toBe('amount_too_small');
      expect(short(await judge(aPayment(), 0n, 101n))).toBe('payer_suspended');
      expect(asked.at(-1)).toBe(`0x00000001${addressWord(PAYER)}${addressWord(COUNTER)}`);
    });
  });

  it('is stored with its name, and read again', () => {
    expect(decodePayment(encodePayment(accepted))).toEqual(accepted);
    const written = paymentFields(accepted, { termsTag: 't', signedTag: 's' }, 5);
    const fields = new Map<string, string>();
    for (let i = 0; i < written.length; i += 2) fields.set(written[i] ?? '', written[i + 1] ?? '');
    expect(Object.fromEntries(fields)).toMatchObject({ scheme: 'toy', nonce: '7', kind: 'p' });
    expect(readDetails(fields, fields)).toMatchObject({ scheme: 'toy', method: 'note' });
    const exact = paymentFields(anAcceptedPayment(), { termsTag: 't', signedTag: 's' }, 5);
    expect(exact).not.toContain('scheme');
  });

  it('shares no transaction where it says so', () => {
    const item = (id: string, payment: AcceptedPayment): Sendable => {
      return { id, payment, goesAlone: false };
    };
    const others = [anAcceptedPayment(), anAcceptedPayment()];
    const ready = [
      item('toy', accepted),
      item('toy 2', accepted),
      ...others.map((payment, index) => item(`exact ${index}`, payment)),
    ];
    const safeAssets = new Set([accepted, ...others].map(assetNameOf));
    const rules = { maxItems: 9, safeAssets, optOut: new Set<Address>(), maxGas: gasBoundOf(0n) };
    const { batches, singles } = groupForSending(ready, rules, () => 1n);
    expect(batches.map((batch) => batch.map(({ id }) => id))).toEqual([['exact 0', 'exact 1']]);
    expect(singles.map(({ id }) => id)).toEqual(['toy', 'toy 2']);
  });

  it('builds the call, and says what it moves', () => {
    const { to, data } = callOf(accepted);
    expect(to).toBe(COUNTER);
    expect(data.slice(0, 10)).toBe(`0x${COLLECT_SELECTOR}`);
    expect(data.endsWith(uintWord(900))).toBe(true);
    expect(settlementOf(accepted, sender, 5n)).toEqual({
      ...{ call: { to, data }, sender, gas: 5n },
      ...{ token: ASSET, payer: PAYER, payTo: TILL, amount: 900n },
    });
  });

  it('is simulated under its own cap of gas, and explains its own failure', async () => {
    const gas: bigint[] = [];
    let revertData: Hex = '0x01';
    const view = {
      isKeptApart: () => false,
      isTrusted: () => false,
      call: () => Promise.resolve({ status: 'returned', data: `0x${uintWord(0)}` }),
      prove: (settlement: { gas: bigint; payTo: Address }) => {
        gas.push(settlement.gas);
        return Promise.resolve({ status: 'reverted', data: revertData });
      },
    };
    const chain = {
      judge: async (look: (from: unknown) => Promise<unknown>) => ({
        ...{ value: await look(view), newestBlock: 1n },
      }),
    } as unknown as EvmChain;
    const estimates = new LearnedGasEstimates(MAX_GAS);
    const simulator = new ChainBatchSimulator(chain, estimates, new AssetSuspension(), {
      ...{ maxGas: MAX_GAS, onDecided: () => undefined, onError: () => undefined },
    });
    const rules = { maxItems: 9, safeAssets: new Set<string>(), optOut: new Set<Address>() };
    const recheck = async () => {
      const ready = [{ id: 'a', payment: accepted, goesAlone: false }];
      const [checked] = await simulator.recheck(ready, { ...rules, maxGas: 1n }, sender);
      return checked?.refusals.map(({ reason }) => reason);
    };
    expect(await recheck()).toEqual(['payee_not_allowed']);
    revertData = '0x02';
    expect(await recheck()).toEqual(['no_gas']);
    expect(gas).toEqual([MAX_GAS * 3n, MAX_GAS * 3n]);
    expect(estimates.note(accepted, MAX_GAS * 2n)).toBe((MAX_GAS * 2n * 6n) / 5n);
    expect(estimates.note(anAcceptedPayment(), MAX_GAS * 2n)).toBeUndefined();
  });

  it('is credited by its own evidence, beside payments of other schemes', () => {
    const items = [
      { id: 'toy', payment: accepted },
      { id: 'exact', payment: anAcceptedPayment() },
    ];
    expect([...creditLogs(items, collectedLogs())]).toEqual([['toy', 1]]);
    expect([...creditLogs(items, collectedLogs(8n))]).toEqual([]);
    expect([...creditLogs(items, collectedLogs().slice(1))]).toEqual([]);
  });

  it('is found on the chain by its calldata and its event', async () => {
    const call = callOf(accepted);
    const { to, data } = aggregateCall([call]);
    const presented = { method: NOTE_METHOD, token: ASSET, from: PAYER, to: TILL };
    expect(presentedAuthorizations(to, data, DEFAULT_SCHEME_CONTRACTS)).toEqual([
      { ...presented, amount: 900n, nonce: 7n },
    ]);
    const truth = new FakeChain(6);
    const ref = refOf(accepted);
    expect(ref).toMatchObject({ payTo: TILL, amount: 900n, nonce: 7n });
    const block = truth.mine({
      ...{ hash: hash32(5), to: call.to, input: call.data, logs: collectedLogs() },
    });
    truth.call = (at) => hash32(at >= block ? 1 : 0);
    truth.mine();
    const { chain } = await aChain(truth, 2);
    const range = { from: 1n, to: BigInt(truth.head) };
    expect(await chain.uses.find(ref, range)).toEqual({
      kind: 'found',
      use: { transaction: hash32(5), blockNumber: BigInt(block), logIndex: 1 },
    });
    await chain.close();
  });

  it('is done where a stranger has done it, and expires with its own reason', async () => {
    let isUsed = 1;
    const view = {
      ...{ chainId: 56, transaction: () => Promise.resolve({ from: PAYEE }) },
      call: () => Promise.resolve({ status: 'returned', data: `0x${uintWord(isUsed)}` }),
    };
    // Before the broadcast, and with no transfer: of exact that would be somebody else's use.
    const use = { transaction: hash32(5), blockNumber: 3n, logIndex: undefined };
    const found: UseOutcome = { kind: 'found', use };
    const chain = {
      ...{ chainId: 56, uses: { look: () => found } },
      agree: async ({ read }: { read: (from: unknown) => Promise<{ value: unknown }> }) =>
        (await read(view)).value,
      withView: (work: (from: unknown) => unknown) => work(view),
    } as unknown as EvmChain;
    const resolver = new ChainOutcomeResolver({
      ...{ chain, store: new MemoryLaneStore(() => 0), maxGas: MAX_GAS },
      ...{ onSearched: () => undefined, isOwnSigner: () => Promise.resolve(false) },
    });
    const finalized = { number: 20n, hash: hash32(20), timestamp: UNTIL };
    const block = { ...finalized, baseFeePerGas: 0n, gasLimit: 0n };
    const sent = { sinceBlock: 10n, hashes: [hash32(1)] };
    const ending = async (payment: AcceptedPayment, timestamp = UNTIL) => {
      const verdict = await resolver.judgeAgain('a', payment, sent, { ...block, timestamp });
      return verdict.kind === 'ended' ? verdict.ending : verdict.kind;
    };
    expect(await ending(accepted)).toMatchObject({ state: 'foreign', isPaid: true });
    expect(await ending(anAcceptedPayment())).toMatchObject({ state: 'foreign', isPaid: false });
    isUsed = 0;
    expect(isExpiredAt(accepted, UNTIL)).toBe(false);
    expect(await ending(accepted)).toBe('requeue');
    expect(await ending(accepted, UNTIL + 1)).toMatchObject({
      ...{ state: 'expired', reason: 'settlement_not_sent' },
    });
    expect(expiryLua()).toContain("['toy note'] = 'settlement_not_sent'");
  });

  it('is listed with what sellers have to know of it', async () => {
    const chains = { all: [{ chainId: 56 }], served: () => ({}) } as unknown as ChainRegistry;
    const board = { all: () => Promise.resolve([aLane(COLLECTOR)]) } as unknown as LaneBoard;
    const { kinds, extensions } = await new SupportedService(chains, board).supported([1, 2]);
    expect(kinds).toEqual([
      { x402Version: 2, scheme: 'exact', network: 'eip155:56' },
      ...[{ x402Version: 2, scheme: 'toy', network: 'eip155:56' }].map((kind) => ({
        ...kind,
        extra: { collector: expect.stringMatching(new RegExp(COLLECTOR, 'i')) },
      })),
      { x402Version: 1, scheme: 'exact', network: 'bsc' },
    ]);
    expect(extensions).toEqual([...EXACT.extensions, 'toyNotes']);
  });
});
