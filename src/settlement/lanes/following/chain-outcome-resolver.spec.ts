import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Address,
  decodeFunctionData,
  encodeFunctionResult,
  type Hex,
  multicall3Abi,
  numberToHex,
  pad,
} from 'viem';
import {
  anAcceptedPayment,
  anEip3009Authorization,
} from '../../../../test/builders/protocol/payment/accepted-payment.js';
import { MemoryLaneStore } from '../../../../test/twins/settlement/ledger/memory-lane-store.js';
import type { AuthorizationUse } from '../../../platform/chain/authorization-use.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import type { UseOutcome } from '../../../platform/chain/use-search/use-search.js';
import { ChainUnavailableError, EndpointsDisagreeError } from '../../../protocol/errors.js';
import { uintWord } from '../../../protocol/evm/abi-words.js';
import type { Call } from '../../../protocol/evm/calls.js';
import type { CallOutcome } from '../../../protocol/evm/chain-reader.js';
import { callOf, transferOf } from '../../../protocol/payment/payment-facts.js';
import type { ChannelConfig } from '../../../protocol/schemes/batch-settlement/channel.js';
import type { ClaimBatch } from '../../../protocol/schemes/batch-settlement/claim-batch.js';
import type { Payout } from '../../../protocol/schemes/batch-settlement/payout.js';
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

/** What contracts answer, to any call or by its calldata. */
type State = CallOutcome | ((asked: Hex) => CallOutcome | Promise<CallOutcome>);

interface Span {
  readonly from: bigint;
  readonly to: bigint;
}

