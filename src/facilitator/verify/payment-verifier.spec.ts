import { describe, expect, it } from '@jest/globals';
import { type Address, encodeFunctionResult, type Hex, multicall3Abi, recoverAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import {
  aChain,
  FakeChain,
  type FakeNode,
} from '../../../test/builders/platform/chain/fake-chain.js';
import {
  aRow,
  claimBatchData,
} from '../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import {
  AMOUNT,
  anEip3009Payment,
  aPermit2Payment,
  JudgingChain,
  PAYEE,
  PAYER,
  recoverSigner,
  SENDER,
  type Sent,
  sponsoredBy,
  STRANGER,
  TOKEN,
} from '../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { anUptoPayment } from '../../../test/builders/protocol/schemes/upto/upto.js';
import { aSettlementView } from '../../../test/builders/settlement/model/settlement-view.js';
import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import type { NeededHead } from '../../platform/chain/near-head.js';
import type { RpcOutcome } from '../../platform/chain/rpc/rpc-outcome.js';
import type { AdmissionLists } from '../../platform/config/admission-settings.js';
import type { NetworkConfig } from '../../platform/config/app-config.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { uintWord } from '../../protocol/evm/abi-words.js';
import type { ApprovalLimits } from '../../protocol/evm/approval-chain.js';
import { dataSuffixOf } from '../../protocol/payment/builder-code.js';
import { identityOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import {
  BATCH_SETTLEMENT,
  type PayoutClaim,
} from '../../protocol/schemes/batch-settlement/claims.js';
import type { Payout } from '../../protocol/schemes/batch-settlement/payout.js';
import { readBatchClaim } from '../../protocol/schemes/batch-settlement/read-claim.js';
import type { RecoverSignerAsync } from '../../protocol/schemes/verdict.js';
import { type InFlight, NOTHING_IN_FLIGHT } from '../../settlement/ledger/settlement-store.js';
import {
  BLANK_RECORD,
  type Look,
  type PayerRecord,
} from '../../settlement/ledger/settlement-store.js';
import type { SettlementView } from '../../settlement/model/settlement.js';
import type { LaneSenders } from './lane-senders.js';
import { payerRefOf, PaymentVerifier, type Verification } from './payment-verifier.js';

/** Beyond every clock that runs the tests. */
const FOR_EVER = '99999999999';
const anEip3009 = (sent: Sent = {}): Payment =>
  anEip3009Payment({ ...sent, signed: { validBefore: FOR_EVER, ...sent.signed } }).payment;
const aPermit2 = (sent: Sent = {}): Payment =>
  aPermit2Payment({ ...sent, signed: { deadline: FOR_EVER, ...sent.signed } }).payment;

/** Of a receiver that anybody can name. */
function aPayout(): Payment {
  const claim: PayoutClaim = {
    scheme: BATCH_SETTLEMENT,
    method: 'channel-settle',
    from: PAYEE,
    token: TOKEN,
    upTo: 700n,
    nonce: undefined,
    signature: undefined,
  };
  return { ...anEip3009(), claim };
}

const NO_LISTS: AdmissionLists = {
  assetsAllow: undefined,
  assetsDeny: new Set(),
  payeesAllow: undefined,
  payeesDeny: new Set(),
  minAmounts: new Map(),
  allowsPaymentsToOneself: false,
};

class World {
  readonly chain = new JudgingChain();
  /** How near to the newest block the node had to be for what it said. */
  readonly needed: NeededHead[] = [];
  lists = NO_LISTS;
  readonly approvalLimits = new Map<number, ApprovalLimits>();
  suspended = '';
  recoverSigner: RecoverSignerAsync = recoverSigner;
  isServed = true;
  /** In the place of the chain that judges. */
  served: EvmChain | undefined;
  builderCode: string | undefined;

  get verifier(): PaymentVerifier {
    const chain = {
      schemeContracts: this.chain.schemeContracts,
      verifyNearHead: async (
        work: (view: ChainView) => Promise<Verification>,
        need: (value: Verification) => NeededHead,
      ) => {
        const view = Object.assign(this.chain, { isTrusted: () => true });
        const value = await work(view as unknown as ChainView);
        this.needed.push(need(value));
        return { value };
      },
    };
    const chains = { get: () => (this.isServed ? (this.served ?? chain) : undefined) };
    const senders: Pick<LaneSenders, 'isSuspended' | 'senderFor' | 'areKnown'> = {
      isSuspended: (asset) => asset === this.suspended,
      senderFor: () => Promise.resolve(SENDER),
      areKnown: () => true,
    };
    const networks = [...this.approvalLimits].map(([chainId, limits]) => ({
      chainId,
      approvalSponsoring: { limits } as NetworkConfig['approvalSponsoring'],
    }));
    return new PaymentVerifier(
      chains as unknown as ChainRegistry,
      { recoverSigner: this.recoverSigner },
      senders,
      {
        maxGasPerSettle: 500_000n,
        walletFactories: new Set(),
        admission: this.lists,
        builderCode: this.builderCode,
        networks,
      },
      () => Promise.resolve(),
    );
  }
}

const reasonOf = (verification: Verification): string =>
  verification.isValid ? 'valid' : verification.reason;

const ASSET = `eip155:56/${TOKEN}`;

describe('that something is done', () => {
  it.each<[string, bigint | undefined, boolean]>([
    ['is final where a final block shows it', 20n, true],
    ['is not where only a newer block does', 19n, false],
    ['is not where no block is final yet', undefined, false],
  ])('%s', async (_, final, expected) => {
    const hash = (block: bigint): Hex => `0x${uintWord(block)}`;
    const view = {
      // Both totals of the receiver, which was paid in block 20.
      call: (_call: unknown, _gas: unknown, { blockHash }: { readonly blockHash: Hex }) => {
        const paid = uintWord(BigInt(blockHash) >= 20n ? 700n : 0n);
        return Promise.resolve({ status: 'returned', data: `0x${uintWord(700n)}${paid}` });
      },
    };
    const world = new World();
    world.served = {
      currentFinalizedBlock: () =>
        Promise.resolve(final === undefined ? undefined : { hash: hash(final) }),
      quorumRead: async ({ read }: { read: (of: unknown) => Promise<{ value: unknown }> }) =>
        (await read(view)).value,
    } as unknown as EvmChain;
    const authorization: Payout = {
      scheme: BATCH_SETTLEMENT,
      method: 'channel-settle',
      from: PAYEE,
      token: TOKEN,
      upTo: 700n,
      signature: '0x',
    };
    const verdict = { isValid: true, authorization, payerHasCode: false } as const;
    expect(await world.verifier.isFinallyDone(aPayout(), verdict)).toBe(expected);
  });
});

describe('the lists of the operator', () => {
  it.each<[string, Partial<AdmissionLists>, string | undefined]>([
    ['nothing', {}, undefined],
    ['its asset', { assetsAllow: new Set([ASSET]) }, undefined],
    ['another asset only', { assetsAllow: new Set(['eip155:97/0x']) }, 'asset_not_allowed'],
    ['no asset at all', { assetsAllow: new Set() }, 'asset_not_allowed'],
    [
      'its asset, and not',
      { assetsAllow: new Set([ASSET]), assetsDeny: new Set([ASSET]) },
      'asset_not_allowed',
    ],
    ['its payee', { payeesAllow: new Set<Address>([PAYEE]) }, undefined],
    ['another payee only', { payeesAllow: new Set<Address>([STRANGER]) }, 'payee_not_allowed'],
    ['not its payee', { payeesDeny: new Set<Address>([PAYEE]) }, 'payee_not_allowed'],
    ['its amount exactly', { minAmounts: new Map([[ASSET, AMOUNT]]) }, undefined],
    ['more than its amount', { minAmounts: new Map([[ASSET, AMOUNT + 1n]]) }, 'amount_too_small'],
    ['more of another asset', { minAmounts: new Map([['x', AMOUNT + 1n]]) }, undefined],
  ])('which allow %s', (_, lists, expected) => {
    const world = new World();
    world.lists = { ...NO_LISTS, ...lists };
    expect(world.verifier.refusalByLists(anEip3009())).toBe(expected);
  });

  const refusalOf = (payment: Payment, lists: Partial<AdmissionLists> = {}): string | undefined => {
    const world = new World();
    world.lists = { ...NO_LISTS, ...lists };
    return world.verifier.refusalByLists(payment);
  };
  const payments = [
    ['EIP-3009', anEip3009],
    ['Permit2', aPermit2],
  ] as const;

  it.each(payments)('let no payment of nothing by %s cost gas, unless they say so', (_, make) => {
    const free = make({ requirements: { amount: '0' } });
    expect(refusalOf(free)).toBe('amount_too_small');
    expect(refusalOf(free, { minAmounts: new Map([['x', 0n]]) })).toBe('amount_too_small');
    expect(refusalOf(free, { minAmounts: new Map([[ASSET, 0n]]) })).toBeUndefined();
    expect(refusalOf(make({ requirements: { amount: '1' } }))).toBeUndefined();
  });

  it.each(payments)('let no payment to oneself by %s cost gas, unless they say so', (_, make) => {
    const toSelf = make({ requirements: { payTo: PAYER } });
    expect(refusalOf(toSelf)).toBe('payment_to_oneself');
    expect(refusalOf(toSelf, { allowsPaymentsToOneself: true })).toBeUndefined();
  });

  it('leave alone what an upto payment is settled by without a transaction', async () => {
    expect(refusalOf(await anUptoPayment({ amount: '0' }))).toBeUndefined();
    expect(refusalOf(await anUptoPayment({ amount: '1' }))).toBeUndefined();
  });
});

describe('a payment that is valid from now on', () => {
  const now = (): bigint => BigInt(Math.floor(Date.now() / 1000));
  const REVERTED = { status: 'reverted', data: undefined } as const;
  const PAID = { status: 'paid', gasUsed: 60_000n } as const;
  const cases: readonly [string, (validAfter: bigint) => Payment, bigint, string][] = [
    [
      'EIP-3009',
      (validAfter) => anEip3009({ signed: { validAfter: String(validAfter) } }),
      1n,
      'invalid_exact_evm_payload_authorization_valid_after',
    ],
    [
      'Permit2',
      (validAfter) =>
        aPermit2({ signed: { witness: { to: PAYEE, validAfter: String(validAfter) } } }),
      0n,
      'permit2_not_yet_valid',
    ],
  ];

  it.each(cases)('waits for the block that takes it: %s', async (_, make, more) => {
    const world = new World();
    const validAfter = now();
    // Twice for each look: the first one, and the one that what was found is held against.
    world.chain.effects = [REVERTED, REVERTED, REVERTED, REVERTED, PAID];
    world.chain.newestTimes = [validAfter - 1n, validAfter + more - 1n];
    expect(reasonOf(await world.verifier.verify(make(validAfter), BLANK_RECORD))).toBe('valid');
  });

  it.each(cases)(
    'is judged by the block that came while it was looked at: %s',
    async (_, make, more) => {
      for (const seen of [more - 1n, more]) {
        const world = new World();
        const validAfter = now();
        world.chain.effects = [REVERTED, PAID];
        world.chain.newestTimes = [validAfter + seen];
        expect(reasonOf(await world.verifier.verify(make(validAfter), BLANK_RECORD))).toBe('valid');
      }
    },
  );

  it.each(cases)('is called too early where none comes: %s', async (_, make, more, reason) => {
    const world = new World();
    const validAfter = now();
    world.chain.effects = [REVERTED];
    world.chain.newestTimes = [validAfter + more - 1n];
    expect(reasonOf(await world.verifier.verify(make(validAfter), BLANK_RECORD))).toBe(reason);
  });

  it.each(cases)('is not waited for where its time is no cause: %s', async (_, make, more) => {
    const world = new World();
    const validAfter = now();
    world.chain.effects = [REVERTED];
    world.chain.newestTimes = [validAfter + more];
    const verified = await world.verifier.verify(make(validAfter), BLANK_RECORD);
    expect(reasonOf(verified)).toMatch(/simulation_failed$/);
    expect(verified).toMatchObject({ cause: 'The call reverts without a reason.' });
    expect(world.chain.simulated).toHaveLength(2);
  });
});

describe('what a payer has in flight', () => {
  const verify = (
    payment: Payment,
    inFlight: Partial<InFlight>,
    change: (chain: JudgingChain) => unknown = () => undefined,
  ): Promise<Verification> => {
    const world = new World();
    change(world.chain);
    const record: PayerRecord = {
      inFlight: { ...NOTHING_IN_FLIGHT, ...inFlight },
      recentReverts: 0,
    };
    return world.verifier.verify(payment, Promise.resolve(record));
  };

  it.each<[string, Partial<InFlight>, (chain: JudgingChain) => void, string]>([
    ['nothing', {}, () => undefined, 'valid'],
    [
      'as much as it has besides',
      { balanceNeeded: 5n },
      (chain) => (chain.balance = AMOUNT + 5n),
      'valid',
    ],
    [
      'one unit more',
      { balanceNeeded: 6n },
      (chain) => (chain.balance = AMOUNT + 5n),
      'invalid_exact_evm_insufficient_balance',
    ],
    // An EIP-3009 transfer takes nothing of an approval.
    [
      'what takes its approval',
      { allowanceNeeded: 6n },
      (chain) => (chain.allowance = 0n),
      'valid',
    ],
    ['a sponsored permit', { hasSponsoredPermit: true }, () => undefined, 'valid'],
  ])('counts against an EIP-3009 payment: %s', async (_, inFlight, change, expected) => {
    expect(reasonOf(await verify(anEip3009(), inFlight, change))).toBe(expected);
  });

  it.each<[string, Partial<InFlight>, (chain: JudgingChain) => void, string]>([
    [
      'as much as it has besides',
      { balanceNeeded: 5n },
      (chain) => (chain.balance = AMOUNT + 5n),
      'valid',
    ],
    [
      'one unit more',
      { balanceNeeded: 6n },
      (chain) => (chain.balance = AMOUNT + 5n),
      'permit2_insufficient_balance',
    ],
    [
      'as much as it approved besides',
      { allowanceNeeded: 5n },
      (chain) => (chain.allowance = AMOUNT + 5n),
      'valid',
    ],
    [
      'one unit more than it approved',
      { allowanceNeeded: 6n },
      (chain) => (chain.allowance = AMOUNT + 5n),
      'permit2_allowance_required',
    ],
    [
      'a permit, which this one does not need',
      { hasSponsoredPermit: true },
      () => undefined,
      'valid',
    ],
  ])('counts against a Permit2 payment: %s', async (_, inFlight, change, expected) => {
    expect(reasonOf(await verify(aPermit2(), inFlight, change))).toBe(expected);
  });

  it('lets one sponsored permit of a payer go at a time, whatever it approved', async () => {
    const payment = aPermit2({ extensions: sponsoredBy({ deadline: FOR_EVER }) });
    expect(reasonOf(await verify(payment, {}))).toBe('valid');
    expect(await verify(payment, { hasSponsoredPermit: true })).toMatchObject({
      reason: 'permit2_allowance_required',
      isFromChainState: true,
    });
    // It brings its own approval: what others take of that on chain is nothing to it.
    const poor = verify(payment, { allowanceNeeded: 6n }, (chain) => (chain.allowance = 0n));
    expect(reasonOf(await poor)).toBe('valid');
  });

  it('is passed to the ledger with the values that were read for it', async () => {
    const payment = aPermit2();
    const rich = (chain: JudgingChain): void => {
      chain.balance = 5000n;
      chain.allowance = 6000n;
    };
    expect(await verify(payment, { balanceNeeded: 1n, allowanceNeeded: 1n }, rich)).toMatchObject({
      means: { balance: 5000n, allowance: 6000n },
    });
    expect(await verify(payment, {}, rich)).toMatchObject({
      means: { balance: undefined, allowance: undefined },
    });
  });
});

describe('a payment that a block took and that the ledger has not released', () => {
  const flight = (balanceNeeded: bigint): PayerRecord => ({
    inFlight: { ...NOTHING_IN_FLIGHT, balanceNeeded },
    recentReverts: 0,
  });

  /** @param looks - what the ledger says is in flight, one look after the other; the last one stays. */
  const verify = async (
    looks: readonly bigint[],
    change: (chain: JudgingChain) => void = () => undefined,
  ): Promise<{ reason: string; looked: number }> => {
    const world = new World();
    world.chain.balance = AMOUNT;
    let looked = 0;
    const look = (): Promise<PayerRecord> => {
      const needed = looks[Math.min(looked, looks.length - 1)] ?? 0n;
      looked += 1;
      if (looked > 1) change(world.chain);
      return Promise.resolve(flight(needed));
    };
    const verification = await world.verifier.verify(anEip3009(), look(), look);
    return { reason: reasonOf(verification), looked };
  };

  it('does not make its payer poor: the ledger is asked again', async () => {
    expect(await verify([AMOUNT, AMOUNT, 0n])).toEqual({ reason: 'valid', looked: 3 });
  });

  it('does once the ledger has had time for a block', async () => {
    expect(await verify([AMOUNT])).toEqual({
      reason: 'invalid_exact_evm_insufficient_balance',
      looked: 5,
    });
  });

  it('is not waited for by who has too little without it', async () => {
    const poorer = (chain: JudgingChain): void => {
      chain.balance = AMOUNT - 1n;
    };
    expect(await verify([AMOUNT], poorer)).toEqual({
      reason: 'invalid_exact_evm_insufficient_balance',
      looked: 2,
    });
  });

  it('is counted by what the payer has by then', async () => {
    const richer = (chain: JudgingChain): void => {
      chain.balance = 2n * AMOUNT;
    };
    expect(await verify([AMOUNT], richer)).toEqual({ reason: 'valid', looked: 2 });
  });
});

describe('the approval that a payment brings', () => {
  const approval = {
    from: PAYER,
    asset: TOKEN,
    spender: STRANGER,
    amount: '1',
    signedTransaction: '0x02',
    version: '1',
  };
  const payment = aPermit2({ extensions: { erc20ApprovalGasSponsoring: { info: approval } } });

  it.each([
    ['is looked at on the chain that it is paid for', 56, 'erc20_approval_spender_not_permit2'],
    ['is not looked at on another one', 97, 'permit2_allowance_required'],
  ])('%s', async (_, chainId, expected) => {
    const world = new World();
    world.approvalLimits.set(chainId, { gas: 1n, maxFeePerGas: 1n, topUpWei: 1n });
    world.chain.allowance = 0n;
    world.chain.effects = [{ status: 'reverted', data: undefined }];
    expect(reasonOf(await world.verifier.verify(payment, BLANK_RECORD))).toBe(expected);
  });
});

describe('the codes of those who brought a payment about', () => {
  const extensions = { 'builder-code': { info: { a: 'weather', s: ['agent'] } } };
  const suffix = dataSuffixOf('ours', { app: 'weather', services: ['agent'] }) ?? '0x';

  it.each([
    ['EIP-3009', anEip3009, anEip3009({ extensions })],
    ['Permit2', aPermit2, aPermit2({ extensions })],
  ])('are behind the call that is simulated, and go with it (%s)', async (_, aPayment, payment) => {
    const world = new World();
    world.builderCode = 'ours';
    expect(await world.verifier.verify(payment, BLANK_RECORD)).toMatchObject({
      isValid: true,
      dataSuffix: suffix,
    });
    await world.verifier.verify(aPayment(), BLANK_RECORD);
    const [named, bare] = world.chain.simulated.map(({ call }) => call);
    const own = dataSuffixOf('ours', undefined) ?? '0x';
    // Whatever they are: the same contract is called, and reads the same.
    expect(named?.to).toBe(bare?.to);
    const withoutOwn = bare?.data.slice(0, -(own.length - 2)) ?? '';
    expect(bare?.data.endsWith(own.slice(2))).toBe(true);
    expect(named?.data).toBe(withoutOwn + suffix.slice(2));
  });

  it('are behind the call that a failed simulation is repeated with', async () => {
    const world = new World();
    world.builderCode = 'ours';
    world.chain.effects = [{ status: 'reverted', data: undefined }, { status: 'unpaid' }];
    await world.verifier.verify(anEip3009({ extensions }), BLANK_RECORD);
    expect(world.chain.simulated.length).toBeGreaterThan(1);
    for (const { call } of world.chain.simulated) {
      expect(call.data.endsWith(suffix.slice(2))).toBe(true);
    }
  });

  it('are nowhere while this service has no code', async () => {
    const world = new World();
    const verification = await world.verifier.verify(anEip3009({ extensions }), BLANK_RECORD);
    expect(verification).not.toHaveProperty('dataSuffix');
    await world.verifier.verify(anEip3009(), BLANK_RECORD);
    const [named, bare] = world.chain.simulated.map(({ call }) => call);
    expect(named).toEqual(bare);
  });
});

describe('what a claim brings', () => {
  const authorizer = privateKeyToAccount(`0x${'b1'.repeat(32)}`);
  const other: Address = `0x${'dd'.repeat(20)}`;
  const salted = (place: number): Hex => `0x${place.toString(16).padStart(64, '0')}`;

  /** Of rows in channels of their own, with nothing claimed before. */
  async function verified(rows: readonly (readonly [token: Address, amount: bigint])[]) {
    const sent = await Promise.all(
      rows.map(([token, amount], place) =>
        aRow(amount, {
          config: { token, salt: salted(place), receiverAuthorizer: authorizer.address },
        }),
      ),
    );
    const inner = {
      type: 'claim',
      claims: sent,
      claimAuthorizerSignature: await authorizer.signTypedData(claimBatchData(sent)),
    };
    const claim = readBatchClaim({ payload: inner });
    if (claim === undefined) throw new Error('not read');
    const world = new World();
    const states = rows.map(() => `0x${uintWord(10n ** 9n)}${uintWord(0n)}` as Hex);
    const returned = states.map((returnData) => ({ success: true, returnData }));
    const data = encodeFunctionResult({
      abi: multicall3Abi,
      functionName: 'aggregate3',
      result: returned,
    });
    world.chain.call = () => Promise.resolve({ status: 'returned', data });
    world.recoverSigner = async (hash, signature) => {
      const signer = await recoverAddress({ hash, signature });
      return signer.toLowerCase() as Address;
    };
    world.chain.isContract = () => Promise.resolve(true);
    world.lists = { ...NO_LISTS, minAmounts: new Map([[ASSET, 100n]]) };
    return reasonOf(await world.verifier.verify({ ...anEip3009(), claim }, BLANK_RECORD));
  }
  const of = (...amounts: readonly bigint[]) => amounts.map((one) => [TOKEN, one] as const);

  it('is the least amount for every row of it, and not for one row alone', async () => {
    expect(await verified(of(100n))).toBe('valid');
    expect(await verified(of(150n, 50n))).toBe('valid');
    expect(await verified(of(99n))).toBe('amount_too_small');
    expect(await verified(of(150n, ...Array.from({ length: 20 }, () => 1n)))).toBe(
      'amount_too_small',
    );
  });

  it('is so much of each token', async () => {
    expect(await verified([...of(100n), [other, 1n]])).toBe('valid');
    expect(await verified([...of(1n), [other, 10n ** 6n]])).toBe('amount_too_small');
  });
});

describe('the total of a payout', () => {
  const totals = (claimed: bigint): RpcOutcome => ({
    kind: 'result',
    value: `0x${uintWord(claimed)}${uintWord(0n)}`,
  });
  const saying =
    (claimed: bigint): FakeNode['lie'] =>
    (method) => {
      if (method === 'eth_getCode') return { kind: 'result', value: '0x00' };
      return method === 'eth_call' ? totals(claimed) : undefined;
    };
  async function upTo(...claimed: readonly bigint[]): Promise<unknown> {
    const { chain } = await aChain(new FakeChain(8), claimed.length, {}, (node, index) => {
      node.lie = saying(claimed[index] ?? 0n);
    });
    const world = new World();
    world.served = chain;
    const { claim } = (await world.verifier.completed(aPayout())) as Payment;
    await chain.close();
    return (claim as PayoutClaim).upTo;
  }

  it('is what two endpoints say, and not what one made up', async () => {
    expect(await upTo(100n)).toBe(100n);
    expect(await upTo(150n, 100n, 100n)).toBe(100n);
    await expect(upTo(150n, 100n)).rejects.toThrow(ChainUnavailableError);
  });
});

describe('a judgement', () => {
  it.each([
    [2, 'valid'],
    [3, 'payer_suspended'],
  ])('of a payer whose payments reverted %i times lately', async (recentReverts, expected) => {
    const verification = await new World().verifier.verify(anEip3009(), {
      ...BLANK_RECORD,
      recentReverts,
    });
    expect(reasonOf(verification)).toBe(expected);
  });

  it('of a payout, which carries no signature, asks for no record of the account that it names', () => {
    expect(payerRefOf(aPayout())).toMatchObject({ payer: PAYEE, blamed: [`payout:${TOKEN}`] });
    expect(payerRefOf(anEip3009())).toMatchObject({ payer: PAYER, blamed: [PAYER] });
  });

  it('names the fault of the payment before the past of its payer', async () => {
    const payment = anEip3009({ signed: { to: STRANGER } });
    const verification = await new World().verifier.verify(payment, {
      ...BLANK_RECORD,
      recentReverts: 9,
    });
    expect(reasonOf(verification)).toBe('invalid_exact_evm_recipient_mismatch');
  });

  it('of an asset that lanes have suspended asks no chain', async () => {
    const world = new World();
    world.suspended = ASSET;
    expect(reasonOf(await world.verifier.verify(anEip3009(), BLANK_RECORD))).toBe(
      'asset_suspended',
    );
    expect(world.needed).toEqual([]);
  });

  it.each<[string, Sent, (chain: JudgingChain) => void, NeededHead]>([
    ['yes', {}, () => undefined, 'newest'],
    [
      'no, by the state of the chain',
      {},
      (chain) => (chain.effects = [{ status: 'unpaid' }]),
      'near',
    ],
    ['no, whatever the chain', { signed: { to: STRANGER } }, () => undefined, 'any'],
  ])('says %s only by a node that is near enough', async (_, sent, change, needed) => {
    const world = new World();
    change(world.chain);
    await world.verifier.verify(anEip3009(sent), BLANK_RECORD);
    expect(world.needed).toEqual([needed]);
  });

  it('is undefined where the chain is not served', async () => {
    const world = new World();
    world.isServed = false;
    await expect(world.verifier.verify(anEip3009(), BLANK_RECORD)).rejects.toThrow(
      ChainUnavailableError,
    );
  });
});

describe('a payment that comes again', () => {
  const known = (payment: Payment): PaymentIdentity => {
    const identity = identityOf(payment);
    if (identity === undefined) throw new Error('no identity');
    return identity;
  };
  const match = (world: World, payment: Payment, first: Payment) => {
    const { termsTag, signedTag } = known(first);
    return world.verifier.match(payment, known(payment), aSettlementView({ termsTag, signedTag }));
  };

  it('is the same, byte for byte, without asking the chain', async () => {
    const world = new World();
    const payment = anEip3009();
    expect(await match(world, payment, payment)).toEqual({ kind: 'same' });
    expect(world.needed).toEqual([]);
  });

  it('is not the same payment to a seller who asks for more', async () => {
    const world = new World();
    const dearer = anEip3009({ requirements: { amount: '2000' } });
    expect(await match(world, dearer, anEip3009())).toEqual({
      kind: 'refused',
      reason: 'invalid_exact_evm_payload_authorization_value_mismatch',
    });
  });

  it('with another signature of the payer is verified afresh, and is the same', async () => {
    const world = new World();
    expect(await match(world, anEip3009({ v: '1c' }), anEip3009())).toEqual({ kind: 'same' });
    expect(world.needed).toHaveLength(1);
  });

  it('without a valid signature is refused: its nonce is public', async () => {
    expect(await match(new World(), anEip3009({ signature: '0x' }), anEip3009())).toEqual({
      kind: 'refused',
      reason: 'invalid_exact_evm_signature',
    });
  });

  it('with other terms under the same nonce is recognized as another payment', async () => {
    const other = anEip3009({ signed: { value: '2000' }, requirements: { amount: '2000' } });
    expect(await match(new World(), other, anEip3009())).toEqual({ kind: 'other_terms' });
  });

  const assess = async (payment: Payment, first: Payment, view: Partial<SettlementView>) => {
    const world = new World();
    const { termsTag, signedTag } = known(first);
    const look: Look = {
      ...BLANK_RECORD,
      known: aSettlementView({ termsTag, signedTag, ...view }),
      isWaitedFor: false,
      hasGoneBack: false,
    };
    const lookAgain = (): Promise<Look> => Promise.resolve(look);
    const assessed = await world.verifier.assess(payment, known(payment), look, lookAgain);
    return { kind: assessed.kind, asksTheChain: world.needed.length > 0 };
  };
  const otherTerms = { signed: { value: '2000' }, requirements: { amount: '2000' } };

  it.each<[string, Sent, Partial<SettlementView>, string, boolean]>([
    ['is that of the settlement under way', {}, { state: 'broadcast' }, 'same', false],
    ['is that of the settlement that failed', {}, { state: 'expired' }, 'same', false],
    ['may be claimed again once that was withdrawn', {}, { state: 'withdrawn' }, 'good', true],
    ['may be claimed again once that reverted', {}, { state: 'reverted' }, 'good', true],
    ['is not signed by its payer', { signature: '0x' }, { state: 'queued' }, 'not_signed', true],
    ['of other terms waits for none', otherTerms, { state: 'queued' }, 'taken', true],
    [
      'of other terms is taken by a sale',
      otherTerms,
      { state: 'finalized', sale: { ...aSettlementView().sale, state: 'sold' } },
      'taken',
      true,
    ],
    ['of other terms is new to one that failed', otherTerms, { state: 'expired' }, 'good', true],
  ])('%s', async (_, sent, view, kind, asksTheChain) => {
    expect(await assess(anEip3009(sent), anEip3009(), view)).toEqual({ kind, asksTheChain });
  });

  it('is judged by its terms alone when it is late', async () => {
    const late = { signed: { validBefore: '1' } };
    const first = anEip3009(late);
    expect(await match(new World(), first, first)).toEqual({ kind: 'same' });
    const again = anEip3009({ ...late, v: '1c' });
    expect(await match(new World(), again, first)).toEqual({ kind: 'same' });
  });
});
