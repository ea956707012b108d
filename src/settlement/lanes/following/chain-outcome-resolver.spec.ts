import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Address, type Hex, numberToHex, pad } from 'viem';
import {
  anAcceptedPayment,
  anEip3009Authorization,
} from '../../../../test/builders/protocol/payment/accepted-payment.js';
import { MemoryLaneStore } from '../../../../test/twins/settlement/ledger/memory-lane-store.js';
import type { AuthorizationUse } from '../../../platform/chain/authorization-use.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import type { UseOutcome } from '../../../platform/chain/use-search/use-search.js';
import { ChainUnavailableError, EndpointsDisagreeError } from '../../../protocol/errors.js';
import type { Call } from '../../../protocol/evm/calls.js';
import type { CallOutcome } from '../../../protocol/evm/chain-reader.js';
import { callOf, transferOf } from '../../../protocol/payment/payment-facts.js';
import type { Attempt } from '../../model/attempt.js';
import type { OutcomeVerdict } from '../ports.js';
import { type Inclusion, TrackedAttempt } from '../state/tracked-attempt.js';
import { ChainOutcomeResolver } from './chain-outcome-resolver.js';

const OURS: Hex = `0x${'01'.repeat(32)}`;
const NOOP: Hex = `0x${'02'.repeat(32)}`;
const OTHER: Hex = `0x${'0f'.repeat(32)}`;
const BLOCK: Hex = `0x${'b1'.repeat(32)}`;
const OWN_SIGNER: Address = `0x${'aa'.repeat(20)}`;
const STRANGER: Address = `0x${'bb'.repeat(20)}`;
const DEADLINE = 2_000_000_000;
const SENT_AT = 10n;

const payment = anAcceptedPayment({
  authorization: anEip3009Authorization({ validBefore: BigInt(DEADLINE) }),
});
const finalized = (timestamp = DEADLINE - 100) => ({
  number: 20n,
  hash: OTHER,
  timestamp,
  baseFeePerGas: 0n,
  gasLimit: 0n,
});
const word = (value: number): CallOutcome => ({
  status: 'returned',
  data: pad(numberToHex(value), { size: 32 }),
});
const use = (more: Partial<AuthorizationUse> = {}): UseOutcome => ({
  kind: 'found',
  use: { transaction: OTHER, blockNumber: 15n, blockHash: BLOCK, logIndex: 4, ...more },
});

interface Span {
  readonly from: bigint;
  readonly to: bigint;
}

