import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Address, type Hex, numberToHex } from 'viem';
import { aSettleService } from '../../../test/builders/facilitator/settle-service.js';
import { anEip3009Authorization } from '../../../test/builders/protocol/payment/accepted-payment.js';
import {
  aChannelChain,
  bodyOf,
  CONFIG,
} from '../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import {
  anUptoAuthorization,
  anUptoPayment,
} from '../../../test/builders/protocol/schemes/upto/upto.js';
import { FakeArchive } from '../../../test/builders/settlement/ledger/settlement-archive.js';
import { aSettlementView } from '../../../test/builders/settlement/model/settlement-view.js';
import { MemoryLabelStore } from '../../../test/twins/settlement/ledger/memory-label-store.js';
import { MemorySettlementStore } from '../../../test/twins/settlement/ledger/memory-settlement-store.js';
import { aRequester } from '../../../test/twins/settlement/ledger/settlement-store-contract.js';
import type { BlockPoint } from '../../platform/chain/chain-queries.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { addressWord, keccakOfText, uintWord } from '../../protocol/evm/abi-words.js';
import type { Call } from '../../protocol/evm/calls.js';
import { CHANNEL_ESCROW } from '../../protocol/evm/contracts.js';
import { identityOf } from '../../protocol/payment/identity.js';
import type { Claim, Eip3009Claim, Payment, UptoClaim } from '../../protocol/payment/payment.js';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import type { Reason } from '../../protocol/reasons.js';
import { channelIdOf } from '../../protocol/schemes/batch-settlement/channel.js';
import type { PayoutClaim } from '../../protocol/schemes/batch-settlement/claims.js';
import type { Payout } from '../../protocol/schemes/batch-settlement/payout.js';
import { readRefund } from '../../protocol/schemes/batch-settlement/read-claim.js';
import { type Refund, refundCallOf } from '../../protocol/schemes/batch-settlement/refund.js';
import { AWAITED_MS } from '../../settlement/ledger/epoch.js';
import type { LabelStore } from '../../settlement/ledger/label-store.js';
import { credentialsOf } from '../../settlement/ledger/requester.js';
import { NO_ARCHIVE, type SettlementArchive } from '../../settlement/ledger/settlement-archive.js';
import type { SettlementUpdate } from '../../settlement/ledger/settlement-events.js';
import { RESTATE_MS } from '../../settlement/ledger/settlement-store.js';
import type { SettlementView } from '../../settlement/model/settlement.js';
import type { Match, Verification } from '../verify/payment-verifier.js';
import { LEDGER_WENT_BACK } from './acknowledged-answers.js';
import { ActionDetailsReader } from './action-details.js';
import type { SettleService } from './settle.service.js';
import type { SettleAnswer } from './settle-answer.js';
import { keyTagOf, type SettleRequest } from './settle-context.js';

const TX: Hex = `0x${'5f'.repeat(32)}`;
const WAIT_MS = 20_000;
const CHAIN_ID = 31_337;

let nonces = 0;

function aPayment({ nonce = (nonces += 1), value = 1000n } = {}): Payment {
  const authorization = anEip3009Authorization({ value, nonce: numberToHex(nonce, { size: 32 }) });
  return {
    purpose: 'settle',
    requirements: {
      network: `eip155:${CHAIN_ID}`,
      networkAsSent: `eip155:${CHAIN_ID}`,
      chainId: CHAIN_ID,
      asset: `0x${'33'.repeat(20)}`,
      payTo: authorization.to,
      amount: value,
      tokenName: 'Token',
      tokenVersion: '1',
    },
    accepted: { scheme: 'exact', network: `eip155:${CHAIN_ID}` },
    claim: { ...authorization, hasValidChecksums: true } satisfies Eip3009Claim as Claim,
    dialect: { x402Version: 2, isAcceptedNetworkKnown: true },
    networkAsSent: `eip155:${CHAIN_ID}`,
    payerAsSent: authorization.from,
  };
}

/** Finds every payment good, and knows by its terms which settlement it belongs to. */
const verifications = {
  verify: ({ claim, builderCodes }: Payment): Promise<Verification> => {
    const { from, to, nonce, value } = claim as Eip3009Claim;
    if (claim.scheme === 'batch-settlement') {
      const { token, upTo } = claim as PayoutClaim;
      const payout = { scheme: claim.scheme, method: 'channel-settle', from, token, upTo } as const;
      return Promise.resolve({
        isValid: true,
        authorization: { ...payout, signature: '0x' } as Payout,
        payerHasCode: false,
        means: { balance: undefined, allowance: undefined },
      });
    }
    if (claim.scheme === 'upto') {
      const { from: payer } = claim as UptoClaim;
      const verification = {
        authorization: anUptoAuthorization({ from: payer }),
        payerHasCode: false,
      };
      const means = { balance: undefined, allowance: undefined };
      return Promise.resolve({ isValid: true, ...verification, means });
    }
    const authorization = anEip3009Authorization({
      ...(from && { from }),
      ...(to && { to }),
      ...(nonce && { nonce }),
      value,
    });
    return Promise.resolve({
      isValid: true,
      authorization,
      payerHasCode: false,
      means: { balance: undefined, allowance: undefined },
      ...(builderCodes && { dataSuffix: '0x0a0b' }),
    });
  },
  verifyTerms: (payment: Payment) => verifications.verify(payment),
  match: (_: Payment, { termsTag }: { termsTag: string }, known: SettlementView) =>
    Promise.resolve<Match>({ kind: known.termsTag === termsTag ? 'same' : 'other_terms' }),
};

const RECEIVER: Address = `0x${'5e'.repeat(20)}`;
const TOKEN: Address = `0x${'70'.repeat(20)}`;

function aPayout(upTo: bigint): Payment {
  const [from, token] = [RECEIVER, TOKEN];
  const claim = {
    scheme: 'batch-settlement',
    method: 'channel-settle',
    from,
    token,
    upTo,
    nonce: undefined,
    signature: undefined,
  } as const;
  return { ...aPayment(), claim: claim satisfies PayoutClaim };
}

