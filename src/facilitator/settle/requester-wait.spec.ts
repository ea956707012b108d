import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Hex } from 'viem';
import { MemorySettlementStore } from '../../../test/twins/settlement/ledger/memory-settlement-store.js';
import {
  aPayment,
  aRequester,
  CHAIN_ID,
} from '../../../test/twins/settlement/ledger/settlement-store-contract.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import type { SettlementUpdate } from '../../settlement/ledger/settlement-events.js';
import type { ClaimRef } from '../../settlement/ledger/settlement-store.js';
import type { Finality } from '../../settlement/model/settlement.js';
import { AcknowledgedAnswers } from './acknowledged-answers.js';
import { DeferredSteps } from './deferred-steps.js';
import { type Connection, RequesterWait, type Waited } from './requester-wait.js';
import { SettleAnswers } from './settle-answer.js';

const TX: Hex = `0x${'5f'.repeat(32)}`;
const SILENT = { warn: (): undefined => undefined };
const WAIT_MS = 20_000;
const GRACE_MS = 60_000;

class FakeConnection implements Connection {
  isWritable = true;
  close!: () => void;
  readonly closed = new Promise<void>((resolve) => {
    this.close = () => {
      this.isWritable = false;
      resolve();
    };
  });
}

function deadlineIn(ms: number): () => number {
  const at = Date.now() + ms;
  return () => at;
}