/** What a final block shows of a settlement that its attempt did not pay, and what becomes of it. */
describe('ChainOutcomeResolver', () => {
  let state: CallOutcome;
  let searched: UseOutcome | 'searching';
  /** What each search was for, and what comes of it. */
  let searches: { readonly from: bigint; readonly to: bigint; readonly by: unknown }[];
  let search: (from: bigint) => UseOutcome | 'searching';
  /** What the contracts say to the same call now. */
  let replayed: CallOutcome | Error;
  let sender: Address;
  /** The hash of any block. */
  let blockHash: Hex;
  let doEndpointsAgree: boolean;
  let store: MemoryLaneStore;
  let resolver: ChainOutcomeResolver;

  beforeEach(() => {
    state = word(1);
    searched = use();
    searches = [];
    search = () => searched;
    replayed = { status: 'reverted', data: '0x' };
    sender = STRANGER;
    blockHash = BLOCK;
    doEndpointsAgree = true;
    store = new MemoryLaneStore(() => 0);
    const view = {
      chainId: 56,
      call: ({ data }: Call) => {
        if (data !== callOf(payment).data) return Promise.resolve(state);
        return replayed instanceof Error ? Promise.reject(replayed) : Promise.resolve(replayed);
      },
      block: () => Promise.resolve({ hash: blockHash }),
      transaction: (hash: Hex) => Promise.resolve({ hash, from: sender }),
    };
    const chain = {
      chainId: 56,
      quorumRead: async ({ read }: { read: (from: unknown) => Promise<{ value: unknown }> }) => {
        if (!doEndpointsAgree) throw new EndpointsDisagreeError(56, 'a state');
        return (await read(view)).value;
      },
      withView: (work: (from: unknown) => unknown) => work(view),
      uses: {
        look: (...[, { from, to }, , by]: readonly [unknown, Span, unknown, unknown]) => {
          searches.push({ from, to, by });
          return search(from);
        },
      },
    } as unknown as EvmChain;
    resolver = new ChainOutcomeResolver({
      chain,
      endings: store.endings,
      maxGas: 300_000n,
      onSearched: () => undefined,
      isOwnSigner: (address) => Promise.resolve(address === OWN_SIGNER),
    });
  });

  function tracked(
    kind: Attempt['kind'] = 'single',
    newestBlock?: Attempt['newestBlock'],
  ): TrackedAttempt {
    const transaction = { raw: '0x', gas: 1n, signedAt: 0 } as const;
    const fees = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n };
    const attempt: Attempt = {
      accountNonce: 0,
      kind,
      settlementIds: ['a'],
      allocatedAtBlock: SENT_AT,
      ...(newestBlock && { newestBlock }),
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
    transaction: OURS,
    blockNumber: 12n,
    blockHash: OTHER,
    isSuccess: false,
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    credited: new Map(),
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
    short(await resolver.resolve('a', payment, tracked(kind), inclusion, finalized(timestamp)));
  const judgedDead = async (hashes: readonly Hex[] = []): Promise<string> => {
    const sent = { sinceBlock: SENT_AT, hashes };
    return short(await resolver.resolveAgain('a', payment, sent, finalized()));
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
      const verdict = await resolver.resolve('a', payment, tracked(), undefined, finalized());
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
    it('by any sender: it ends with the block and the hash of that transaction', async () => {
      const place = { transaction: OTHER, blockNumber: 15n, blockHash: BLOCK };
      const judge = () => resolver.resolve('a', payment, tracked(), mined(), finalized());
      expect(await judge()).toMatchObject({ ending: { state: 'foreign', isPaid: true, ...place } });
      searched = use({ logIndex: undefined });
      expect(await judge()).toMatchObject({ ending: { isPaid: false, ...place } });
    });
    it('before ours was broadcast: it was presented elsewhere', async () => {
      searched = use({ blockNumber: SENT_AT });
      expect(await judged()).toBe('foreign unpaid');
    });
    describe('while one node showed a newer block than the others', () => {
      const shown = { number: SENT_AT + 8n, hash: BLOCK };
      const judgedWith = async (newestBlock = shown): Promise<string> =>
        short(
          await resolver.resolve(
            'a',
            payment,
            tracked('single', newestBlock),
            mined(),
            finalized(),
          ),
        );

      it('that the chain does not have: a copy in a block after the broadcast has paid', async () => {
        blockHash = OTHER;
        expect(await judgedWith()).toBe('foreign paid');
      });
      it('that was one: it was presented elsewhere before', async () => {
        expect(await judgedWith()).toBe('foreign unpaid');
        searched = use({ blockNumber: SENT_AT + 9n });
        expect(await judgedWith()).toBe('foreign paid');
      });
      it('that is not final, or in doubt: it waits', async () => {
        expect(await judgedWith({ number: 21n, hash: BLOCK })).toBe('waiting');
      });
    });
    it('without this transfer: it was cancelled', async () => {
      searched = use({ logIndex: undefined });
      expect(await judged()).toBe('foreign unpaid');
    });
    it('by a log that is credited to another settlement: not by this one', async () => {
      await store.endings.credit(56, OTHER, 4, 'another');
      expect(await judged()).toBe('foreign unpaid');
    });
    it('with more logs of such a payment: by one that is credited to no other', async () => {
      searched = use({ otherLogs: [6, 8] });
      await store.endings.credit(56, OTHER, 4, 'another');
      const judge = () => resolver.resolve('a', payment, tracked(), mined(), finalized());
      const paid = { ending: { state: 'foreign', isPaid: true, logIndex: 6 } };
      expect(await judge()).toMatchObject(paid);
      expect(await judge()).toMatchObject(paid);
      for (const log of [6, 8]) await store.endings.credit(56, OTHER, log, 'another');
      expect(await judge()).toMatchObject(paid);
      expect(await store.endings.credit(56, OTHER, 8, 'a')).toBe(false);
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
      await store.endings.credit(56, OURS, 4, 'another');
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
    it('by an unknown transaction: not found is not absent', async () => {
      searched = { kind: 'not_found', readFrom: undefined };
      expect(await judged()).toBe('waiting');
    });
  });

  describe('a use is searched for', () => {
    const NOT_FOUND = (readFrom: bigint | undefined): UseOutcome => ({
      kind: 'not_found',
      readFrom,
    });
    const SINCE = { from: SENT_AT + 1n, to: 20n, by: undefined };
    const BEFORE = { from: 0n, to: SENT_AT, by: 'anybody' };

    it('first since the broadcast, then before it', async () => {
      search = (from) => (from > SENT_AT ? NOT_FOUND(from) : use({ blockNumber: 9n }));
      expect(await judged()).toBe('foreign unpaid');
      expect(searches).toEqual([SINCE, BEFORE]);
    });

    it('no further once it is found since the broadcast', async () => {
      expect(await judged()).toBe('foreign paid');
      expect(searches).toEqual([SINCE]);
    });

    it.each<[string, bigint | undefined, string]>([
      ['all blocks since were read: it was used before', SENT_AT + 1n, 'foreign unpaid'],
      ['the first block since was not read', SENT_AT + 2n, 'waiting'],
      ['nothing could be read', undefined, 'waiting'],
    ])('and is not found: %s', async (_, readFrom, expected) => {
      search = () => NOT_FOUND(readFrom);
      expect(await judged()).toBe(expected);
    });

    it('and no older use can be found: it is used all the same', async () => {
      search = (from) => NOT_FOUND(from > SENT_AT ? from : undefined);
      const verdict = await resolver.resolve('a', payment, tracked(), mined(), finalized());
      expect(verdict).toEqual({
        kind: 'ended',
        ending: {
          id: 'a',
          state: 'foreign',
          isPaid: false,
          reason: 'invalid_exact_evm_nonce_already_used',
        },
      });
    });

    it('before the broadcast, by one that paid exactly this: it is refused, with the log that shows it', async () => {
      const { payTo, amount } = transferOf(payment);
      const ending = async (moved: AuthorizationUse['moved']): Promise<unknown> => {
        const use = {
          transaction: OTHER,
          blockNumber: 5n,
          blockHash: OTHER,
          logIndex: undefined,
        };
        search = (from) =>
          from > SENT_AT
            ? NOT_FOUND(from)
            : { kind: 'found', use: { ...use, ...(moved && { moved }) } };
        return resolver.resolve('a', payment, tracked(), mined(), finalized());
      };
      const unpaid = { id: 'a', state: 'foreign', isPaid: false, transaction: OTHER };
      expect(await ending({ payTo, amount, logIndex: 4 })).toMatchObject({
        ending: { ...unpaid, logIndex: 4 },
      });
      for (const moved of [undefined, { payTo, amount: amount + 1n, logIndex: 4 }]) {
        expect(await ending(moved)).not.toHaveProperty('ending.logIndex');
      }
    });

    it('before the broadcast, too, for as long as it takes', async () => {
      search = (from) => (from > SENT_AT ? NOT_FOUND(from) : 'searching');
      expect(await judged()).toBe('searching');
    });

    it.each<[string, bigint, string, readonly (typeof BEFORE)[]]>([
      ['older than the broadcast tells nothing of what came after it', SENT_AT - 1n, 'waiting', []],
      ['of the broadcast itself has nothing after it', SENT_AT, 'foreign unpaid', [BEFORE]],
    ])('by a final block that is %s', async (_, number, expected, spans) => {
      searched = use({ blockNumber: SENT_AT - 5n });
      const verdict = await resolver.resolve('a', payment, tracked(), mined(), {
        ...finalized(),
        number,
      });
      expect([short(verdict), searches]).toEqual([expected, spans]);
    });

    it('no more than five thousand blocks back', async () => {
      search = (from) => (from > 9000n ? NOT_FOUND(from) : use({ blockNumber: 8000n }));
      const sent = { sinceBlock: 9000n, hashes: [] };
      await resolver.resolveAgain('a', payment, sent, { ...finalized(), number: 9001n });
      expect(searches).toEqual([
        { from: 9001n, to: 9001n, by: undefined },
        { from: 4000n, to: 9000n, by: 'anybody' },
      ]);
    });
  });

  describe('while its attempt may still be mined', () => {
    const inFlight = async () =>
      short(await resolver.resolve('a', payment, tracked(), undefined, finalized()));

    it.each<[string, () => UseOutcome, string]>([
      [
        'was used by it: its receipt is yet to be seen',
        () => use({ transaction: OURS }),
        'waiting',
      ],
      ['was used by a copy of it: the payee has its money', () => use(), 'foreign paid'],
      ['was cancelled: it will not pay', () => use({ logIndex: undefined }), 'foreign unpaid'],
    ])('and the authorization %s', async (_, found, expected) => {
      searched = found();
      expect(await inFlight()).toBe(expected);
    });

    it('and was used by a transaction that cannot be found: it waits for its receipt', async () => {
      search = (from) => ({ kind: 'not_found', readFrom: from });
      expect(await inFlight()).toBe('waiting');
    });

    it('and its deadline is over with it unused: it has expired', async () => {
      state = word(0);
      const late = finalized(DEADLINE);
      const verdict = await resolver.resolve('a', payment, tracked(), undefined, late);
      expect(short(verdict)).toBe('expired unpaid');
    });
  });

  describe('names why an attempt failed', () => {
    const reasonOf = async (inclusion = mined()): Promise<unknown> => {
      state = word(0);
      const verdict = await resolver.resolve('a', payment, tracked(), inclusion, finalized());
      return verdict.kind === 'ended' ? verdict.ending : verdict.kind;
    };
    const FAILED = 'invalid_exact_evm_transaction_failed';

    it.each<[string, CallOutcome | Error, string]>([
      [
        'as the token says now',
        // AuthorizationExpired() of the token.
        { status: 'reverted', data: '0x0f05f5bf' },
        'invalid_exact_evm_payload_authorization_valid_before',
      ],
      ['with unknown revert data', { status: 'reverted', data: '0xdeadbeef' }, FAILED],
      ['though it would pass now', { status: 'returned', data: '0x' }, FAILED],
      ['though it burns all gas now', { status: 'halted' }, FAILED],
      ['while no node answers', new ChainUnavailableError(56, 'eth_call'), FAILED],
    ])('%s', async (_, outcome, reason) => {
      replayed = outcome;
      expect(await reasonOf()).toEqual({
        id: 'a',
        state: 'reverted',
        isPaid: false,
        reason,
        transaction: OURS,
        blockNumber: 12n,
        blockHash: OTHER,
      });
    });

    it('without asking where it succeeded and moved nothing', async () => {
      replayed = new TypeError('it was asked');
      expect(await reasonOf(mined({ isSuccess: true }))).toMatchObject({
        reason: 'invalid_exact_evm_transfer_event_mismatch',
      });
    });

    it('and rethrows an unexpected error', async () => {
      replayed = new TypeError('a fault');
      await expect(reasonOf()).rejects.toThrow(TypeError);
    });
  });

  it.each<[string, Address, number | undefined, string]>([
    ['a stranger', STRANGER, 4, 'foreign unpaid'],
    ['one of our signers, without this transfer', OWN_SIGNER, undefined, 'foreign unpaid'],
    ['one of our signers', OWN_SIGNER, 4, 'finalized paid'],
  ])('used before anything was sent, by %s', async (_, from, logIndex, expected) => {
    sender = from;
    searched = use({ blockNumber: SENT_AT, logIndex });
    expect(await judgedDead()).toBe(expected);
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
