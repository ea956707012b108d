import type { Address, Hex } from 'viem';
import { isDone } from '../../../platform/chain/authorization-use.js';
import type { ChainView } from '../../../platform/chain/chain-view.js';
import type { EndpointStatement } from '../../../platform/chain/disagreements.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import { statementOf } from '../../../platform/chain/quorum.js';
import {
  CallUnansweredError,
  ChainUnavailableError,
  CodeUnresponsiveError,
} from '../../../protocol/errors.js';
import { readAggregated } from '../../../protocol/evm/call-results.js';
import type {
  CallOutcome,
  Effect,
  FailedEffect,
  Sender,
} from '../../../protocol/evm/chain-reader.js';
import { type AcceptedPayment, assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import {
  batchCallOf,
  chosenContractOf,
  gasCapOf,
  ofDeployedPayer,
  runsCodeOf,
  settlementOf,
} from '../../../protocol/payment/payment-facts.js';
import type { Reason } from '../../../protocol/reasons.js';
import { NOT_YET_VALID } from '../../../protocol/schemes/reason-groups.js';
import { actionOf } from '../../../protocol/schemes/registry.js';
import { batchGas, type BatchRules, groupForSending, type Sendable } from '../../model/grouping.js';
import { BackgroundChecks } from './background-checks.js';
import type { MeasuredGasEstimates } from './gas-estimates.js';
import type { PreflightResult } from './preflight-result.js';
import type { AssetSuspension } from './suspensions.js';

interface BatchSimulatorOptions {
  /** `MAX_GAS_PER_SETTLE`. */
  readonly maxGas: bigint;
  /** Contracts that may be called to make a payer's wallet. Lower case. */
  readonly walletFactories: ReadonlySet<Address>;
  /** The suffix of the calldata of a transaction with several payments. */
  readonly batchSuffix?: Hex | undefined;
  /** Called when a background simulation has a result. */
  readonly onDecided: () => void;
  /** Called with unexpected errors. */
  readonly onError: (error: unknown) => void;
}

/** Tries after which a node no longer counts as one behind the block that takes a payment; they are a second apart. */
const OLDER_BLOCK_TRIES = 10;
/** Tries after which endpoints that disagree will not agree: code can tell them apart. */
const DISPUTED_TRIES = 30;

type Checked = { readonly gas: bigint } | { readonly reason: Reason };
type Looked<T extends Sendable> = Omit<PreflightResult<T>, 'blockNumber'>;

interface LookedAt<T extends Sendable> {
  readonly looked: Looked<T>;
  /** Absent of what two endpoints say together. */
  readonly view?: ChainView;
}

interface Check<T extends Sendable> {
  readonly items: readonly T[];
  readonly look: Promise<Looked<T>>;
}

/**
 * The pre-flight simulation: each ready settlement is simulated as it will be sent, from the lane's own account and at
 * its price, by two endpoints if there are two, because an endpoint that reports every call as success must not cost
 * gas. Each settlement has its own result, even if one call carries many.
 *
 * Code with unknown behaviour is simulated outside the lane's loop, so that it delays only itself.
 */
export class ChainBatchSimulator<T extends Sendable> {
  readonly #slow: BackgroundChecks<T>;
  /** Settlements about which two endpoints differed at the last look. */
  #disputed: ReadonlySet<string> = new Set();

  constructor(
    private readonly chain: EvmChain,
    private readonly gasEstimates: MeasuredGasEstimates,
    private readonly suspension: AssetSuspension,
    private readonly options: BatchSimulatorOptions,
  ) {
    this.#slow = new BackgroundChecks(options);
  }

  /** Whether {@link preflight} has a result for earlier settlements. */
  get hasDecided(): boolean {
    return this.#slow.hasDecided;
  }

  /** Drops simulations in progress, because the settlements were returned to the ledger. */
  clear(): void {
    this.#slow.clear();
  }

  /**
   * @param sender - the lane's account, at the present price.
   * @returns the results so far; a later call returns the rest.
   * @throws ChainUnavailableError when the chain cannot be asked at all.
   */
  async preflight(
    ready: readonly T[],
    rules: BatchRules,
    sender: Sender,
  ): Promise<readonly PreflightResult<T>[]> {
    const decided = this.#slow.takeDecided();
    if (ready.length === 0) return decided;
    const refusals = ready.flatMap((item) => {
      const reason = this.#refusalOf(item.payment);
      return reason === undefined ? [] : [{ item, reason }];
    });
    const served = ready.filter((one) => !refusals.some(({ item }) => item === one));
    const now = await this.#atHead((view) => this.#lookAt(view, served, rules, sender));
    return [...decided, { ...now, refusals: [...now.refusals, ...refusals] }];
  }

  /**
   * Refusals without a read of the chain. The lists of the process with the key decide, whichever process accepted it.
   */
  #refusalOf(payment: AcceptedPayment): Reason | undefined {
    if (this.suspension.isSuspended(assetNameOf(payment))) return 'asset_suspended';
    const chosen = chosenContractOf(payment);
    return chosen === undefined || this.options.walletFactories.has(chosen)
      ? undefined
      : 'eip6492_factory_not_allowed';
  }

  async #lookAt(
    view: ChainView,
    ready: readonly T[],
    rules: BatchRules,
    sender: Sender,
  ): Promise<Looked<T>> {
    const isSlow = ({ payment }: T): boolean =>
      chosenContractOf(payment) !== undefined ||
      view.isIsolated(payment.asset, runsCodeOf(payment));
    const waiting = ready.filter((item) => isSlow(item) && !this.#startSlow(item, sender));
    const quick = ready.filter((item) => !isSlow(item));
    const { batches, singles } = groupForSending(quick, rules, (payment) =>
      this.#limitFor(payment),
    );
    const simulated = await this.#answered(
      [
        ...batches.map((items) => ({ items, look: this.#checkTogether(view, items, sender) })),
        ...singles.map((item) => ({
          items: [item],
          look: this.#checkAlone(view, item, sender),
        })),
      ],
      sender,
    );
    return joined([...simulated, { groups: [], refusals: [], undecided: waiting }]);
  }

  /**
   * What an endpoint does not answer, while it answers others, is repeated: a call may be the cause.
   *
   * @param isAnswering - whether it has answered something beside these.
   * @throws ChainUnavailableError when it answers nothing.
   */
  async #answered(
    checks: readonly Check<T>[],
    sender: Sender,
    isAnswering = false,
  ): Promise<readonly Looked<T>[]> {
    const results = await Promise.allSettled(checks.map(({ look }) => look));
    const isAny = isAnswering || results.some(isFromAnsweringNode);
    const itemsOf = (index: number): readonly T[] => checks[index]?.items ?? [];
    for (const [index, result] of results.entries()) {
      if (result.status === 'fulfilled') continue;
      if (!mayRepeat(result.reason, isAny, itemsOf(index).length)) throw result.reason;
    }
    return results.map((result, index) =>
      result.status === 'fulfilled' ? result.value : this.#repeat(itemsOf(index), sender),
    );
  }

  /**
   * A simulation without an answer is repeated in the background. That of a batch is first repeated as a whole, because
   * a call for each of its settlements costs what the batch saves; one of them must not hold up the others for ever.
   */
  #repeat(items: readonly T[], sender: Sender): Looked<T> {
    const goesOn = (item: T): boolean =>
      (items.length > 1 && (item.tries ?? 0) === 0) || !this.#startSlow(item, sender);
    return { groups: [], refusals: [], undecided: items.filter(goesOn) };
  }

  /** A settlement is sent only if it succeeds in the newest known block. */
  async #atHead(look: (view: ChainView) => Promise<Looked<T>>): Promise<PreflightResult<T>> {
    const statements = new Map<string, readonly EndpointStatement[]>();
    const { value, newestBlock } = await this.chain.verifyByTwo<LookedAt<T>>(
      async (view) => ({ looked: await look(view), view }),
      ({ looked: { groups, refusals } }) =>
        groups.length > 0 ? 'newest' : refusals.length > 0 ? 'near' : 'any',
      (looks) => {
        const { looked, disputed } = confirmedByTwo(looks.map((one) => one.looked));
        statements.clear();
        for (const { id } of disputed) {
          statements.set(
            id,
            looks.flatMap((one) => statementAbout(id, one)),
          );
        }
        return { value: { looked }, hasDisagreement: disputed.length > 0 };
      },
    );
    this.#noteDisagreements(statements);
    return { ...value.looked, blockNumber: newestBlock };
  }

  /** Endpoints get a block one after another, so only a lasting disagreement is reported. */
  #noteDisagreements(statements: ReadonlyMap<string, readonly EndpointStatement[]>): void {
    const again = [...statements].find(([id]) => this.#disputed.has(id));
    if (again !== undefined) this.chain.noteDisagreement('simulation', again[1]);
    this.#disputed = new Set(statements.keys());
  }

  // ---------------------------------------------------------------- beside the loop

  /** @returns whether there is room for it. */
  #startSlow(item: T, sender: Sender): boolean {
    return this.#slow.start(item, () =>
      this.#atHead((view) => this.#checkAlone(view, item, sender)),
    );
  }

  // ---------------------------------------------------------------- together

  async #checkTogether(view: ChainView, batch: readonly T[], sender: Sender): Promise<Looked<T>> {
    const payments = batch.map(({ payment }) => payment);
    const call = batchCallOf(payments, this.options.batchSuffix);
    const gas = this.#gasOf(batch);
    const [outcome, haveCode] = await Promise.all([
      view.callFrom(sender, call, gas),
      Promise.all(batch.map(({ payment }) => view.hasCode(payment.authorization.from))),
      this.#learnFrom(view, batch, sender),
    ]);
    const succeeded = readSuccesses(outcome, batch.length);
    const isGood = (index: number): boolean =>
      succeeded?.[index] === true && haveCode[index] === false;
    const good = batch.filter((_, index) => isGood(index));
    // A settlement that fails in a batch is simulated alone.
    const alone = await this.#answered(
      batch
        .filter((_, index) => !isGood(index))
        .map((item) => ({ items: [item], look: this.#checkAlone(view, item, sender) })),
      sender,
      true,
    );
    const joint = good.length === 0 ? [] : [{ items: good, gas: this.#gasOf(good) }];
    return joined([{ groups: joint, refusals: [], undecided: [] }, ...alone]);
  }

  /** A batch of a new kind has more gas than it needs; later ones must not. */
  async #learnFrom(view: ChainView, batch: readonly T[], sender: Sender): Promise<void> {
    const unknown = batch.find(({ payment }) => this.gasEstimates.limitFor(payment) === undefined);
    if (unknown === undefined) return;
    const settlement = settlementOf(unknown.payment, sender, this.#capOf(unknown.payment));
    // The call with the whole batch will show a failure.
    const [proof] = await Promise.allSettled([view.prove(settlement)]);
    if (proof.status === 'fulfilled' && proof.value.status === 'paid') {
      this.#learn(unknown.payment, proof.value, true);
    }
  }

  #gasOf(items: readonly T[]): bigint {
    const limits = items.map(({ payment }) => this.#limitFor(payment));
    const [only] = limits;
    return limits.length === 1 && only !== undefined ? only : batchGas(limits);
  }

  /** The gas limit of a settlement: the measured gas for trusted code, otherwise the maximum. */
  #limitFor(payment: AcceptedPayment): bigint {
    return this.gasEstimates.limitFor(payment) ?? this.#capOf(payment);
  }

  // ---------------------------------------------------------------- alone

  async #checkAlone(view: ChainView, given: T, sender: Sender): Promise<Looked<T>> {
    const item = await asItIsNow(view, given);
    const checked = await this.#simulateAlone(view, item.payment, sender);
    // The payment was valid when accepted, so this node shows an older block. A token that says so for ever would keep a
    // place in the queue.
    const mayBeOlder = (item.tries ?? 0) < OLDER_BLOCK_TRIES;
    if ('reason' in checked && NOT_YET_VALID.has(checked.reason) && mayBeOlder) {
      return { groups: [], refusals: [], undecided: [item] };
    }
    return 'gas' in checked
      ? { groups: [{ items: [item], gas: checked.gas }], refusals: [], undecided: [] }
      : { groups: [], refusals: [{ item, reason: checked.reason }], undecided: [] };
  }

  async #simulateAlone(
    view: ChainView,
    payment: AcceptedPayment,
    sender: Sender,
  ): Promise<Checked> {
    const isTrusted = view.isTrusted(payment.asset);
    const known = isTrusted ? this.gasEstimates.limitFor(payment) : undefined;
    if (known !== undefined) {
      const effect = await view.simulate(settlementOf(payment, sender, known));
      if (effect.status === 'paid') return { gas: known };
    }
    // Verify simulated exactly this: unknown code always gets the maximum gas.
    const cap = this.#capOf(payment);
    const settlement = settlementOf(payment, sender, cap);
    const effect = await view.prove(settlement);
    if (effect.status === 'paid') return { gas: this.#learn(payment, effect, isTrusted) };
    const again = (): Promise<Effect> => view.prove(settlement);
    const reason = await reasonFor(view, payment, effect, again);
    return reason === undefined ? { gas: cap } : { reason };
  }

  #learn(
    payment: AcceptedPayment,
    { gasUsed }: Extract<Effect, { status: 'paid' }>,
    isTrusted: boolean,
  ): bigint {
    const cap = this.#capOf(payment);
    if (!isTrusted || gasUsed === undefined) return cap;
    // A refund of up to a fifth is only given at the end (EIP-3529).
    return this.gasEstimates.note(payment, (gasUsed * 5n) / 4n) ?? cap;
  }

  /** The highest gas limit of the settlement. */
  #capOf(payment: AcceptedPayment): bigint {
    return gasCapOf(payment, this.options.maxGas);
  }
}

