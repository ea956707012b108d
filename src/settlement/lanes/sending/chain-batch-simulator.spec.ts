import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Address, encodeAbiParameters, encodeErrorResult, type Hex, parseAbi } from 'viem';
import {
  anUndeployedAuthorization,
  aPermit2Authorization,
} from '../../../../test/builders/protocol/payment/accepted-payment.js';
import {
  JudgingChain,
  PAYER,
  SENDER,
} from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { aPayment } from '../../../../test/builders/settlement/lanes/lane-world.js';
import type { ChainView } from '../../../platform/chain/chain-view.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import type { Join, NeededHead } from '../../../platform/chain/near-head.js';
import {
  CallNotSentError,
  ChainUnavailableError,
  CodeUnresponsiveError,
} from '../../../protocol/errors.js';
import type { Call } from '../../../protocol/evm/calls.js';
import type {
  CallOutcome,
  Effect,
  Sender,
  Settlement,
} from '../../../protocol/evm/chain-reader.js';
import { assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import { batchCallOf } from '../../../protocol/payment/payment-facts.js';
import { batchGas, type BatchRules, gasBoundOf, type Sendable } from '../../model/grouping.js';
import { ChainBatchSimulator } from './chain-batch-simulator.js';
import { MeasuredGasEstimates } from './gas-estimates.js';
import type { PreflightResult } from './preflight-result.js';
import { AssetSuspension } from './suspensions.js';

const CAP = 500_000n;
/** What follows from the gas that all of them are seen to need: a refund and a margin on top. */
const LIMIT = (((80_000n * 5n) / 4n) * 6n) / 5n;
const ASSET = assetNameOf(aPayment(0));
const BATCH_SUFFIX: Hex = '0x0b0b';
const FACTORY: Address = `0x${'fa'.repeat(20)}`;
const NOT_PAID = { status: 'unpaid' } as const;

/** Each item is recognized by its payee. */
const payeeOf = (id: string): Address => `0x${Buffer.from(id).toString('hex').padStart(40, '0')}`;
const anItem = (id: string, overrides: Parameters<typeof aPayment>[1] = {}): Sendable => {
  const nonce = BigInt(`0x${Buffer.from(id).toString('hex')}`);
  return { id, goesAlone: false, payment: aPayment(nonce, { payTo: payeeOf(id), ...overrides }) };
};

/** The newest block, which knows what each settlement would bring about. */
class View extends JudgingChain {
  override tokenName = 'Token';
  readonly health = { endpoint: { name: '56-0' } };
  /** By payee; the others are paid. */
  readonly alone = new Map<Address, Effect | Error>();
  /** Whether each call of a batch succeeds; `undefined` reverts the whole of it, and an error is no answer. */
  joint: readonly boolean[] | Error | undefined = [];
  isTrusted = (): boolean => false;
  isIsolated = (): boolean => false;
  readonly proved: Settlement[] = [];
  readonly batches: {
    readonly call: Call;
    readonly sender: Sender | undefined;
    readonly gas: bigint;
  }[] = [];

  #effectOf({ payTo }: Settlement): Promise<Effect> {
    const effect = this.alone.get(payTo) ?? { status: 'paid', gasUsed: 80_000n };
    return effect instanceof Error ? Promise.reject(effect) : Promise.resolve(effect);
  }

  override simulate(settlement: Settlement): Promise<Effect> {
    this.simulated.push(settlement);
    return this.#effectOf(settlement);
  }

  prove(settlement: Settlement): Promise<Effect> {
    this.proved.push(settlement);
    return this.#effectOf(settlement);
  }

  callFrom(sender: Sender | undefined, call: Call, gas: bigint): Promise<CallOutcome> {
    this.batches.push({ call, sender, gas });
    if (this.joint instanceof Error) return Promise.reject(this.joint);
    if (this.joint === undefined) return Promise.resolve({ status: 'reverted', data: undefined });
    const returnData: Hex = '0x';
    const results = this.joint.map((success) => ({ success, returnData }));
    const type = 'tuple[]';
    const components = [
      { name: 'success', type: 'bool' },
      { name: 'returnData', type: 'bytes' },
    ] as const;
    const data = encodeAbiParameters([{ type, components }], [results]);
    return Promise.resolve({ status: 'returned', data });
  }
}