/** One whose newest block pays a receiver what was claimed. */
function anEscrowChain(paidOut: () => bigint): EvmChain {
  const head = 100n;
  const paid = (block: bigint) => (block < head ? 0n : paidOut());
  const topics: readonly Hex[] = [
    keccakOfText('Settled(address,address,address,uint128)'),
    `0x${addressWord(RECEIVER)}`,
    `0x${addressWord(TOKEN)}`,
  ];
  const log = () => ({
    address: CHANNEL_ESCROW,
    topics,
    data: `0x${uintWord(paidOut())}`,
    logIndex: 0,
    transactionHash: TX,
    blockNumber: head,
  });
  const view = {
    chainId: CHAIN_ID,
    health: { endpoint: { name: 'node' } },
    blockNumber: () => Promise.resolve(head),
    call: (_: unknown, _gas: unknown, at: BlockPoint) => {
      const block = typeof at === 'object' && 'blockNumber' in at ? at.blockNumber : head;
      const data = `0x${uintWord(paid(block))}${uintWord(paid(block))}`;
      return Promise.resolve({ status: 'returned', data });
    },
    logs: () => Promise.resolve([log()]),
    receipt: () => Promise.resolve({ isSuccess: true, logs: [log()], blockHash: TX }),
  };
  return aChainOf(view);
}

/** The refund of a channel with its first nonce. */
async function aRefund(amount: bigint): Promise<Payment> {
  const { payload } = await bodyOf('refund');
  const inner = { ...(payload['payload'] as JsonObject), refundNonce: '0', claims: [] };
  const claim = readRefund({ payload: { ...inner, amount: String(amount) } });
  if (claim === undefined) throw new Error('not read');
  return { ...aPayment(), claim };
}

/** One whose newest block gave back this amount by the first nonce of a channel. */
function aRefundChain(amount: bigint, { hasLogs = true, isHanging = false } = {}): EvmChain {
  const head = 100n;
  const refund = {
    config: CONFIG,
    amount,
    refundNonce: 0n,
    signature: '0x12',
  } as unknown as Refund;
  const topics = [keccakOfText('Refunded(bytes32,address,uint128)'), channelIdOf(CONFIG, CHAIN_ID)];
  const log = {
    address: CHANNEL_ESCROW,
    topics,
    data: `0x${uintWord(amount)}`,
    logIndex: 0,
    transactionHash: TX,
    blockNumber: head,
  };
  const view = {
    chainId: CHAIN_ID,
    health: { endpoint: { name: 'node' }, hasLogs },
    blockNumber: () => Promise.resolve(head),
    call: (call: Call, _gas: unknown, at: BlockPoint) => {
      const block = typeof at === 'object' && 'blockNumber' in at ? at.blockNumber : head;
      const refundNonce = block < head ? 0n : 1n;
      return call.data.startsWith('0x82ad56cb')
        ? aChannelChain({ refundNonce }).chain.call(call, 0n)
        : Promise.resolve({ status: 'returned', data: `0x${uintWord(refundNonce)}` });
    },
    logs: () => (isHanging ? new Promise(() => undefined) : Promise.resolve([log])),
    transaction: () => Promise.resolve({ input: refundCallOf(refund).data }),
    receipt: () => Promise.resolve({ isSuccess: true, logs: [log], blockHash: TX }),
  };
  return aChainOf(view);
}

/** One node, whose newest block is 100. */
function aChainOf(view: unknown): EvmChain {
  return {
    chainId: CHAIN_ID,
    quorumRead: async ({ read }: { read: (of: unknown) => Promise<{ value: unknown }> }) =>
      (await read(view)).value,
  } as unknown as EvmChain;
}