type SimulationResult<T extends Sendable> =
  | { readonly kind: 'good'; readonly item: T; readonly group: Looked<T>['groups'][number] }
  | { readonly kind: 'refused'; readonly item: T; readonly reason: Reason }
  | { readonly kind: 'undecided'; readonly item: T };

/** The result of each settlement, without those in background simulation. */
function resultOfEach<T extends Sendable>(
  look: Looked<T>,
): ReadonlyMap<string, SimulationResult<T>> {
  return new Map<string, SimulationResult<T>>([
    ...look.groups.flatMap((group) =>
      group.items.map((item) => [item.id, { kind: 'good', item, group }] as const),
    ),
    ...look.refusals.map(
      ({ item, reason }) => [item.id, { kind: 'refused', item, reason }] as const,
    ),
    ...look.undecided.map((item) => [item.id, { kind: 'undecided', item }] as const),
  ]);
}

/** The result of one settlement at one endpoint, for the log. */
function statementAbout<T extends Sendable>(
  id: string,
  { looked, view }: LookedAt<T>,
): readonly EndpointStatement[] {
  const result = resultOfEach(looked).get(id);
  if (result === undefined || view === undefined) return [];
  const answer = result.kind === 'refused' ? result.reason : result.kind;
  return [statementOf(view, `${id}: ${answer}`)];
}