describe('the last look before money is spent', () => {
  let view: View;
  /** A second endpoint, where there is one, and a third one. */
  let others: View[];
  let reported: unknown[];
  let needed: NeededHead[];
  let decided: number;
  let suspension: AssetSuspension;
  let simulator: ChainBatchSimulator<Sendable>;
  let rules: BatchRules;

  beforeEach(() => {
    view = new View();
    others = [];
    reported = [];
    needed = [];
    decided = 0;
    suspension = new AssetSuspension();
    rules = {
      maxItems: 10,
      safeAssets: new Set([ASSET]),
      optOut: new Set(),
      maxGas: gasBoundOf(0n),
    };
    const chain = {
      verifyByTwo: async <T>(
        work: (one: ChainView) => Promise<T>,
        need: (value: T) => NeededHead,
        join: Join<T>,
      ) => {
        const [own, ...more] = await Promise.all(
          [view, ...others].map((one) => work(one as unknown as ChainView)),
        );
        if (own === undefined) throw new Error('a view');
        const value = more.length === 0 ? own : join([own, ...more]).value;
        needed.push(need(value));
        return { value, newestBlock: 77n };
      },
      noteDisagreement: (what: string, answers: unknown) => reported.push(what, answers),
    } as unknown as EvmChain;
    simulator = new ChainBatchSimulator(chain, new MeasuredGasEstimates(CAP), suspension, {
      maxGas: CAP,
      walletFactories: new Set([FACTORY]),
      onError: () => undefined,
      batchSuffix: BATCH_SUFFIX,
      onDecided: () => (decided += 1),
    });
  });

  const turns = () => new Promise((resolve) => setTimeout(resolve, 20));
  const preflight = (
    ...items: readonly Sendable[]
  ): Promise<readonly PreflightResult<Sendable>[]> => simulator.preflight(items, rules, SENDER);
  /** Ids that go together with their gas, and what is refused why. */
  const short = (checked: readonly PreflightResult<Sendable>[]) => ({
    groups: checked.flatMap(({ groups }) =>
      groups.map(({ items, gas }) => [items.map(({ id }) => id).join(), gas] as const),
    ),
    refusals: checked.flatMap(({ refusals }) =>
      refusals.map(({ item, reason }) => `${item.id}: ${reason}`),
    ),
  });

  describe('of one settlement', () => {
    it('gives code that is not known all the gas that a settlement may cost, always', async () => {
      for (const id of ['a', 'b']) {
        expect(short(await preflight(anItem(id)))).toEqual({ groups: [[id, CAP]], refusals: [] });
      }
      expect(view.proved).toMatchObject([{ gas: CAP, sender: SENDER }, { gas: CAP }]);
    });

    it('gives trusted code what it was seen to need', async () => {
      view.isTrusted = () => true;
      expect(short(await preflight(anItem('a'))).groups).toEqual([['a', LIMIT]]);
      expect(short(await preflight(anItem('b'))).groups).toEqual([['b', LIMIT]]);
      // The second time it is only simulated, with that limit.
      expect([view.proved.length, view.simulated.map(({ gas }) => gas)]).toEqual([1, [LIMIT]]);
    });

    it.each<[string, Effect, (chain: View) => void, string]>([
      [
        'poor by now',
        NOT_PAID,
        (chain) => (chain.balance = 0n),
        'invalid_exact_evm_insufficient_balance',
      ],
      [
        'used by now',
        NOT_PAID,
        (chain) => (chain.isUsed = true),
        'invalid_exact_evm_nonce_already_used',
      ],
      ['too dear by now', { status: 'halted' }, () => undefined, 'gas_limit_exceeded'],
      [
        'for no visible cause',
        NOT_PAID,
        () => undefined,
        'invalid_exact_evm_transaction_simulation_failed',
      ],
      // AuthorizationExpired() of the token.
      [
        'as the token says',
        { status: 'reverted', data: '0x0f05f5bf' },
        () => undefined,
        'invalid_exact_evm_payload_authorization_valid_before',
      ],
    ])('refuses what would not pay: %s', async (_, effect, change, reason) => {
      const item = anItem('a');
      view.alone.set(item.payment.payTo, effect);
      change(view);
      expect(short(await preflight(item))).toEqual({ groups: [], refusals: [`a: ${reason}`] });
    });

    it('calls a Permit2 payment used, which has no cause of its own for that', async () => {
      const item = anItem('a', { authorization: aPermit2Authorization() });
      view.alone.set(item.payment.payTo, NOT_PAID);
      const { call } = view;
      view.call = (asked, gas) =>
        asked.data.startsWith('0x4fe02b44')
          ? Promise.resolve({ status: 'returned', data: `0x${'ff'.repeat(32)}` })
          : call.bind(view)(asked, gas);
      expect(short(await preflight(item)).refusals).toEqual(['a: permit2_invalid_nonce']);
    });
  });

  describe('of several', () => {
    it('joins them, and sends them with what one of them was seen to need', async () => {
      view.joint = [true, true];
      expect(short(await preflight(anItem('a'), anItem('b')))).toEqual({
        groups: [['a,b', batchGas([LIMIT, LIMIT])]],
        refusals: [],
      });
      expect(view.batches).toMatchObject([{ sender: SENDER, gas: batchGas([CAP, CAP]) }]);
    });

    it('calls as it will be sent, with all that is behind the calls', async () => {
      view.joint = [true, true];
      const items = ['a', 'b'].map((id) => anItem(id, { dataSuffix: '0x0a0a' }));
      await preflight(...items);
      const payments = items.map(({ payment }) => payment);
      expect(view.batches[0]?.call).toEqual(batchCallOf(payments, BATCH_SUFFIX));
      expect(view.batches[0]?.call.data.endsWith('0b0b')).toBe(true);
    });

    it('judges alone what fails in company: it may be refused, or go by itself', async () => {
      view.joint = [true, false, false];
      view.balance = 0n;
      view.alone.set(payeeOf('b'), NOT_PAID);
      expect(short(await preflight(anItem('a'), anItem('b'), anItem('c')))).toEqual({
        groups: [
          ['a', LIMIT],
          ['c', CAP],
        ],
        refusals: ['b: invalid_exact_evm_insufficient_balance'],
      });
    });

    it('judges each alone when one has spoilt the whole', async () => {
      view.joint = undefined;
      expect(short(await preflight(anItem('a'), anItem('b'))).groups).toEqual([
        ['a', CAP],
        ['b', CAP],
      ]);
    });

    it('believes no answer that has not a word for each', async () => {
      view.joint = [true];
      expect(short(await preflight(anItem('a'), anItem('b'))).groups).toHaveLength(2);
    });

    it('holds up none of them for one that its endpoint does not answer', async () => {
      view.joint = [true, true];
      const mute = { ...anItem('m'), goesAlone: true };
      view.alone.set(mute.payment.payTo, new ChainUnavailableError(56, 'eth_simulateV1'));
      const checked = await preflight(mute, anItem('a'), anItem('b'));
      expect(short(checked)).toEqual({
        groups: [['a,b', batchGas([LIMIT, LIMIT])]],
        refusals: [],
      });
      expect(checked.flatMap(({ undecided }) => undecided)).toEqual([]);
    });

    describe('whose joint call its endpoint does not answer, while it answers another one', () => {
      const undecided = (checked: readonly PreflightResult<Sendable>[]) =>
        checked.flatMap((one) => one.undecided.map(({ id }) => id));
      const company = (tries: number) => ['a', 'b', 'c'].map((id) => ({ ...anItem(id), tries }));
      const another = { ...anItem('x'), goesAlone: true };

      beforeEach(async () => {
        view.isTrusted = () => true;
        // Its gas is known from now on.
        await preflight(another);
        view.proved.length = 0;
        view.joint = new ChainUnavailableError(56, 'eth_call');
      });

      it('is simulated jointly again at first: a call for each would cost what the batch saves', async () => {
        const checked = await preflight(another, ...company(0));
        expect(short(checked)).toEqual({ groups: [['x', LIMIT]], refusals: [] });
        expect(undecided(checked)).toEqual(['a', 'b', 'c']);
        await turns();
        expect([decided, view.proved, view.simulated.length]).toEqual([0, [], 1]);
        view.joint = [true, true, true];
        expect(short(await preflight(...company(1))).groups.map(([ids]) => ids)).toEqual(['a,b,c']);
      });

      it('is simulated one by one after that: none may hold up the others for ever', async () => {
        const fresh = anItem('n');
        const checked = await preflight(another, ...company(1), fresh);
        expect(undecided(checked)).toEqual(['n']);
        await turns();
        const later = short(await preflight()).groups.map(([ids]) => ids);
        expect(later.toSorted()).toEqual(['a', 'b', 'c']);
      });
    });

    it('looks beside the others only at the one that its endpoint does not answer about', async () => {
      view.joint = [true, false, true];
      view.alone.set(payeeOf('b'), new ChainUnavailableError(56, 'eth_simulateV1'));
      const checked = await preflight(anItem('a'), anItem('b'), anItem('c'));
      expect(short(checked).groups.map(([ids]) => ids)).toEqual(['a,c']);
      expect(checked.flatMap(({ undecided }) => undecided)).toEqual([]);
      simulator.clear();
    });

    it.each<[string, Error, boolean]>([
      ['a call that was not sent is no answer', new CallNotSentError(56, 'eth_call'), false],
      ['silence of one code is one', new CodeUnresponsiveError(56, 'eth_call'), true],
    ])('knows whether its endpoint answers: %s', async (_, error, isAnswering) => {
      const items = ['a', 'b'].map((id) => ({ ...anItem(id), goesAlone: true }));
      view.alone.set(payeeOf('a'), error);
      view.alone.set(payeeOf('b'), new ChainUnavailableError(56, 'eth_call'));
      const isDone = await preflight(...items).then(
        () => true,
        () => false,
      );
      expect(isDone).toBe(isAnswering);
      simulator.clear();
    });

    it('has no word on any of them where their joint call was not sent', async () => {
      view.joint = new CallNotSentError(56, 'eth_call');
      await expect(preflight(anItem('a'), anItem('b'))).rejects.toThrow('no endpoint');
    });

    it('has no word on any of them where its endpoint answers none', async () => {
      const items = ['a', 'b'].map((id) => ({ ...anItem(id), goesAlone: true }));
      for (const { payment } of items) {
        view.alone.set(payment.payTo, new ChainUnavailableError(56, 'eth_call'));
      }
      await expect(preflight(...items)).rejects.toThrow('no endpoint');
    });

    it('sends a payer alone that has gained code since it was judged', async () => {
      view.joint = [true, true];
      view.code.add(PAYER);
      expect(short(await preflight(anItem('a'), anItem('b'))).groups).toHaveLength(2);
    });
  });

  it.each<[string, number, number]>([
    ['is put off at first: a node may be a block behind', 9, 1],
    ['is refused when it always says so', 10, 0],
  ])('a token that says it is too early %s', async (_, tries, undecided) => {
    const data = encodeErrorResult({
      abi: parseAbi(['error Error(string)']),
      args: ['FiatTokenV2: authorization is not yet valid'],
    });
    view.alone.set(payeeOf('a'), { status: 'reverted', data });
    const checked = await preflight({ ...anItem('a'), tries });
    expect(checked.flatMap((one) => one.undecided)).toHaveLength(undecided);
    expect(checked.flatMap(({ refusals }) => refusals.map(({ reason }) => reason))).toEqual(
      undecided > 0 ? [] : ['invalid_exact_evm_payload_authorization_valid_after'],
    );
  });

  describe('by two endpoints', () => {
    let other: View;
    beforeEach(() => {
      other = new View();
      other.health.endpoint.name = '56-1';
      others = [other];
    });

    it('sends nothing that one of them says would not pay, and tells it when that lasts', async () => {
      other.balance = 0n;
      other.alone.set(payeeOf('a'), NOT_PAID);
      const answers = [
        { endpoint: '56-0', answer: 'a: good' },
        { endpoint: '56-1', answer: 'a: invalid_exact_evm_insufficient_balance' },
      ];
      for (const tellings of [[], ['simulation', answers]]) {
        const [checked] = await preflight(anItem('a'), anItem('b'));
        expect(short(checked === undefined ? [] : [checked])).toEqual({
          groups: [['b', CAP]],
          refusals: [],
        });
        expect(checked?.undecided.map(({ id }) => id)).toEqual(['a']);
        expect(reported).toEqual(tellings);
      }
    });

    it('ends what they disagree about for too long: nothing was sent', async () => {
      other.alone.set(payeeOf('a'), NOT_PAID);
      const [before] = await preflight({ ...anItem('a'), tries: 29 });
      expect(before?.undecided).toHaveLength(1);
      const after = short(await preflight({ ...anItem('a'), tries: 30 }));
      expect(after).toEqual({ groups: [], refusals: ['a: settlement_not_sent'] });
    });

    it('refuses what both of them refuse', async () => {
      for (const one of [view, other]) one.alone.set(payeeOf('a'), NOT_PAID);
      other.isUsed = true;
      expect(short(await preflight(anItem('a'))).refusals).toEqual([
        'a: invalid_exact_evm_nonce_already_used',
      ]);
    });

    it('is decided by a third one', async () => {
      others = [other, new View()];
      other.alone.set(payeeOf('a'), NOT_PAID);
      expect(short(await preflight(anItem('a'))).groups).toEqual([['a', CAP]]);
    });

    it('joins only what both have seen go together, with the higher limit of gas', async () => {
      view.joint = [true, true, true];
      other.joint = [true, true, false];
      expect(short(await preflight(anItem('a'), anItem('b'), anItem('c'))).groups).toEqual([
        ['a,b', batchGas([LIMIT, LIMIT, LIMIT])],
        ['c', CAP],
      ]);
    });
  });

  it('refuses an asset that was suspended, and asks nothing of it', async () => {
    for (let count = 0; count < 3; count += 1) suspension.noteWithoutEvidence(ASSET);
    expect(short(await preflight(anItem('a'))).refusals).toEqual(['a: asset_suspended']);
    expect(view.proved).toEqual([]);
  });

  it('refuses a wallet’s factory that is not on the list of this process, and runs nothing of it', async () => {
    const deployment = { factory: `0x${'fb'.repeat(20)}`, data: '0x' } as const;
    const item = anItem('a', { authorization: anUndeployedAuthorization({ deployment }) });
    expect(short(await preflight(item)).refusals).toEqual(['a: eip6492_factory_not_allowed']);
    expect([view.proved, view.simulated, view.calls]).toEqual([[], [], []]);
  });

  it.each<[string, Effect, NeededHead]>([
    ['something goes', { status: 'paid', gasUsed: undefined }, 'newest'],
    ['nothing goes', NOT_PAID, 'near'],
  ])('is believed of a block that is near enough, when %s', async (_, effect, expected) => {
    view.alone.set(payeeOf('a'), effect);
    const [checked] = await preflight(anItem('a'));
    expect([needed, checked?.blockNumber]).toEqual([[expected], 77n]);
  });

  describe('of code that is not known to behave', () => {
    it('is taken beside the others, and told when it is done', async () => {
      view.isIsolated = () => true;
      expect(short(await preflight(anItem('a')))).toEqual({ groups: [], refusals: [] });
      await turns();
      expect([decided, simulator.hasDecided]).toEqual([1, true]);
      expect(short(await preflight()).groups).toEqual([['a', CAP]]);
      expect(simulator.hasDecided).toBe(false);
    });

    it('is taken beside the others where it is yet to be made, alone and with gas for that', async () => {
      const authorization = anUndeployedAuthorization();
      view.joint = [true, true];
      const ready = [anItem('a'), anItem('b', { authorization }), anItem('c')];
      expect(short(await preflight(...ready)).groups).toEqual([['a,c', batchGas([LIMIT, LIMIT])]]);
      await turns();
      expect(short(await preflight()).groups).toEqual([['b', CAP + 500_000n]]);
      const made = view.proved.filter(({ call }) => call.deploys === PAYER);
      expect(made).toMatchObject([{ gas: CAP + 500_000n, sender: SENDER }]);
    });

    it('goes the usual way where it was made meanwhile', async () => {
      view.code.add(PAYER);
      await preflight(anItem('a', { authorization: anUndeployedAuthorization() }));
      await turns();
      const [decidedNow] = await preflight();
      expect(decidedNow?.groups).toMatchObject([
        { gas: CAP, items: [{ id: 'a', payment: { payerHasCode: true } }] },
      ]);
      const [item] = decidedNow?.groups[0]?.items ?? [];
      expect(item?.payment.authorization).not.toHaveProperty('deployment');
      expect(view.proved).toMatchObject([{ call: { to: aPayment(0).asset }, gas: CAP }]);
    });

    it('does not hold up the others when there is no room to look at it', async () => {
      const silent = Array.from({ length: 65 }, (_, index) => anItem(`s${index}`));
      for (const { id } of silent) {
        view.alone.set(payeeOf(id), new CallNotSentError(56, 'eth_call'));
      }
      view.joint = [...silent.map(() => false), true];
      const now = await preflight(...silent, anItem('a'));
      const { groups, refusals } = short(now);
      expect([groups.map(([ids]) => ids), refusals]).toEqual([['a'], []]);
      expect(now.flatMap(({ undecided }) => undecided)).toHaveLength(1);
      simulator.clear();
    });

    it('does not hold up the others when it does not answer', async () => {
      view.alone.set(payeeOf('slow'), new CodeUnresponsiveError(56, 'eth_call'));
      view.joint = [true, false];
      const { groups, refusals } = short(await preflight(anItem('a'), anItem('slow')));
      expect([groups, refusals]).toEqual([[['a', LIMIT]], []]);
      simulator.clear();
    });
  });
});
