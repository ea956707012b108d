import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Address, type Hex, numberToHex, pad } from 'viem';
import type { AuthorizationUse } from '../../../platform/chain/authorization-use.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import type { UseOutcome } from '../../../platform/chain/use-search/use-search.js';
import { EndpointsDisagreeError } from '../../../protocol/errors.js';
import type { CallOutcome } from '../../../protocol/evm/chain-reader.js';
import {
  anAcceptedPayment,
  anEip3009Authorization,
} from '../../../protocol/payment/accepted-payment.builder.js';
import { MemoryLaneStore } from '../../ledger/memory/memory-lane-store.js';
import type { Attempt } from '../../model/attempt.js';
import type { OutcomeVerdict } from '../ports.js';
import { type Inclusion, TrackedAttempt } from '../state/tracked-attempt.js';
import { ChainOutcomeResolver } from './chain-outcome-resolver.js';

const OURS: Hex = `0x${'01'.repeat(32)}`;
const NOOP: Hex = `0x${'02'.repeat(32)}`;
const OTHER: Hex = `0x${'0f'.repeat(32)}`;
const OWN_SIGNER: Address = `0x${'aa'.repeat(20)}`;
const STRANGER: Address = `0x${'bb'.repeat(20)}`;
const DEADLINE = 2_000_000_000;
const SENT_AT = 10n;

const payment = anAcceptedPayment({
  authorization: anEip3009Authorization({ validBefore: BigInt(DEADLINE) }),
});
const finalized = (timestamp = DEADLINE - 100) => ({
  ...{ number: 20n, hash: OTHER, timestamp, baseFeePerGas: 0n, gasLimit: 0n },
});
const word = (value: number): CallOutcome => ({
  status: 'returned',
  data: pad(numberToHex(value), { size: 32 }),
});
const use = (more: Partial<AuthorizationUse> = {}): UseOutcome => ({
  kind: 'found',
  use: { transaction: OTHER, blockNumber: 15n, logIndex: 4, ...more },
});