/**
 * The verdict of two endpoints on each settlement. A settlement shares a batch only if both
 * endpoints saw it succeed there, with the higher one of two gas limits. Where they disagree and no third one decides,
 * it is simulated again, though not for ever: it would keep a place in the queue.
 */
function confirmedByTwo<T extends Sendable>(
  looks: readonly Looked<T>[],
): { readonly looked: Looked<T>; readonly disputed: readonly T[] } {
  const outcomes = looks.map(resultOfEach);
  const groups = looks.flatMap((look) => look.groups);
  const joint = new Map<string, { items: T[]; gas: bigint }>();
  const refusals: { item: T; reason: Reason }[] = [];
  const undecided: T[] = [];
  const disputed: T[] = [];
  for (const id of outcomes[0]?.keys() ?? []) {
    const words = outcomes.flatMap((one) => one.get(id) ?? []);
    const [first] = words;
    // A background simulation of this settlement decides.
    if (first === undefined || words.length < looks.length) continue;
    const good = words.filter((one) => one.kind === 'good');
    const refused = words.filter((one) => one.kind === 'refused');
    const [own, other] = good;
    const [refusal] = refused;
    if (own !== undefined && other !== undefined) {
      const key = [own, other].map(({ group }) => groups.indexOf(group)).join();
      const gas = own.group.gas > other.group.gas ? own.group.gas : other.group.gas;
      const group = joint.get(key) ?? { items: [], gas };
      group.items.push(own.item);
      joint.set(key, group);
    } else if (refused.length > 1 && refusal !== undefined) {
      refusals.push({ item: refusal.item, reason: reasonOf(refused) ?? refusal.reason });
    } else {
      const isDisputed = own !== undefined && refusal !== undefined;
      if (isDisputed) disputed.push(first.item);
      if (isDisputed && (first.item.tries ?? 0) >= DISPUTED_TRIES) {
        refusals.push({ item: first.item, reason: 'settlement_not_sent' });
      } else {
        undecided.push(first.item);
      }
    }
  }
  return { looked: { groups: [...joint.values()], refusals, undecided }, disputed };
}