/** What a final block shows of a settlement that its attempt did not pay, and what becomes of it. */
describe('ChainOutcomeResolver', () => {
  let state: State;
  /** The same in one block, where that differs. */
  let stateIn: ReadonlyMap<Hex | bigint, State | Error>;
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
    stateIn = new Map();
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
      hasCode: () => Promise.resolve(false),
      call: (
        { data }: Call,
        _gas: bigint,
        at: { readonly blockHash: Hex; readonly blockNumber?: bigint },
      ) => {
        const found = stateIn.get(at.blockNumber ?? at.blockHash) ?? state;
        const before = typeof found === 'function' ? found(data) : found;
        if (before instanceof Error) return Promise.reject(before);
        if (data !== callOf(payment).data) return Promise.resolve(before);
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
  const result = async (
    inclusion: Inclusion | undefined = mined(),
    kind: Attempt['kind'] = 'single',
    timestamp?: number,
  ): Promise<string> =>
    short(await resolver.resolve('a', payment, tracked(kind), inclusion, finalized(timestamp)));
  const resolvedDead = async (hashes: readonly Hex[] = []): Promise<string> => {
    const sent = { sinceBlock: SENT_AT, hashes };
    return short(await resolver.resolveAgain('a', payment, sent, finalized()));
  };

  describe('unused', () => {
    beforeEach(() => {
      state = word(0);
    });

    it('after its own transaction failed: it has failed', async () => {
      expect(await result()).toBe('reverted unpaid');
    });
    it('parked after its own transaction failed: it has failed, and is not sent again', async () => {
      const failed = { transaction: OURS, blockNumber: 12n, blockHash: OTHER, isSuccess: false };
      const sent = { sinceBlock: SENT_AT, hashes: [OURS], failed };
      const verdict = await resolver.resolveAgain('a', payment, sent, finalized());
      const evidence = { transaction: OURS, blockNumber: 12n, blockHash: OTHER };
      expect(verdict).toMatchObject({ ending: { state: 'reverted', isPaid: false, ...evidence } });
    });
    it('after a batch that did not pay it: it is sent again', async () => {
      expect(await result(mined(), 'batch')).toBe('requeue');
    });
    it('after a no-op took its nonce: it is sent again', async () => {
      expect(await result(mined({ transaction: NOOP, isSuccess: true }))).toBe('requeue');
    });
    it('past its deadline: it has expired', async () => {
      expect(await result(mined(), 'single', DEADLINE)).toBe('expired unpaid');
    });
    it('while its attempt may land: it waits', async () => {
      const verdict = await resolver.resolve('a', payment, tracked(), undefined, finalized());
      expect(verdict.kind).toBe('waiting');
    });
    it('and no attempt carries it: it is sent again', async () => {
      expect(await resolvedDead()).toBe('requeue');
    });
  });

  describe('used', () => {
    it('by a transaction that copied ours: the payee has its money', async () => {
      expect(await result()).toBe('foreign paid');
    });
    it('by any sender: it ends with the block and the hash of that transaction', async () => {
      const place = { transaction: OTHER, blockNumber: 15n, blockHash: BLOCK };
      const verdictOf = () => resolver.resolve('a', payment, tracked(), mined(), finalized());
      expect(await verdictOf()).toMatchObject({
        ending: { state: 'foreign', isPaid: true, ...place },
      });
      searched = use({ logIndex: undefined });
      expect(await verdictOf()).toMatchObject({ ending: { isPaid: false, ...place } });
    });
    it('before ours was broadcast: it was presented elsewhere', async () => {
      searched = use({ blockNumber: SENT_AT });
      expect(await result()).toBe('foreign unpaid');
    });
    describe('while one node showed a newer block than the others', () => {
      const shown = { number: SENT_AT + 8n, hash: BLOCK };
      const resolvedWith = async (newestBlock = shown): Promise<string> =>
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
        expect(await resolvedWith()).toBe('foreign paid');
      });
      it('that was one: it was presented elsewhere before', async () => {
        expect(await resolvedWith()).toBe('foreign unpaid');
        searched = use({ blockNumber: SENT_AT + 9n });
        expect(await resolvedWith()).toBe('foreign paid');
      });
      it.each<[string, Hex, bigint]>([
        ['was one', BLOCK, shown.number],
        ['the chain does not have', OTHER, SENT_AT],
      ])('that %s, and no search reads what used it: a later search knows', async (...given) => {
        [, blockHash] = given;
        const one = tracked('single', shown);
        const verdictOf = () => resolver.resolve('a', payment, one, mined(), finalized());
        expect(one.sentSince).toBe(shown.number);
        searched = { kind: 'not_found', readFrom: undefined };
        expect(await verdictOf()).toEqual({ kind: 'waiting' });
        expect(one.sentSince).toBe(given[2]);
        // Also where nothing can be read any more.
        doEndpointsAgree = false;
        expect(await verdictOf()).toEqual({ kind: 'waiting' });
        expect(one.sentSince).toBe(given[2]);
      });
      it('that is not final, or in doubt: it waits', async () => {
        expect(await resolvedWith({ number: 21n, hash: BLOCK })).toBe('waiting');
      });
    });
    it('without this transfer: it was cancelled', async () => {
      searched = use({ logIndex: undefined });
      expect(await result()).toBe('foreign unpaid');
    });
    it('by a log that is credited to another settlement: not by this one', async () => {
      await store.endings.credit(56, OTHER, 4, 'another');
      expect(await result()).toBe('foreign unpaid');
    });
    it('with more logs of such a payment: by one that is credited to no other', async () => {
      searched = use({ otherLogs: [6, 8] });
      await store.endings.credit(56, OTHER, 4, 'another');
      const verdictOf = () => resolver.resolve('a', payment, tracked(), mined(), finalized());
      const paid = { ending: { state: 'foreign', isPaid: true, logIndex: 6 } };
      expect(await verdictOf()).toMatchObject(paid);
      expect(await verdictOf()).toMatchObject(paid);
      for (const log of [6, 8]) await store.endings.credit(56, OTHER, log, 'another');
      expect(await verdictOf()).toMatchObject(paid);
      expect(await store.endings.credit(56, OTHER, 8, 'a')).toBe(false);
    });
    it('by ours, without evidence: it has not paid', async () => {
      searched = use({ transaction: OURS, logIndex: undefined });
      const verdictOf = () => resolver.resolve('a', payment, tracked(), mined(), finalized());
      // No transaction can pay it any more.
      expect(await verdictOf()).toMatchObject({
        ending: { state: 'reverted', isPaid: false, isUsed: true },
      });
    });
    it('by ours, whose evidence is of another settlement of the batch: it has not paid', async () => {
      searched = use({ transaction: OURS });
      await store.endings.credit(56, OURS, 4, 'another');
      expect(await result(mined({ isSuccess: true }), 'batch')).toBe('reverted unpaid');
    });
    it.each<Attempt['kind']>(['single', 'batch'])(
      'by ours, whose receipt showed no log of it (%s): the log that is found proves that it has paid',
      async (kind) => {
        searched = use({ transaction: OURS });
        const place = { transaction: OURS, blockNumber: 15n, blockHash: BLOCK, logIndex: 4 };
        const inclusion = mined({ isSuccess: true });
        const verdict = await resolver.resolve('a', payment, tracked(kind), inclusion, finalized());
        expect(verdict).toMatchObject({ ending: { state: 'finalized', isPaid: true, ...place } });
        expect(await store.endings.credit(56, OURS, 4, 'another')).toBe(false);
      },
    );
    it('by ours, of which a node said that it failed: the log proves that it has paid', async () => {
      searched = use({ transaction: OURS });
      expect(await result()).toBe('finalized paid');
    });
    it('by ours, said to have failed, and the log pays for another: it has not paid', async () => {
      searched = use({ transaction: OURS });
      await store.endings.credit(56, OURS, 4, 'another');
      expect(await result()).toBe('reverted unpaid');
    });
    it('by ours, which was taken for dead: it has paid', async () => {
      searched = use({ transaction: OURS });
      expect(await resolvedDead([OURS])).toBe('finalized paid');
    });
    it.each([true, false])(
      'by ours, parked as a failure: a log found later proves that it has paid (success: %s)',
      async (isSuccess) => {
        searched = use({ transaction: OURS });
        const failed = { transaction: OURS, blockNumber: 15n, blockHash: BLOCK, isSuccess };
        const sent = { sinceBlock: SENT_AT, hashes: [OURS], failed };
        const verdict = await resolver.resolveAgain('a', payment, sent, finalized());
        expect(verdict).toMatchObject({
          ending: { state: 'finalized', isPaid: true, logIndex: 4 },
        });
        expect(await store.endings.credit(56, OURS, 4, 'another')).toBe(false);
      },
    );
    it('later than it was looked at, and never broadcast: there was nothing to copy', async () => {
      expect(await resolvedDead([OURS])).toBe('foreign paid');
      expect(await resolvedDead()).toBe('foreign unpaid');
    });
    it('by one of our signers, of which the ledger knows nothing any more: it is ours', async () => {
      sender = OWN_SIGNER;
      searched = use({ blockNumber: SENT_AT - 2n });
      expect(await resolvedDead()).toBe('finalized paid');
    });
    it('by whom is being searched for', async () => {
      searched = 'searching';
      expect(await result()).toBe('searching');
    });
    it('by an unknown transaction: not found is not absent', async () => {
      searched = { kind: 'not_found', readFrom: undefined };
      expect(await result()).toBe('waiting');
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
      expect(await result()).toBe('foreign unpaid');
      expect(searches).toEqual([SINCE, BEFORE]);
    });

    it('no further once it is found since the broadcast', async () => {
      expect(await result()).toBe('foreign paid');
      expect(searches).toEqual([SINCE]);
    });

    it.each<[string, bigint | undefined, string]>([
      ['all blocks since were read: it was used before', SENT_AT + 1n, 'foreign unpaid'],
      ['the first block since was not read', SENT_AT + 2n, 'waiting'],
      ['nothing could be read', undefined, 'waiting'],
    ])('and is not found: %s', async (_, readFrom, expected) => {
      search = () => NOT_FOUND(readFrom);
      expect(await result()).toBe(expected);
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
      expect(await result()).toBe('searching');
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
    expect(await resolvedDead()).toBe(expected);
  });

  it.each<[string, CallOutcome]>([
    ['reverts when it is asked', { status: 'reverted', data: '0x' }],
    ['burns the gas it is asked with', { status: 'halted' }],
    ['answers neither yes nor no', { status: 'returned', data: '0x' }],
  ])('a token that %s tells nothing: unknown is not failed', async (_, outcome) => {
    state = outcome;
    const hidden = { kind: 'waiting', why: 'state_unreadable' };
    expect(await resolver.resolve('a', payment, tracked(), mined(), finalized())).toEqual(hidden);
    const sent = { sinceBlock: SENT_AT, hashes: [] };
    expect(await resolver.resolveAgain('a', payment, sent, finalized())).toEqual(hidden);
  });

  it.each<[string, boolean, object]>([
    [
      'succeeded: it has done that',
      true,
      { state: 'finalized', transaction: OURS, blockNumber: 12n, blockHash: OTHER },
    ],
    ['failed: another one has done that', false, { state: 'foreign' }],
  ])('a payout that the escrow shows, parked after its own transaction %s', async (...given) => {
    const [, isSuccess, expected] = given;
    const authorization: Payout = {
      scheme: 'batch-settlement',
      method: 'channel-settle',
      from: STRANGER,
      signature: '0x',
      token: STRANGER,
      upTo: 5n,
    };
    // Claimed and settled in total.
    state = { status: 'returned', data: `0x${[9n, 5n].map(uintWord).join('')}` };
    const failed = { transaction: OURS, blockNumber: 12n, blockHash: OTHER, isSuccess };
    const sent = { sinceBlock: SENT_AT, hashes: [OURS], failed };
    const payout = anAcceptedPayment({ authorization });
    expect(await resolver.resolveAgain('a', payout, sent, finalized())).toEqual({
      kind: 'ended',
      ending: { id: 'a', isPaid: true, ...expected },
    });
  });

  it('a claim of more than its channel held is held against the payer of that', async () => {
    const [authorizer, payer] = [`0x${'a1'.repeat(20)}`, `0x${'a2'.repeat(20)}`] as const;
    const config: ChannelConfig = {
      payer,
      payerAuthorizer: payer,
      receiver: STRANGER,
      receiverAuthorizer: authorizer,
      token: STRANGER,
      withdrawDelay: 900,
      salt: OTHER,
    };
    const authorization: ClaimBatch = {
      scheme: 'batch-settlement',
      method: 'channel-claim',
      from: STRANGER,
      signature: '0x',
      chainId: 56,
      rows: [{ config, maxClaimable: 300n, totalClaimed: 300n, signature: '0x' }],
    };
    const holding = (balance: bigint, requestedAt = 0n) => {
      return (asked: Hex): CallOutcome => {
        // The claim itself.
        if (!asked.startsWith('0x82ad56cb')) return { status: 'reverted', data: '0x' };
        const abi = multicall3Abi;
        const [calls] = decodeFunctionData({ abi, data: asked }).args as readonly [
          readonly object[],
        ];
        const result = [
          [balance, 0n],
          [balance, requestedAt],
        ].map((words): { success: boolean; returnData: Hex } => {
          return { success: true, returnData: `0x${words.map(uintWord).join('')}` };
        });
        const shown = result.slice(0, calls.length);
        const data = encodeFunctionResult({ abi, functionName: 'aggregate3', result: shown });
        return { status: 'returned', data };
      };
    };
    const blamedAt = async (
      balance: bigint,
      balanceThen?: bigint | Error | State,
      before?: State,
    ) => {
      state = holding(balance);
      const then = typeof balanceThen === 'bigint' ? holding(balanceThen) : balanceThen;
      stateIn = new Map<Hex | bigint, State | Error>([
        ...(then === undefined ? [] : [[BLOCK, then] as const]),
        ...(before === undefined ? [] : [[mined().blockNumber - 1n, before] as const]),
      ]);
      const claim = anAcceptedPayment({ authorization });
      const verdict = await resolver.resolve(
        'a',
        claim,
        tracked(),
        mined({ blockHash: BLOCK }),
        finalized(),
      );
      return verdict.kind === 'ended' ? verdict.ending.blamed : verdict.kind;
    };
    expect(await blamedAt(299n)).toEqual([`${authorizer}:${payer}`]);
    expect(await blamedAt(300n)).toEqual([authorizer]);
    // It was filled again since, and a node may not say so any more.
    expect(await blamedAt(300n, 299n)).toEqual([`${authorizer}:${payer}`]);
    const dropped = new ChainUnavailableError(56, 'eth_call');
    expect(await blamedAt(299n, dropped)).toEqual([`${authorizer}:${payer}`]);
    // It was emptied and filled again in that block.
    expect(await blamedAt(300n, 300n, holding(300n, 7n))).toEqual([`${authorizer}:${payer}`]);
    // The failure is an outcome, also where code does not answer in time.
    expect(await blamedAt(300n, () => new Promise(() => undefined))).toBeUndefined();
  });

  it('endpoints that disagree tell nothing', async () => {
    doEndpointsAgree = false;
    const verdict = await resolver.resolve('a', payment, tracked(), mined(), finalized());
    expect(verdict).toEqual({ kind: 'waiting' });
  });
});