describe('a requester that waits', () => {
  let store: MemorySettlementStore;
  let listeners: Map<string, Set<(event: SettlementUpdate) => void>>;
  let owed: DeferredSteps;
  let made: ReturnType<typeof aPayment>;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    store = new MemorySettlementStore(() => Date.now(), GRACE_MS);
    listeners = new Map();
    store.onUpdate = (id, kind, transaction) => {
      const event: SettlementUpdate = {
        kind: kind as SettlementUpdate['kind'],
        transaction,
        reason: undefined,
      };
      for (const listener of listeners.get(id) ?? []) listener(event);
    };
    owed = new DeferredSteps(SILENT);
    made = aPayment();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  async function claimed(requester: Requester): Promise<ClaimRef> {
    const result = await store.claim(requester, {
      ...made,
      means: { balance: undefined, allowance: undefined },
      isAccepted: false,
    });
    if (result.kind !== 'claimed') throw new Error(result.kind);
    return { chainId: CHAIN_ID, id: result.id };
  }

  function waitOf(
    ref: ClaimRef,
    requester: Requester,
    {
      finality = 'included',
      connection = new FakeConnection(),
      isRepeatable = false,
    }: WaitOverrides = {},
  ): RequesterWait {
    return new RequesterWait(ref, {
      store,
      events: {
        listen: (id, listener) => {
          const all = listeners.get(id) ?? new Set();
          listeners.set(id, all.add(listener));
          return () => all.delete(listener);
        },
      },
      answers: new SettleAnswers(
        { payerAsSent: undefined, networkAsSent: 'eip155:31337' },
        finality,
        ref.id,
      ),
      requester,
      authorizationId: 'authorization',
      connection,
      finality,
      deadlineAt: deadlineIn(WAIT_MS),
      ownDeadlineAt: Date.now() + WAIT_MS,
      deferred: owed,
      acknowledged: new AcknowledgedAnswers(
        store,
        owed,
        { processId: 'p' },
        { networks: [] },
        SILENT,
      ),
      isRepeatable,
      unknownFailure: 'invalid_exact_evm_transaction_failed',
    });
  }

  interface WaitOverrides {
    readonly finality?: Finality;
    readonly isRepeatable?: boolean;
    readonly connection?: FakeConnection;
  }

  function sent(ref: ClaimRef): void {
    for (const event of ['job_seen', 'taken'] as const) store.happens(ref.id, event);
    store.happens(ref.id, 'allocated', TX);
  }

  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

  function bodyOf(waited: Waited): Record<string, unknown> {
    if (waited.kind !== 'answered') throw new Error(waited.kind);
    const copy: Record<string, unknown> = {};
    return Object.assign(copy, waited.answer?.body);
  }

  it('gets success as soon as a block has it', async () => {
    const requester = aRequester();
    const ref = await claimed(requester);
    const waiting = waitOf(ref, requester).run(true);
    sent(ref);
    store.happens(ref.id, 'included', TX);
    await pass(0);
    expect(bodyOf(await waiting)).toMatchObject({ success: true, transaction: TX });
  });

  it('gets it at the finality it asked for', async () => {
    const requester = aRequester();
    const ref = await claimed(requester);
    const waiting = waitOf(ref, requester, { finality: 'finalized' }).run(true);
    sent(ref);
    store.happens(ref.id, 'included', TX);
    await pass(3000);
    store.happens(ref.id, 'finalized_paid', TX);
    await pass(0);
    expect(bodyOf(await waiting)).toMatchObject({ success: true });
  });

  it('two that wait: one success, and one duplicate with its hash', async () => {
    const [first, second] = [aRequester(), aRequester()];
    const ref = await claimed(first);
    const waits = [waitOf(ref, first).run(true), waitOf(ref, second).run(false)];
    await pass(10);
    sent(ref);
    store.happens(ref.id, 'included', TX);
    await pass(1000);
    const bodies = (await Promise.all(waits)).map(bodyOf);
    expect(bodies.filter(({ success }) => success === true)).toHaveLength(1);
    expect(bodies.find(({ success }) => success !== true)).toMatchObject({
      errorReason: 'duplicate_settlement',
      transaction: TX,
    });
  });

  it('what may be repeated is a success to all that wait, and to who comes later', async () => {
    const [first, second] = [aRequester(), aRequester()];
    const stranger = aRequester({ address: '203.0.113.66' });
    const isRepeatable = true;
    const ref = await claimed(first);
    const waits = [
      waitOf(ref, first, { isRepeatable }).run(true),
      waitOf(ref, second, { isRepeatable }).run(false),
    ];
    await pass(10);
    sent(ref);
    waits.push(waitOf(ref, stranger, { isRepeatable, finality: 'finalized' }).run(false));
    store.happens(ref.id, 'included', TX);
    await pass(1000);
    store.happens(ref.id, 'finalized_paid', TX);
    await pass(1000);
    for (const waited of await Promise.all(waits)) {
      expect(bodyOf(waited)).toMatchObject({ success: true, transaction: TX });
    }
  });

  it('what may be repeated and is not done yet is pending, also where a 202 has sold it', async () => {
    const [first, second] = [aRequester(), aRequester()];
    const ref = await claimed(first);
    expect((await store.redeem(ref, first, 'async')).kind).toBe('sold');
    sent(ref);
    const waiting = waitOf(ref, second, { isRepeatable: true }).run(false);
    await pass(WAIT_MS);
    expect(bodyOf(await waiting)).toMatchObject({ errorReason: 'settlement_pending' });
  });

  it('a copier after the broadcast gets pending with the hash, and the seller success', async () => {
    const seller = aRequester({ address: '198.51.100.1' });
    const copier = aRequester({ address: '203.0.113.66' });
    const ref = await claimed(seller);
    sent(ref);
    store.happens(ref.id, 'included', TX);
    const copying = waitOf(ref, copier).run(false);
    await pass(WAIT_MS);
    expect(bodyOf(await copying)).toMatchObject({
      errorReason: 'settlement_pending',
      transaction: TX,
    });
    expect(bodyOf(await waitOf(ref, seller).run(false))).toMatchObject({ success: true });
  });

  it('a refusal is answered to all who wait', async () => {
    const [first, second] = [aRequester(), aRequester()];
    const ref = await claimed(first);
    const waits = [waitOf(ref, first).run(true), waitOf(ref, second).run(false)];
    await pass(10);
    for (const event of ['job_seen', 'taken'] as const) store.happens(ref.id, event);
    store.happens(ref.id, 'refused', undefined, 'invalid_exact_evm_insufficient_balance');
    await pass(1000);
    for (const waited of await Promise.all(waits)) {
      expect(waited).toMatchObject({ isKeyFree: true });
      expect(bodyOf(waited)).toMatchObject({
        errorReason: 'invalid_exact_evm_insufficient_balance',
        transaction: '',
      });
    }
  });

  it('its time up with nothing signed: settlement_not_sent, and nothing will be', async () => {
    const requester = aRequester();
    const ref = await claimed(requester);
    const waiting = waitOf(ref, requester).run(true);
    await pass(WAIT_MS);
    const waited = await waiting;
    expect(waited).toMatchObject({ isKeyFree: true });
    expect(bodyOf(waited)).toMatchObject({ errorReason: 'settlement_not_sent', transaction: '' });
  });

  it('its time up with something signed: settlement_pending with the hash', async () => {
    const requester = aRequester();
    const ref = await claimed(requester);
    const waiting = waitOf(ref, requester).run(true);
    sent(ref);
    await pass(WAIT_MS);
    expect(bodyOf(await waiting)).toMatchObject({
      errorReason: 'settlement_pending',
      transaction: TX,
    });
  });

  it('a hash once read is in the answer, also when the ledger is away at the end', async () => {
    const requester = aRequester();
    const ref = await claimed(requester);
    const waiting = waitOf(ref, requester).run(true);
    sent(ref);
    store.outage = 'away';
    await pass(WAIT_MS);
    expect(bodyOf(await waiting)).toMatchObject({
      errorReason: 'settlement_pending',
      transaction: TX,
    });
    // Its place among the waiting is given up when the ledger is back.
    expect(owed.count).toBe(1);
    store.outage = 'none';
    await pass(1000);
    expect(owed.count).toBe(0);
    expect((await store.look(made.identity, payerOf(made))).isWaitedFor).toBe(false);
  });

  it('the ledger away from the beginning, and no hash: network_unavailable', async () => {
    const requester = aRequester();
    const ref = await claimed(requester);
    store.outage = 'away';
    const waiting = waitOf(ref, requester).run(true);
    await pass(WAIT_MS);
    expect(bodyOf(await waiting)).toMatchObject({
      errorReason: 'network_unavailable',
      transaction: '',
    });
    store.outage = 'none';
    await pass(1000);
    // Nothing was signed, and the last one has left.
    expect((await store.join(ref, aRequester())).kind).not.toBe('gone');
    expect((await store.look(made.identity, payerOf(made))).known).toBeUndefined();
  });

  it('the reply of a redeem is lost: after a retry this requester gets the sale', async () => {
    const [requester, other] = [aRequester(), aRequester()];
    const ref = await claimed(requester);
    await store.join(ref, other);
    const waiting = waitOf(ref, requester).run(true);
    sent(ref);
    store.outage = 'replies_lost';
    store.happens(ref.id, 'included', TX);
    await pass(500);
    store.outage = 'none';
    await pass(500);
    expect(bodyOf(await waiting)).toMatchObject({ success: true });
    expect((await store.redeem(ref, other, 'included')).kind).toBe('lost');
  });

  it('the reply of a redeem is swallowed and its client hangs up: the sale is given up', async () => {
    const [requester, other] = [aRequester(), aRequester()];
    const connection = new FakeConnection();
    const ref = await claimed(requester);
    await store.join(ref, other);
    const waiting = waitOf(ref, requester, { connection }).run(true);
    sent(ref);
    store.outage = 'replies_lost';
    store.happens(ref.id, 'included', TX);
    await pass(150);
    store.outage = 'away';
    connection.close();
    await pass(200);
    expect(await waiting).toMatchObject({ answer: undefined });
    store.outage = 'none';
    await pass(1000);
    expect((await store.redeem(ref, other, 'included')).kind).toBe('sold');
  });

  it('the reply of its leaving is swallowed: it holds nothing', async () => {
    const requester = aRequester();
    const ref = await claimed(requester);
    const waiting = waitOf(ref, requester).run(true);
    await pass(WAIT_MS - 10);
    store.outage = 'replies_lost';
    await pass(10);
    expect(bodyOf(await waiting)).toMatchObject({ errorReason: 'network_unavailable' });
    store.outage = 'none';
    await pass(1000);
    expect((await store.look(made.identity, payerOf(made))).known).toBeUndefined();
  });

  it('a response that does not finish frees the sale for who waits', async () => {
    const [first, second] = [aRequester(), aRequester()];
    const ref = await claimed(first);
    await store.join(ref, second);
    sent(ref);
    store.happens(ref.id, 'included', TX);
    const waited = await waitOf(ref, first).run(false);
    if (waited.kind !== 'answered') throw new Error(waited.kind);
    await waited.answer?.rollBack?.();
    expect((await store.redeem(ref, second, 'included')).kind).toBe('sold');
  });

  it('a client that hangs up before anything is signed withdraws it', async () => {
    const requester = aRequester();
    const connection = new FakeConnection();
    const ref = await claimed(requester);
    const waiting = waitOf(ref, requester, { connection }).run(true);
    await pass(10);
    connection.close();
    await pass(10);
    expect(await waiting).toMatchObject({ kind: 'answered', answer: undefined });
    expect((await store.look(made.identity, payerOf(made))).known).toBeUndefined();
  });

  it('shows that it lives once a second', async () => {
    const requester = aRequester();
    const ref = await claimed(requester);
    const waiting = waitOf(ref, requester).run(true);
    sent(ref);
    await pass(12_000);
    expect((await store.look(made.identity, payerOf(made))).isWaitedFor).toBe(true);
    await pass(8000);
    await waiting;
  });

  it('a ledger that was flushed: a request with a known hash is pending, others are verified again', async () => {
    const [first, second] = [aRequester(), aRequester()];
    const ref = await claimed(first);
    const heard = waitOf(ref, first).run(true);
    sent(ref);
    store.forgetAll();
    await pass(1000);
    expect(bodyOf(await heard)).toMatchObject({ errorReason: 'settlement_pending' });
    expect(await waitOf(ref, second).run(false)).toEqual({ kind: 'unknown' });
  });
});

function payerOf({ payment }: ReturnType<typeof aPayment>) {
  const { from: payer } = payment.authorization;
  return { ...payment, payer, blamed: [payer] };
}