/** "Used" wins over other reasons, because a final block can then show the transaction. */
function reasonOf<T extends Sendable>(
  refused: readonly Extract<SimulationResult<T>, { kind: 'refused' }>[],
): Reason | undefined {
  return refused.find(
    ({ item, reason }) => reason === actionOf(item.payment.authorization).reasons.used,
  )?.reason;
}

/** The silence of one code is an answer of its node. A call that was not sent says nothing. */
function isFromAnsweringNode(result: PromiseSettledResult<unknown>): boolean {
  return result.status === 'fulfilled' || result.reason instanceof CodeUnresponsiveError;
}

/** One settlement alone waits only for itself, whatever else its node answers. */
function mayRepeat(error: unknown, isNodeAnswering: boolean, count: number): boolean {
  if (error instanceof CallUnansweredError && count === 1) return true;
  return isNodeAnswering && error instanceof ChainUnavailableError;
}

/** Joins results of single settlements. */
function joined<T extends Sendable>(parts: readonly Looked<T>[]): Looked<T> {
  return {
    groups: parts.flatMap(({ groups }) => groups),
    refusals: parts.flatMap(({ refusals }) => refusals),
    undecided: parts.flatMap(({ undecided }) => undecided),
  };
}

/** A wallet that was deployed meanwhile pays like any other; some factories fail at great cost if it exists. */
async function asItIsNow<T extends Sendable>(view: ChainView, item: T): Promise<T> {
  const { payment } = item;
  if (chosenContractOf(payment) === undefined) return item;
  return (await view.hasCode(payment.authorization.from))
    ? { ...item, payment: ofDeployedPayer(payment) }
    : item;
}

/** Why an accepted settlement would not pay now; `undefined` when it would. */
async function reasonFor(
  view: ChainView,
  payment: AcceptedPayment,
  failure: FailedEffect,
  again: () => Promise<Effect>,
): Promise<Reason | undefined> {
  const { authorization } = payment;
  const action = actionOf(authorization);
  const diagnosed = await action.diagnose(view, payment, authorization, { failure, again });
  if (diagnosed === undefined) return undefined;
  // Asked last: the use itself may have spent what is missing.
  if (!action.diagnosesUse && (await isDone(view, payment)) === true) {
    return action.reasons.used;
  }
  if (diagnosed !== action.reasons.simulationFailed) return diagnosed;
  const data = failure.status === 'reverted' ? failure.data : undefined;
  return action.reasonOfRevert(data) ?? diagnosed;
}

/** Whether each call of an `aggregate3` succeeded; `undefined` when the whole of it failed. */
function readSuccesses(outcome: CallOutcome, count: number): readonly boolean[] | undefined {
  if (outcome.status !== 'returned') return undefined;
  const results = readAggregated(outcome.data);
  return results?.length === count ? results.map(({ success }) => success) : undefined;
}