describe('SettleService', () => {
  let store: MemorySettlementStore;
  let service: SettleService;
  let labels: LabelStore;
  let jobs: string[];
  let trouble: string[];
  let usedBy: { readonly transaction: Hex | undefined } | undefined;
  let refusal: Reason | undefined;
  /** Whether the refusal says that the contract shows the payment done. */
  let isRefusedAsDone: boolean;
  /** Whether what the payment is for is done, and since a block that is final. */
  let done: 'no' | 'yes' | 'finally';
  let beforeRefusal: () => Promise<void>;
  /** Whether the chain says what its payments are of. */
  let isCompleted: boolean;
  /** What the escrow has paid out to the receiver, atomic units. */
  let paidOut: bigint;
  /** The process begins to end. */
  let endInTime: () => void;
  let isFinallyDone: () => Promise<boolean>;
  /** When the adoption of a lost claim is given up. */
  let adoptUntil: () => number;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    jobs = [];
    trouble = [];
    usedBy = undefined;
    refusal = undefined;
    isRefusedAsDone = false;
    done = 'no';
    isFinallyDone = () => Promise.resolve(done === 'finally');
    beforeRefusal = () => Promise.resolve();
    isCompleted = false;
    paidOut = 0n;
    store = new MemorySettlementStore(() => Date.now(), 60_000);
    labels = new MemoryLabelStore();
    service = aService();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  function aService(chain?: EvmChain, archive: SettlementArchive = NO_ARCHIVE): SettleService {
    const listeners = new Map<string, Set<(event: SettlementUpdate) => void>>();
    store.onUpdate = (id, kind, transaction) => {
      const event: SettlementUpdate = {
        kind: kind as SettlementUpdate['kind'],
        transaction,
        reason: undefined,
      };
      for (const listener of [...(listeners.get(id) ?? [])]) listener(event);
    };
    return aSettleService({
      store,
      labels,
      events: {
        listen: (id, listener) => {
          const all = listeners.get(id) ?? new Set();
          listeners.set(id, all.add(listener));
          return () => all.delete(listener);
        },
      },
      admission: {
        refusal: () => Promise.resolve(undefined),
        noteQueued: () => undefined,
        retryAfterSeconds: () => Promise.resolve(3),
      },
      verifier: {
        ...verifications,
        ...(isCompleted && { completed: (payment) => Promise.resolve({ ...payment }) }),
        verify: async (payment: Payment): Promise<Verification> => {
          const reason = refusal;
          if (reason === undefined) {
            const good = await verifications.verify(payment);
            return good.isValid ? { ...good, isDone: done !== 'no' } : good;
          }
          await beforeRefusal();
          return { isValid: false, reason, isFromChainState: false, isDone: isRefusedAsDone };
        },
        isFinallyDone: () => isFinallyDone(),
      },
      archive,
      finder: {
        until: () => 0,
        isUsed: () => Promise.resolve(usedBy !== undefined),
        userOf: () =>
          Promise.resolve(
            usedBy?.transaction && { transaction: usedBy.transaction, isPaid: false },
          ),
      },
      lostClaims: {
        adopt: async ({ ref, identity, requester, settledAmount, deadlineAt }) => {
          adoptUntil = deadlineAt;
          const adopted = await store.adopt(requester, {
            ...ref,
            identity,
            transaction: TX,
            blockNumber: 7n,
            logIndex: 0,
            blockHash: TX,
            settledAmount,
          });
          if (adopted.kind === 'sold') return adopted.view;
          return adopted.kind === 'not_yet' ? 'not_yet' : undefined;
        },
      },
      addJob: (id) => jobs.push(id),
      onTrouble: (what) => trouble.push(what),
      chainId: CHAIN_ID,
      chain: chain ?? anEscrowChain(() => paidOut),
      waitMs: WAIT_MS,
      onClaiming: (claiming) =>
        (endInTime = () => {
          claiming.endInTime();
        }),
    });
  }

  interface Asked {
    readonly key?: string;
    readonly address?: string;
    readonly isAsync?: boolean;
    readonly finality?: SettleRequest['finality'];
    readonly labelTag?: string;
    readonly beforeClaim?: (ref: { readonly id: string }) => void;
    readonly connection?: SettleRequest['connection'];
  }

  function settle(payment: Payment, asked: Asked = {}): Promise<SettleAnswer | undefined> {
    const { key, address = '198.51.100.1', isAsync = false } = asked;
    const keyTag = keyTagOf(key, [payment.requirements.payTo, payment.claim.from ?? '']);
    return service.settle({
      payment,
      keyTag,
      ...(asked.labelTag !== undefined && { labelTag: asked.labelTag }),
      ...(asked.beforeClaim && { beforeClaim: asked.beforeClaim }),
      credentials: credentialsOf({ keyTag, apiKeyId: undefined, address }),
      isAsync,
      finality: asked.finality ?? 'included',
      arrivedAt: Date.now(),
      connection: asked.connection ?? { isWritable: true, closed: new Promise(() => undefined) },
    });
  }

  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

  function liveOf(payment: Payment): string {
    const identity = identityOf(payment);
    const { live } = identity ? store.idsOf(identity) : {};
    if (live === undefined) throw new Error('it has no live claim');
    return live;
  }

  function send(id: string): void {
    for (const event of ['job_seen', 'taken'] as const) store.happens(id, event);
    store.happens(id, 'allocated', TX);
  }

  async function pay(payment: Payment): Promise<void> {
    await pass(0);
    send(liveOf(payment));
    store.happens(liveOf(payment), 'included', TX);
    await pass(1000);
  }

  it('settles a payment once, and tells the others duplicate_settlement with its hash', async () => {
    const payment = aPayment();
    const answering = Promise.all(Array.from({ length: 20 }, () => settle(payment)));
    await pay(payment);
    const bodies = (await answering).map((answer) => answer?.body);
    expect(bodies.filter((body) => body?.success)).toHaveLength(1);
    const lost = bodies.filter((body) => body?.errorReason === 'duplicate_settlement');
    expect(lost).toHaveLength(19);
    expect(lost.every((body) => body?.transaction === TX)).toBe(true);
    expect(jobs).toHaveLength(1);
  });

  describe('that another sender has done', () => {
    it('is a success that calls itself included, and nothing is sent', async () => {
      done = 'yes';
      expect(await settle(aPayment())).toMatchObject({
        finality: 'included',
        body: { success: true, transaction: '' },
      });
      expect(jobs).toEqual([]);
    });

    it('is final once its block is', async () => {
      done = 'yes';
      const answering = settle(aPayment(), { finality: 'finalized' });
      await pass(2000);
      done = 'finally';
      await pass(1000);
      expect(await answering).toMatchObject({ finality: 'finalized', body: { success: true } });
      expect(jobs).toEqual([]);
    });

    it('is no success where its block is not final in time, and can be asked for again', async () => {
      done = 'yes';
      const answering = settle(aPayment(), { finality: 'finalized' });
      await pass(2 * WAIT_MS);
      expect(await answering).toMatchObject({
        body: { success: false, errorReason: 'network_unavailable' },
      });
    });
  });

  it('keeps with the claim what its call ended with when it was found good', async () => {
    const claim = jest.spyOn(store, 'claim');
    const payment = { ...aPayment(), builderCodes: { app: 'weather', services: [] } };
    const answering = settle(payment);
    await pay(payment);
    await answering;
    expect(claim.mock.calls.map(([, { payment: kept }]) => kept.dataSuffix)).toEqual(['0x0a0b']);
  });

  it('tells the name of a claim before it is made, and of none that it only joins', async () => {
    const payment = aPayment();
    const claimed: string[] = [];
    const answering = settle(payment, { beforeClaim: ({ id }) => claimed.push(id) });
    await pass(0);
    expect(claimed).toEqual([liveOf(payment)]);
    const joining = settle(payment, { beforeClaim: () => claimed.push('joined') });
    await pay(payment);
    await Promise.all([answering, joining]);
    expect(claimed).toEqual([liveOf(payment)]);
  });

  describe('a payment with a label', () => {
    it('is found by it from its claim on', async () => {
      const payment = aPayment();
      const answering = settle(payment, { labelTag: 'label' });
      await pass(0);
      expect(await labels.of('label')).toEqual([{ chainId: CHAIN_ID, id: liveOf(payment) }]);
      await pay(payment);
      expect((await answering)?.body.success).toBe(true);
    });

    it('is settled beside another of the same label: a label is not an order', async () => {
      const payments = [aPayment(), aPayment()];
      const answers: (SettleAnswer | undefined)[] = [];
      for (const payment of payments) {
        const answering = settle(payment, { labelTag: 'label' });
        await pay(payment);
        answers.push(await answering);
      }
      expect(answers.map((answer) => answer?.body.success)).toEqual([true, true]);
      expect(await labels.of('label')).toHaveLength(2);
    });

    it('is settled though the label cannot be noted', async () => {
      labels = {
        note: () => Promise.reject(new RedisUnavailableError('label', undefined)),
        of: () => Promise.resolve([]),
      };
      service = aService();
      const payment = aPayment();
      const answering = settle(payment, { labelTag: 'label' });
      await pay(payment);
      expect((await answering)?.body.success).toBe(true);
      expect(trouble).toEqual(['storing the label of a claim']);
    });

    it('notes nothing where it is refused', async () => {
      refusal = 'invalid_exact_evm_signature';
      await settle(aPayment(), { labelTag: 'label' });
      expect(await labels.of('label')).toEqual([]);
    });
  });

  it('a refusal by a signature that was good a moment before is looked at again', async () => {
    const payment = aPayment();
    let release = (): void => undefined;
    refusal = 'invalid_exact_evm_signature';
    beforeRefusal = () => {
      refusal = undefined;
      return new Promise((resolve) => (release = resolve));
    };
    const late = settle(payment, { address: '198.51.100.2' });
    await pass(0);
    const first = settle(payment);
    await pay(payment);
    expect((await first)?.body.success).toBe(true);
    release();
    await pass(0);
    expect((await late)?.body).toMatchObject({
      errorReason: 'duplicate_settlement',
      transaction: TX,
    });
  });

  it('names the claim in every answer about it', async () => {
    const payment = aPayment();
    const settling = settle(payment);
    await pass(0);
    const id = liveOf(payment);
    await pay(payment);
    const answer = await settling;
    expect(answer).toMatchObject({ settlementId: id, body: { extra: { settlementId: id } } });
    expect(await settle(payment)).toMatchObject({
      settlementId: id,
      body: { errorReason: 'duplicate_settlement' },
    });
  });

  it('the reply of a claim is swallowed: asked again, it is the same claim', async () => {
    const payment = aPayment();
    store.outage = 'none';
    const settling = settle(payment);
    // The look is answered, the claim is not.
    const claim = store.claim.bind(store);
    let lost = 0;
    store.claim = async (...args) => {
      const result = await claim(...args);
      lost += 1;
      if (lost <= 3) {
        store.outage = 'replies_lost';
        await claim(...args).finally(() => (store.outage = 'none'));
      }
      return result;
    };
    await pass(500);
    await pay(payment);
    expect((await settling)?.body).toMatchObject({ success: true, transaction: TX });
    expect(lost).toBe(4);
    expect(jobs).toHaveLength(1);
  });

  it('the reply of a claim is swallowed for good: what it holds is given up when Redis is back', async () => {
    const payment = aPayment();
    const claim = store.claim.bind(store);
    store.claim = async (...args) => {
      store.outage = 'replies_lost';
      return claim(...args);
    };
    const settling = settle(payment);
    await pass(WAIT_MS + 200);
    expect((await settling)?.body).toMatchObject({
      errorReason: 'network_unavailable',
      transaction: '',
    });
    const id = liveOf(payment);
    store.outage = 'none';
    store.claim = claim;
    await pass(1000);
    // No requester waits for it any more, so no lane takes it.
    expect(() => {
      store.happens(id, 'taken');
    }).toThrow(/cannot happen in withdrawn/);
    // The seller asks again, and is not told that it was there before.
    const again = settle(payment);
    await pay(payment);
    expect((await again)?.body).toMatchObject({ success: true });
  });

  it('a claim whose reply is lost but whose hash is known is pending with it', async () => {
    const payment = aPayment();
    const claim = store.claim.bind(store);
    store.claim = async (...args) => {
      await claim(...args);
      store.outage = 'away';
      return claim(...args);
    };
    const settling = settle(payment);
    await pass(50);
    send(liveOf(payment));
    await pass(WAIT_MS);
    expect((await settling)?.body).toMatchObject({
      errorReason: 'settlement_pending',
      transaction: TX,
    });
  });

  it('says at once when the ledger cannot be asked at all', async () => {
    store.outage = 'away';
    const settling = settle(aPayment());
    await pass(0);
    expect((await settling)?.body).toMatchObject({ errorReason: 'network_unavailable' });
  });

  it('tells an idempotency key the same answer each time, and no other', async () => {
    const payment = aPayment();
    const first = settle(payment, { key: 'order-1' });
    await pay(payment);
    const again = await settle(payment, { key: 'order-1', address: '203.0.113.5' });
    expect(again?.body).toEqual((await first)?.body);
    for (const asked of [{}, { key: 'order-2' }]) {
      const other = await settle(payment, asked);
      expect(other?.body).toMatchObject({ errorReason: 'duplicate_settlement', transaction: TX });
    }
  });

  it('refuses an idempotency key that comes with another payment, also at the same price', async () => {
    const payment = aPayment();
    const first = settle(payment, { key: 'order-3' });
    await pay(payment);
    await first;
    const other = await settle(aPayment(), { key: 'order-3' });
    expect(other).toMatchObject({
      status: 409,
      body: { success: false, errorReason: 'idempotency_key_conflict', transaction: '' },
    });
  });

  it('a refused claim gives its idempotency key back', async () => {
    const payment = aPayment();
    const settling = settle(payment, { key: 'order-4' });
    await pass(0);
    const id = liveOf(payment);
    for (const event of ['job_seen', 'taken'] as const) store.happens(id, event);
    store.happens(id, 'refused', undefined, 'invalid_exact_evm_insufficient_balance');
    await pass(1000);
    expect((await settling)?.body).toMatchObject({
      errorReason: 'invalid_exact_evm_insufficient_balance',
    });
    const next = aPayment();
    const other = settle(next, { key: 'order-4' });
    await pay(next);
    expect((await other)?.body).toMatchObject({ success: true });
  });

  it.each([false, true])(
    'a key whose order lost the sale to another is free for another payment: async %s',
    async (isAsync) => {
      const payment = aPayment();
      const sold = settle(payment, { key: 'order-6' });
      await pass(0);
      const losing = settle(payment, { key: 'order-7', isAsync, address: '203.0.113.5' });
      await pay(payment);
      expect((await sold)?.body.success).toBe(true);
      expect((await losing)?.body.errorReason).toBe('duplicate_settlement');
      const next = aPayment();
      const other = settle(next, { key: 'order-7' });
      await pay(next);
      expect((await other)?.body).toMatchObject({ success: true });
    },
  );

  it('a key that is given up late, after an outage, stays with its payment once that was claimed again', async () => {
    const payment = aPayment();
    const refused = settle(payment, { key: 'order-8' });
    await pass(0);
    const id = liveOf(payment);
    for (const event of ['job_seen', 'taken'] as const) store.happens(id, event);
    store.happens(id, 'refused', undefined, 'invalid_exact_evm_insufficient_balance');
    const outage = new RedisUnavailableError('unbind', undefined);
    jest.spyOn(store, 'unbind').mockImplementationOnce(() => Promise.reject(outage));
    await pass(0);
    expect((await refused)?.body.success).toBe(false);
    const again = settle(payment, { key: 'order-8' });
    await pay(payment);
    expect((await again)?.body.success).toBe(true);
    await pass(2000);
    expect((await settle(aPayment(), { key: 'order-8' }))?.status).toBe(409);
  });

  it('a key stays with a claim whose order binds it once more and is refused', async () => {
    const payment = aPayment();
    const claim = store.claim.bind(store);
    let hold = (): void => undefined;
    jest.spyOn(store, 'claim').mockImplementationOnce(async (...asked) => {
      await new Promise<void>((resolve) => {
        hold = resolve;
      });
      return claim(...asked);
    });
    const first = settle(payment, { key: 'order-9' });
    await pass(0);
    jest.spyOn(store, 'claim').mockResolvedValueOnce({ kind: 'queue_full', queued: 9 });
    expect((await settle(payment, { key: 'order-9' }))?.body.errorReason).toBe('queue_full');
    hold();
    await pay(payment);
    expect((await first)?.body.success).toBe(true);
    expect((await settle(aPayment(), { key: 'order-9' }))?.status).toBe(409);
  });

  it('an idempotency key whose requester died is free once nothing is left of its payment', async () => {
    const payment = aPayment();
    const requester = { id: 'dead.1', credentials: [], arrivedAt: 0 };
    const keyTag = keyTagOf('order-5', [payment.requirements.payTo, payment.claim.from ?? '']);
    const lost = identityOf(aPayment());
    if (lost === undefined) throw new Error('no identity');
    await store.bind({ ...requester, keyTag }, { chainId: CHAIN_ID, ...lost });
    expect((await settle(payment, { key: 'order-5' }))?.status).toBe(409);
    await pass(150_000);
    const settling = settle(payment, { key: 'order-5' });
    await pay(payment);
    expect((await settling)?.body).toMatchObject({ success: true });
  });

  it('202, then the first claim fails and another order takes the payment: each its own outcome', async () => {
    const payment = aPayment();
    const handed = await settle(payment, { isAsync: true });
    const first = handed?.settlementId ?? '';
    expect(handed?.status).toBe(202);
    send(first);
    store.happens(first, 'finalized_unpaid_reverted');
    const settling = settle(payment);
    await pay(payment);
    const answer = await settling;
    expect(answer?.body).toMatchObject({ success: true });
    expect(answer?.settlementId).not.toBe(first);
  });

  it('202 marks it sold: others get duplicate_settlement at once', async () => {
    const payment = aPayment();
    expect((await settle(payment, { isAsync: true }))?.status).toBe(202);
    for (const isAsync of [true, false]) {
      const other = await settle(payment, { isAsync });
      expect(other?.body).toMatchObject({ errorReason: 'duplicate_settlement' });
    }
  });

  it.each([
    ['is accepted once no sale of it can be open any more', 3, { status: 202 }],
    [
      'is asked for again where its time is up before that',
      Infinity,
      { body: { errorReason: 'network_unavailable' } },
    ],
  ])('202 for an older claim of a ledger that went back: %s', async (_, times, answer) => {
    const payment = aPayment();
    const first = settle(payment);
    await pass(1);
    const redeem = store.redeem.bind(store);
    let asked = 0;
    jest.spyOn(store, 'redeem').mockImplementation((ref, requester, at) => {
      if (at === 'async') asked += 1;
      const isEarly = at === 'async' && asked <= times;
      return isEarly
        ? Promise.resolve({ kind: 'not_yet', view: aSettlementView() })
        : redeem(ref, requester, at);
    });
    const second = settle(payment, { isAsync: true });
    await pass(2 * WAIT_MS);
    expect(await second).toMatchObject(answer);
    expect(asked).toBeGreaterThan(3);
    await first;
  });

  it('reorg after told success, the payer tops up, another order presents it: told to one', async () => {
    const payment = aPayment();
    const first = settle(payment);
    await pay(payment);
    const answer = await first;
    expect(answer?.body).toMatchObject({ success: true });
    const id = answer?.settlementId ?? '';
    store.happens(id, 'block_replaced');
    store.happens(id, 'finalized_unpaid_reverted');
    const other = await settle(payment, { key: 'another order' });
    expect(other?.body).toMatchObject({ errorReason: 'duplicate_settlement', transaction: TX });
    // Another payment of the same nonce is no way round it either.
    const nonce = Number(payment.claim.nonce);
    const otherTerms = await settle(aPayment({ nonce, value: 1n }));
    expect(otherTerms?.body).toMatchObject({ errorReason: 'duplicate_settlement' });
    store.happens(id, 'due');
    store.happens(id, 'taken');
    store.happens(id, 'expired');
    const late = await settle(payment, { key: 'another order' });
    expect(late?.body).toMatchObject({ errorReason: 'duplicate_settlement' });
  });

  it('a sale that the ledger forgot is replayed before another requester can get it', async () => {
    const payment = aPayment();
    const [first, second] = [settle(payment), settle(payment)];
    await pay(payment);
    await Promise.all([first, second]);
    const id = store.idsOf(identityOf(payment) ?? { ...NO_IDENTITY }).live ?? '';
    store.forgetSale(id);
    await pass(1);
    store.goBack();
    await pass(10);
    const third = await settle(payment);
    expect(third?.body).toMatchObject({ errorReason: 'duplicate_settlement' });
  });

  it('a withdrawal that the ledger forgot is replayed, and nothing of it is sent', async () => {
    const payment = aPayment();
    const settling = settle(payment);
    await pass(WAIT_MS - 1000);
    const id = store.idsOf(identityOf(payment) ?? { ...NO_IDENTITY }).live ?? '';
    await pass(1100);
    expect((await settling)?.body).toMatchObject({ errorReason: 'settlement_not_sent' });
    store.forgetWithdrawal(id);
    store.goBack();
    await pass(10);
    expect(() => {
      store.happens(id, 'taken');
    }).toThrow(/cannot happen in withdrawn/);
    // A transaction that was sent before the replay is not called back, and a log line reports it.
    store.forgetWithdrawal(id);
    store.happens(id, 'taken');
    store.happens(id, 'allocated', TX);
    expect(trouble).toEqual([LEDGER_WENT_BACK]);
    store.goBack();
    await pass(10);
    expect(trouble.slice(1)).toEqual([LEDGER_WENT_BACK, 'replaying a withdrawal']);
  });

  it('sells nothing where a fault keeps its success from the requester', async () => {
    const added = jest.spyOn(ActionDetailsReader.prototype, 'added');
    const payment = aPayment();
    added.mockRejectedValueOnce(new RangeError('a fault'));
    const settling = settle(payment);
    const failing = expect(settling).rejects.toThrow('a fault');
    await pay(payment);
    await failing;
    added.mockRestore();
    expect((await settle(payment))?.body).toMatchObject({ success: true, transaction: TX });
  });

  it('the ledger lost the claim of a 202: no other request gets a 202 or success', async () => {
    const payment = aPayment();
    const handed = await settle(payment, { isAsync: true });
    expect(handed?.status).toBe(202);
    store.forgetAll();
    await pass(1100);
    for (const isAsync of [true, false]) {
      const body = { success: false, errorReason: 'duplicate_settlement', transaction: '' };
      expect((await settle(payment, { isAsync }))?.body).toMatchObject(body);
    }
    await handed?.rollBack?.();
    const again = settle(payment, { isAsync: true });
    await pass(RESTATE_MS);
    expect((await again)?.status).toBe(202);
  });

  describe('a new claim on a ledger that went back, while a process that lived has not spoken', () => {
    beforeEach(async () => {
      await settle(aPayment(), { isAsync: true });
      await store.heartbeat(CHAIN_ID, 'late', () => true);
      await pass(1);
      store.goBack();
    });

    it('gets its 202 once that process has spoken', async () => {
      let isAnswered = false;
      const settling = settle(aPayment(), { isAsync: true }).finally(() => (isAnswered = true));
      await pass(2 * RESTATE_MS);
      expect(isAnswered).toBe(false);
      await store.heartbeat(CHAIN_ID, 'late', () => true);
      await pass(200);
      expect((await settling)?.status).toBe(202);
    });

    it('gets success once that process was awaited for long enough', async () => {
      await pass(5000);
      const payment = aPayment();
      const settling = settle(payment);
      await pay(payment);
      await pass(AWAITED_MS - 5000);
      expect((await settling)?.body).toMatchObject({ success: true });
    });

    it('is not claimed where the time of its requester is up before: it says why, and its key is free', async () => {
      const asked = { isAsync: true, key: 'order-9' };
      const payment = aPayment();
      const connection = { isWritable: true, closed: new Promise<void>(() => undefined) };
      const settling = settle(payment, { ...asked, connection });
      await pass(10);
      connection.isWritable = false;
      await pass(200);
      const answer = await settling;
      expect(answer?.body).toMatchObject({ errorReason: 'network_unavailable' });
      expect(answer?.cause).toMatch(/^Redis lost its newest writes/);
      await store.heartbeat(CHAIN_ID, 'late', () => true);
      await pass(RESTATE_MS);
      expect((await settle(aPayment(), asked))?.status).toBe(202);
    });
  });

  it('the ledger lost a claim with two requesters of one key: an answer that did not arrive takes nothing back', async () => {
    const payment = aPayment();
    const asked = { isAsync: true, key: 'order-1' };
    expect((await settle(payment, asked))?.status).toBe(202);
    const broken = await settle(payment, asked);
    expect(broken?.status).toBe(202);
    await broken?.rollBack?.();
    store.forgetAll();
    await pass(1100);
    expect((await settle(payment, { isAsync: true }))?.body).toMatchObject({
      success: false,
      errorReason: 'duplicate_settlement',
    });
    expect((await settle(payment, asked))?.status).toBe(202);
  });

  it('a payout waits two seconds for claims that name its receiver, and no longer', async () => {
    isCompleted = true;
    service = aService();
    const look = store.look.bind(store);
    store.look = async (...args) => {
      const found = await look(...args);
      return { ...found, inFlight: { ...found.inFlight, claims: 1 } };
    };
    const payment = aPayment();
    const settling = settle(payment);
    await pass(1800);
    expect(jobs).toEqual([]);
    await pass(600);
    expect(jobs).toEqual([liveOf(payment)]);
    await pass(WAIT_MS);
    await settling;
  });

  it('the ledger lost the claim of a 202: the reply of a claim for it is lost, and still no other request gets a 202', async () => {
    const payment = aPayment();
    expect((await settle(payment, { isAsync: true }))?.status).toBe(202);
    store.forgetAll();
    await pass(1100);
    const claim = store.claim.bind(store);
    let claims = 0;
    store.claim = async (...args) => {
      claims += 1;
      store.outage = claims === 1 ? 'replies_lost' : 'none';
      return claim(...args).finally(() => {
        store.outage = 'none';
        // It is on its way by the time that the claim is repeated.
        if (claims === 1) send(liveOf(payment));
      });
    };
    const second = settle(payment, { isAsync: true, key: 'order-2' });
    await pass(200);
    expect(claims).toBe(2);
    expect((await second)?.body).toMatchObject({
      success: false,
      errorReason: 'duplicate_settlement',
      transaction: TX,
    });
  });

  it('the ledger lost a claim whose payment was made, and others may still say what they told: it is pending', async () => {
    const settling = settle(aPayment());
    await pass(0);
    store.forgetAll();
    refusal = 'invalid_exact_evm_nonce_already_used';
    usedBy = { transaction: TX };
    await pass(1100);
    expect((await settling)?.body).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      transaction: TX,
    });
  });

  it('the ledger lost a claim whose payment one of our signers made: its requester gets success', async () => {
    const [payment, unseen] = [aPayment(), aPayment()];
    const settling = settle(payment);
    await pass(0);
    store.forgetAll();
    store.goBack(RESTATE_MS);
    refusal = 'invalid_exact_evm_nonce_already_used';
    usedBy = { transaction: TX };
    await pass(1100);
    expect((await settling)?.body).toMatchObject({ success: true, transaction: TX });
    // Who did not ask before the loss is refused as used, with the hash.
    const stranger = settle(unseen);
    await pass(0);
    expect((await stranger)?.body).toMatchObject({
      success: false,
      errorReason: refusal,
      transaction: TX,
    });
  });

  it('a process that ends answers with what is known, before its connections are closed', async () => {
    const [sent, queued] = [aPayment(), aPayment()];
    const answering = [settle(sent), settle(queued)];
    await pass(0);
    send(liveOf(sent));
    endInTime();
    await pass(6000);
    const [pending, withdrawn] = (await Promise.all(answering)).map((answer) => answer?.body);
    expect(pending).toMatchObject({ errorReason: 'settlement_pending', transaction: TX });
    expect(withdrawn).toMatchObject({ errorReason: 'settlement_not_sent', transaction: '' });
  });

  it('a process that ends leaves a claim to the requesters of other processes', async () => {
    const payment = aPayment();
    const answering = settle(payment);
    await pass(0);
    const ofAnother = aRequester();
    const ref = { chainId: CHAIN_ID, id: liveOf(payment) };
    expect((await store.join(ref, ofAnother)).kind).toBe('waiting');
    endInTime();
    for (let second = 0; second < 6; second += 1) {
      await pass(1000);
      await store.join(ref, ofAnother);
    }
    expect((await answering)?.body).toMatchObject({
      errorReason: 'network_unavailable',
      transaction: '',
    });
    expect(liveOf(payment)).toBe(ref.id);
  });

  async function isRefusedByNow(answering: ReturnType<typeof settle>): Promise<void> {
    const answer = await Promise.race([answering, pass(0).then(() => 'it still waits')]);
    expect(answer).toMatchObject({ body: { errorReason: 'network_unavailable' } });
  }

  it('a process that ends answers who asks a ledger that is away', async () => {
    const payment = aPayment();
    const beforeClaim = () => (store.outage = 'away');
    const answering = settle(payment, { beforeClaim });
    await pass(1000);
    endInTime();
    await pass(5000);
    await isRefusedByNow(answering);
  });

  it('a process that ends answers who waits until what another has done is final', async () => {
    done = 'yes';
    const answering = settle(aPayment(), { finality: 'finalized' });
    await pass(1000);
    endInTime();
    await pass(5000);
    await isRefusedByNow(answering);
  });

  it('answers in time who waits until what another has done is final, at a chain that does not answer', async () => {
    done = 'yes';
    isFinallyDone = () => new Promise(() => undefined);
    const answering = settle(aPayment(), { finality: 'finalized' });
    await pass(WAIT_MS);
    await isRefusedByNow(answering);
  });

  it('gives who adopts a lost claim until the process ends', async () => {
    const payment = aPayment();
    const settling = settle(payment);
    await pass(0);
    store.forgetAll();
    [usedBy, refusal] = [{ transaction: TX }, 'invalid_exact_evm_nonce_already_used'];
    await pass(1100);
    await settling;
    const before = adoptUntil();
    endInTime();
    expect(before - adoptUntil()).toBeGreaterThan(WAIT_MS / 2);
  });

  describe('an action of a seller, which is not sold', () => {
    beforeEach(() => {
      isCompleted = true;
      service = aService();
      paidOut = 300n;
    });

    it('is answered with 202 to all who ask so, and with its success once it is done', async () => {
      const payout = aPayout(300n);
      const asked = { isAsync: true };
      for (let times = 0; times < 2; times += 1) {
        expect((await settle(payout, asked))?.status).toBe(202);
      }
      await pay(payout);
      const answer = settle(payout, { ...asked, address: '203.0.113.9' });
      await pass(100);
      expect(await answer).toMatchObject({ status: 200, body: { success: true, transaction: TX } });
    });

    it.each([
      ['with a key of its own', 1],
      ['of whom there are as many as the ledger lists', 64],
    ])('that a 202 accepted goes on when a stranger %s leaves', async (_, strangers) => {
      const payout = aPayout(300n);
      const leaving = Array.from({ length: strangers }, (_, index) =>
        settle(payout, { address: `203.0.113.${index}`, key: `stranger ${index}` }),
      );
      await pass(WAIT_MS);
      expect((await settle(payout, { isAsync: true }))?.status).toBe(202);
      await pass(WAIT_MS + 1000);
      for (const answer of await Promise.all(leaving)) {
        expect(answer?.body).not.toMatchObject({ errorReason: 'settlement_not_sent' });
      }
      await pay(payout);
      const answer = settle(payout);
      await pass(100);
      expect((await answer)?.body).toMatchObject({ success: true, transaction: TX });
    });

    it('is a success to more requesters than the ledger lists: the others ask again', async () => {
      const payout = aPayout(300n);
      const waiting = Array.from({ length: 64 }, () => settle(payout));
      await pass(0);
      const queueFull = settle(payout);
      await pass(200);
      expect(await queueFull).toMatchObject({
        body: { errorReason: 'queue_full', transaction: '' },
        retryAfterSeconds: 5,
      });
      send(liveOf(payout));
      const pending = settle(payout);
      await pass(200);
      expect((await pending)?.body).toMatchObject({
        errorReason: 'settlement_pending',
        transaction: TX,
      });
      store.happens(liveOf(payout), 'included', TX);
      const again = settle(payout);
      await pass(1000);
      for (const answer of await Promise.all([...waiting, again])) {
        expect(answer?.body).toMatchObject({ success: true, transaction: TX });
      }
    });
  });

  describe('an action of a seller whose claim the ledger lost', () => {
    const NOTHING_LEFT: Reason = 'invalid_batch_settlement_evm_nothing_to_settle';
    const NONCE_USED: Reason = 'invalid_batch_settlement_evm_refund_simulation_failed';

    it.each([
      ['and knows no transaction', false],
      ['and knows its transaction', true],
    ])('is a success where it is done: its requester waits, %s', async (_, isSent) => {
      paidOut = 300n;
      const payout = aPayout(300n);
      isCompleted = true;
      service = aService();
      const settling = settle(payout);
      await pass(0);
      if (isSent) send(liveOf(payout));
      await pass(0);
      store.forgetAll();
      refusal = NOTHING_LEFT;
      await pass(1100);
      expect((await settling)?.body).toMatchObject({
        success: true,
        transaction: TX,
        amount: '300',
      });
    });

    it('is a success for a repeat, from whatever requester, and refused where nothing was lost', async () => {
      isCompleted = true;
      service = aService();
      [paidOut, refusal, isRefusedAsDone] = [300n, NOTHING_LEFT, true];
      const ask = async () => {
        const asking = settle(aPayout(300n));
        await pass(100);
        return (await asking)?.body;
      };
      expect(await ask()).toMatchObject({ errorReason: NOTHING_LEFT, transaction: '' });
      store.forgetAll();
      expect(await ask()).toMatchObject({ success: true, transaction: TX, amount: '300' });
      // What the check of the request does not call done is refused.
      isRefusedAsDone = false;
      expect(await ask()).toMatchObject({ errorReason: NOTHING_LEFT, transaction: '' });
    });

    it.each<[string, EvmChain, object]>([
      ['a success where it is done', aRefundChain(300n), { success: true, transaction: TX }],
      [
        'refused where another one has used its nonce',
        aRefundChain(100n),
        { errorReason: NONCE_USED, transaction: '' },
      ],
      [
        'a success without an amount where no node has logs',
        aRefundChain(100n, { hasLogs: false }),
        { success: true, transaction: '', amount: undefined },
      ],
      [
        'unknown where the chain does not show which one is done',
        aRefundChain(100n, { isHanging: true }),
        { errorReason: 'network_unavailable' },
      ],
    ])('is, as a refund, %s', async (_, chain, expected) => {
      [refusal, isRefusedAsDone] = [NONCE_USED, true];
      service = aService(chain);
      store.forgetAll();
      const asking = settle(await aRefund(300n));
      await pass(4000);
      const { amount, ...body } = (await asking)?.body ?? {};
      expect({ amount, ...body }).toMatchObject(expected);
    });

    it.each<[string, boolean, boolean, object]>([
      ['refused where the archive knows another one', false, false, { errorReason: NONCE_USED }],
      ['unknown without an answer of it', false, true, { errorReason: 'network_unavailable' }],
      ['a success where the chain shows it', true, false, { success: true, transaction: TX }],
    ])('is, as a refund that may be in the archive, %s', async (_, hasLogs, isAway, expected) => {
      [refusal, isRefusedAsDone] = [NONCE_USED, true];
      const archive = new FakeArchive();
      const { authorizationId = '', termsTag = '' } = identityOf(await aRefund(100n)) ?? {};
      const view = { state: 'finalized', isPaid: true, transaction: TX, termsTag } as const;
      archive.add(aSettlementView(view), authorizationId, CHAIN_ID);
      archive.isAway = isAway;
      service = aService(aRefundChain(300n, { hasLogs }), archive);
      store.forgetAll();
      const asking = settle(await aRefund(300n));
      await pass(4000);
      expect((await asking)?.body).toMatchObject(expected);
    });

    it('is refused where the chain shows that it is not done', async () => {
      isCompleted = true;
      service = aService();
      [paidOut, refusal, isRefusedAsDone] = [299n, NOTHING_LEFT, true];
      store.forgetAll();
      const asking = settle(aPayout(300n));
      await pass(100);
      expect((await asking)?.body).toMatchObject({ errorReason: NOTHING_LEFT, transaction: '' });
    });

    it('is pending, and not claimed again, while its transaction may still be mined', async () => {
      const payout = aPayout(300n);
      isCompleted = true;
      service = aService();
      const settling = settle(payout);
      await pass(0);
      send(liveOf(payout));
      store.forgetAll();
      await pass(1100);
      expect((await settling)?.body).toMatchObject({
        errorReason: 'settlement_pending',
        transaction: TX,
      });
      expect(jobs).toHaveLength(1);
    });

    it.each([
      ['refused where it is not done', false, NOTHING_LEFT, ''],
      ['pending where its transaction is known and not mined', true, 'settlement_pending', TX],
    ])('is %s', async (_, isSent, errorReason, transaction) => {
      const payout = aPayout(300n);
      isCompleted = true;
      service = aService();
      const settling = settle(payout);
      await pass(0);
      if (isSent) send(liveOf(payout));
      store.forgetAll();
      refusal = NOTHING_LEFT;
      await pass(1100);
      expect((await settling)?.body).toMatchObject({ success: false, errorReason, transaction });
    });
  });

  it('the ledger lost a claim whose payment was made, and its client hangs up: the sale is released', async () => {
    const payment = aPayment();
    const connection = { isWritable: true, closed: new Promise<void>(() => undefined) };
    const settling = settle(payment, { connection });
    await pass(0);
    store.forgetAll();
    store.goBack(RESTATE_MS);
    refusal = 'invalid_exact_evm_nonce_already_used';
    usedBy = { transaction: TX };
    const adopt = store.adopt.bind(store);
    store.adopt = (...args) => adopt(...args).finally(() => (connection.isWritable = false));
    await pass(1100);
    // Where it cannot be written, it is taken back.
    await (await settling)?.rollBack?.();
    // A ledger that lost everything knows no early requesters.
    await pass(60_000);
    const again = settle(payment);
    await pass(0);
    expect((await again)?.body).toMatchObject({ success: true, transaction: TX });
  });

  describe('a payment of which less than what was signed may be settled', () => {
    it('is answered with what was settled', async () => {
      const payment = await anUpto('400');
      const settling = settle(payment);
      await pay(payment);
      const body = { success: true, amount: '400', transaction: TX };
      expect((await settling)?.body).toMatchObject(body);
    });

    it('is settled for the amount of the first settle, and for no other', async () => {
      const [payment, more] = [await anUpto('400'), await anUpto('500')];
      const first = settle(payment, { key: 'order' });
      await pass(0);
      const duplicate = { success: false, errorReason: 'duplicate_settlement' };
      expect((await settle(more))?.body).toMatchObject(duplicate);
      await pay(payment);
      expect((await first)?.body).toMatchObject({ success: true, amount: '400' });
      // Not for the holder of its key either.
      const again = await settle(more, { key: 'order' });
      expect(again?.body).toMatchObject({ ...duplicate, transaction: TX });
      const same = await settle(payment, { key: 'order' });
      expect(same?.body).toMatchObject({ success: true, amount: '400' });
      expect(jobs).toHaveLength(1);
    });

    it('of two that ask at once for other amounts one is settled', async () => {
      const payments = [await anUpto('400'), await anUpto('500')] as const;
      const settling = Promise.all(payments.map((payment) => settle(payment)));
      await pay(payments[0]);
      const bodies = (await settling).map((answer) => answer?.body);
      expect(bodies.filter((body) => body?.success)).toHaveLength(1);
      expect(jobs).toHaveLength(1);
    });

    it('may be claimed for another amount once nothing of it is under way', async () => {
      const payment = await anUpto('400');
      const first = settle(payment);
      await pass(WAIT_MS + 100);
      expect((await first)?.body).toMatchObject({ errorReason: 'settlement_not_sent' });
      const other = await anUpto('500');
      const second = settle(other);
      await pay(other);
      expect((await second)?.body).toMatchObject({ success: true, amount: '500' });
    });

    it('is settled for nothing at once, without a transaction, and never for more', async () => {
      const free = await anUpto('0');
      const answer = await settle(free);
      expect(answer?.body).toMatchObject({ success: true, amount: '0', transaction: '' });
      expect(answer?.finality).toBe('finalized');
      expect(jobs).toEqual([]);
      for (const amount of ['0', '400']) {
        const later = await settle(await anUpto(amount));
        expect(later?.body).toMatchObject({
          success: false,
          errorReason: 'duplicate_settlement',
          transaction: '',
        });
      }
    });

    it('that was settled for nothing is another one’s when the answer did not arrive', async () => {
      const free = await anUpto('0');
      const answer = await settle(free);
      await answer?.rollBack?.();
      const more = await settle(await anUpto('400'));
      expect(more?.body).toMatchObject({ errorReason: 'duplicate_settlement' });
      expect((await settle(free))?.body).toMatchObject({ success: true, amount: '0' });
    });

    it('keeps its amount where the ledger lost it', async () => {
      const payment = await anUpto('400');
      const settling = settle(payment);
      await pass(0);
      store.forgetAll();
      store.goBack(RESTATE_MS);
      refusal = 'permit2_invalid_nonce';
      usedBy = { transaction: TX };
      await pass(1100);
      expect((await settling)?.body).toMatchObject({ success: true, amount: '400' });
    });
  });
});

/** The same authorization, whatever is to be settled of it. */
function anUpto(amount: string): Promise<Payment> {
  return anUptoPayment({ amount, requirements: { network: `eip155:${CHAIN_ID}` } });
}

const NO_IDENTITY = { authorizationId: '', termsTag: '', signedTag: '' };