/** What a final block shows of a settlement that its attempt did not pay, and what becomes of it. */
describe('ChainOutcomeResolver', () => {
  let state: CallOutcome;
  let searched: UseOutcome | 'searching';
  let sender: Address;
  let doEndpointsAgree: boolean;
  let store: MemoryLaneStore;
  let resolver: ChainOutcomeResolver;

  beforeEach(() => {
    state = word(1);
    searched = use();
    sender = STRANGER;
    doEndpointsAgree = true;
    store = new MemoryLaneStore(() => 0);
    const view = {
      chainId: 56,
      call: () => Promise.resolve(state),
      transaction: (hash: Hex) => Promise.resolve({ hash, from: sender }),
    };
    const chain = {
      chainId: 56,
      agree: async ({ read }: { read: (from: unknown) => Promise<{ value: unknown }> }) => {
        if (!doEndpointsAgree) throw new EndpointsDisagreeError(56, 'a state');
        return (await read(view)).value;
      },
      withView: (work: (from: unknown) => unknown) => work(view),
      uses: { look: () => searched },
    } as unknown as EvmChain;
    resolver = new ChainOutcomeResolver({
      chain,
      store,
      maxGas: 300_000n,
      onSearched: () => undefined,
      isOwnSigner: (address) => Promise.resolve(address === OWN_SIGNER),
    });
  });

  function tracked(kind: Attempt['kind'] = 'single'): TrackedAttempt {
    const transaction = { raw: '0x', gas: 1n, signedAt: 0 } as const;
    const fees = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n };
    const attempt: Attempt = {
      ...{ accountNonce: 0, kind, settlementIds: ['a'], allocatedAtBlock: SENT_AT },
      transactions: [
        { ...transaction, ...fees, hash: OURS, isNoop: false },
        { ...transaction, ...fees, hash: NOOP, isNoop: true },
      ],
    };
    return new TrackedAttempt({
      attempt,
      payments: new Map([['a', payment]]),
      atBlock: SENT_AT,
      nowMs: 0,
    });
  }

  const mined = (more: Partial<Inclusion> = {}): Inclusion => ({
    ...{ transaction: OURS, blockNumber: 12n, blockHash: OTHER, isSuccess: false },
    ...{ gasUsed: 1n, effectiveGasPrice: 1n, credited: new Map() },
    ...more,
  });

  const short = (verdict: OutcomeVerdict): string => {
    if (verdict.kind !== 'ended') return verdict.kind;
    return `${verdict.ending.state} ${verdict.ending.isPaid ? 'paid' : 'unpaid'}`;
  };
  const judged = async (
    inclusion: Inclusion | undefined = mined(),
    kind: Attempt['kind'] = 'single',
    timestamp?: number,
  ): Promise<string> =>
    short(await resolver.judge('a', payment, tracked(kind), inclusion, finalized(timestamp)));
  const judgedDead = async (hashes: readonly Hex[] = []): Promise<string> => {
    const sent = { sinceBlock: SENT_AT, hashes };
    return short(await resolver.judgeAgain('a', payment, sent, finalized()));
  };

  describe('unused', () => {
    beforeEach(() => {
      state = word(0);
    });

    it('after its own transaction failed: it has failed', async () => {
      expect(await judged()).toBe('reverted unpaid');
    });
    it('after a batch that did not pay it: it is sent again', async () => {
      expect(await judged(mined(), 'batch')).toBe('requeue');
    });
    it('after a no-op took its nonce: it is sent again', async () => {
      expect(await judged(mined({ transaction: NOOP, isSuccess: true }))).toBe('requeue');
    });
    it('past its deadline: it has expired', async () => {
      expect(await judged(mined(), 'single', DEADLINE)).toBe('expired unpaid');
    });
    it('while its attempt may land: it waits', async () => {
      const verdict = await resolver.judge('a', payment, tracked(), undefined, finalized());
      expect(verdict.kind).toBe('waiting');
    });
    it('and no attempt carries it: it is sent again', async () => {
      expect(await judgedDead()).toBe('requeue');
    });
  });

  describe('used', () => {
    it('by a transaction that copied ours: the payee has its money', async () => {
      expect(await judged()).toBe('foreign paid');
    });
    it('before ours was broadcast: it was presented elsewhere', async () => {
      searched = use({ blockNumber: SENT_AT });
      expect(await judged()).toBe('foreign unpaid');
    });
    it('without this transfer: it was cancelled', async () => {
      searched = use({ logIndex: undefined });
      expect(await judged()).toBe('foreign unpaid');
    });
    it('by a log that is credited to another settlement: not by this one', async () => {
      await store.credit(56, OTHER, 4, 'another');
      expect(await judged()).toBe('foreign unpaid');
    });
    it('by ours, without evidence: it has not paid', async () => {
      searched = use({ transaction: OURS, logIndex: undefined });
      expect(await judged()).toBe('reverted unpaid');
    });
    it('by ours, whose evidence is of another settlement of the batch: it has not paid', async () => {
      searched = use({ transaction: OURS });
      expect(await judged(mined({ isSuccess: true }), 'batch')).toBe('reverted unpaid');
    });
    it('by ours, of which a node said that it failed: the log proves that it has paid', async () => {
      searched = use({ transaction: OURS });
      expect(await judged()).toBe('finalized paid');
    });
    it('by ours, said to have failed, and the log pays for another: it has not paid', async () => {
      searched = use({ transaction: OURS });
      await store.credit(56, OURS, 4, 'another');
      expect(await judged()).toBe('reverted unpaid');
    });
    it('by ours, which was taken for dead: it has paid', async () => {
      searched = use({ transaction: OURS });
      expect(await judgedDead([OURS])).toBe('finalized paid');
    });
    it('by one of our signers, of which the ledger knows nothing any more: it is ours', async () => {
      sender = OWN_SIGNER;
      searched = use({ blockNumber: SENT_AT - 2n });
      expect(await judgedDead()).toBe('finalized paid');
    });
    it('by whom is being searched for', async () => {
      searched = 'searching';
      expect(await judged()).toBe('searching');
    });
    it('by whom cannot be told: not found is not absent', async () => {
      searched = { kind: 'not_found', readFrom: undefined };
      expect(await judged()).toBe('waiting');
    });
  });

  it.each<[string, CallOutcome]>([
    ['reverts when it is asked', { status: 'reverted', data: '0x' }],
    ['burns the gas it is asked with', { status: 'halted' }],
    ['answers neither yes nor no', { status: 'returned', data: '0x' }],
  ])('a token that %s tells nothing: unknown is not failed', async (_, outcome) => {
    state = outcome;
    expect(await judged()).toBe('waiting');
    expect(await judgedDead()).toBe('waiting');
  });

  it('endpoints that contradict each other tell nothing', async () => {
    doEndpointsAgree = false;
    expect(await judged()).toBe('waiting');
  });
});
