import { type Address, isHex } from 'viem';
import {
  CallNotSentError,
  CannotAnswerError,
  ChainUnavailableError,
  CodeUnresponsiveError,
} from '../../protocol/errors.js';
import type { EffectAfter, FirstCall } from '../../protocol/evm/approval-chain.js';
import { balanceOfCall, type Call } from '../../protocol/evm/calls.js';
import {
  type CallOutcome,
  type Effect,
  READ_GAS,
  type Sender,
  type Settlement,
} from '../../protocol/evm/chain-reader.js';
import { MULTICALL3 } from '../../protocol/evm/contracts.js';
import { quantity, readQuantity } from './block.js';
import type { CallFromSomebody } from './chain-queries.js';
import type { Traffic } from './code-conduct.js';
import {
  ask,
  type EndpointHealth,
  isAtShownBlock,
  noteFailure,
  noteOutcome,
  UNREADABLE,
} from './endpoint-health.js';
import type { RpcCaller } from './rpc/rpc-caller.js';
import { isRateLimit, readCallOutcome } from './rpc/rpc-classes.js';
import { BLAMELESS, type RpcOutcome } from './rpc/rpc-outcome.js';
import {
  balanceOverride,
  decodeEffectCall,
  EFFECT_CALL_GAS,
  effectCall,
  floorGasOf,
  intrinsicGasOf,
  isTooLong,
  readSimulation,
  readSimulationAfter,
  senderFields,
  simulationOf,
} from './simulation.js';
import { IDENTITY_PRECOMPILE } from './simulation-support.js';

/** Gas up to which a transfer counts as good conduct; the heaviest stablecoins need half of it. */
const GOOD_TRANSFER_GAS = 200_000n;
/** Long enough for a slow node, and short enough to notice a dead one. */
const CONTROL_TIMEOUT_MS = 1000;
/** How often a call must fail while a control call succeeds, before the call is at fault and not the node. */
const ROUNDS_TO_BE_SURE = 3;

interface CallRunnerParts {
  readonly chainId: number;
  readonly health: EndpointHealth;
  readonly timeoutMs: number;
}

type Silence = Extract<RpcOutcome, { kind: 'silent' }>;

interface RunOptions {
  readonly sender?: Sender | undefined;
  readonly gas: bigint;
  /** A block as JSON-RPC names it. */
  readonly at: unknown;
  readonly traffic: Traffic;
  /** Accounts with changed state for the simulation, in JSON-RPC form. */
  readonly overrides?: object;
}

/**
 * Runs code on one node without sending a transaction: with a gas limit, and isolated where the code is unknown or has
 * burnt gas. The shape of the answer decides the outcome.
 *
 * Nodes describe failures in their own words, and use the same codes for their own faults. So an unclear answer is
 * asked again together with a call that cannot fail: only if that one succeeds, the failure is the code's own.
 */
export class CallRunner {
  constructor(private readonly parts: CallRunnerParts) {}

  /**
   * @param at - a block as JSON-RPC names it.
   * @throws CodeUnresponsiveError when this call gets no answer while others do.
   * @throws CallNotSentError when it was not sent in time.
   * @throws ChainUnavailableError when the endpoint does not answer.
   */
  async call(call: Call, gas: bigint, at: unknown, sender?: Sender): Promise<CallOutcome> {
    const { conduct } = this.parts.health.contracts;
    const { to, deploys } = call;
    const traffic = conduct.trafficOf(to, deploys, deploys !== undefined);
    const outcome = await this.#run(call, { sender, gas, at, traffic });
    if (outcome.status === 'halted') conduct.noteBurn(to, deploys);
    return outcome;
  }

  /**
   * A call that an account has chosen, which may run any code: it waits with the other calls of that account, and is held
   * against no contract.
   *
   * @throws as {@link call}.
   */
  callChosenBy(account: Address, call: Call, gas: bigint): Promise<CallOutcome> {
    return this.#run(call, { gas, at: 'latest', traffic: chosenBy(account) });
  }

  /**
   * Gas units of a transaction that its account has chosen. Also throws where it would revert, or need more than `most`.
   * The code may be slow by itself, so silence is not held against the node.
   *
   * @throws ChainUnavailableError, CallNotSentError.
   */
  async estimateGas({ from, to, data, value }: CallFromSomebody, most: bigint): Promise<bigint> {
    const bare = { from, to, data, gas: quantity(most) };
    const sent = value === undefined ? bare : { ...bare, value: quantity(value) };
    const answer = await this.#request('eth_estimateGas', [sent], chosenBy(from), most);
    const gas = answer.kind === 'result' ? readQuantity(answer.value) : undefined;
    if (gas !== undefined) return gas;
    throw new ChainUnavailableError(this.parts.chainId, 'eth_estimateGas');
  }

  /** @throws as {@link call}. */
  async simulate(settlement: Settlement): Promise<Effect> {
    const { health } = this.parts;
    const { conduct, simulation } = health.contracts;
    const { call, gas, sender, token } = settlement;
    if (isTooLong(call)) return NOT_TAKEN;
    const traffic = this.#trafficOf(settlement);
    if (conduct.isTrusted(token)) {
      if (await this.#returnsBesideOthers(settlement, traffic)) return PAID_AT_ITS_WORD;
      const outcome = await this.#run(call, { sender, gas, at: 'latest', traffic });
      if (outcome.status === 'halted') this.#noteBurn(settlement);
      return outcome.status === 'returned' ? PAID_AT_ITS_WORD : outcome;
    }
    return (await simulation.isSupported(health.endpoint))
      ? this.#simulateWhole(settlement, traffic)
      : this.#simulateByCalls(settlement, traffic);
  }

  /**
   * The proof on a node that can simulate several transactions in sequence: the simulated transfer is identical to the
   * one that will be sent, so the token cannot tell them apart.
   *
   * @throws as {@link call}.
   */
  async prove(settlement: Settlement): Promise<Effect> {
    const { health } = this.parts;
    if (isTooLong(settlement.call)) return NOT_TAKEN;
    const traffic = this.#trafficOf(settlement);
    return (await health.contracts.simulation.isSupported(health.endpoint))
      ? this.#simulateWhole(settlement, traffic)
      : this.simulate(settlement);
  }

  /**
   * The same after another call; `undefined` where this node cannot.
   *
   * @throws as {@link call}.
   */
  async simulateAfter(first: FirstCall, settlement: Settlement): Promise<EffectAfter | undefined> {
    const { health } = this.parts;
    const { simulation } = health.contracts;
    if (!(await simulation.isSupported(health.endpoint))) return undefined;
    const { gas } = settlement;
    const traffic = this.#trafficOf(settlement);
    const params = [simulationOf(settlement, first), 'latest'];
    const most = gas + first.gas + 2n * READ_GAS;
    const answer = await this.#request('eth_simulateV1', params, traffic, most);
    const effect =
      answer.kind === 'result' ? readSimulationAfter(answer.value, settlement) : undefined;
    if (effect !== undefined) return effect;
    if (isRefused(answer)) {
      const sender = { address: first.from, gasPriceWei: 0n, balanceWei: 0n };
      const options = { sender, gas: first.gas, at: 'latest', traffic };
      const approved = await this.#run(first.call, options);
      if (approved.status !== 'returned') return { status: 'first_failed' };
      // A revert is what the first call may change.
      const outcome = await this.#run(settlement.call, { ...settlement, at: 'latest', traffic });
      if (outcome.status === 'halted') return outcome;
    }
    throw await this.#notSimulated(traffic, answer);
  }

  /** Whether it succeeds in a round with others. A failure is asked again alone. */
  async #returnsBesideOthers(settlement: Settlement, traffic: Traffic): Promise<boolean> {
    const { call, sender, gas, isSenderBound, mayJoin } = settlement;
    if (traffic.kind !== 'open' || isSenderBound === true || mayJoin !== true) return false;
    if (gas < floorGasOf(call)) return false;
    const { health, timeoutMs } = this.parts;
    const tried = { to: call.to, data: call.data, gas: gas - intrinsicGasOf(call) };
    const word = await health.joint.returns(tried, sender, timeoutMs);
    if (word === 'not_sent') throw new CallNotSentError(this.parts.chainId, 'eth_call');
    if (word === 'silent') {
      this.#noteOutcome('latest', LIMITED);
      throw this.#notRun('latest');
    }
    if (word !== 'alone') this.#noteOutcome('latest', RAN);
    return word === true;
  }

  /**
   * Gas within the limit of a good transfer is not burnt. A learned limit may be too small for this
   * transfer, and isolating all payments of its payer would be wrong.
   */
  #noteBurn(settlement: Settlement): void {
    const { gas, token } = settlement;
    if (gas <= GOOD_TRANSFER_GAS) return;
    this.parts.health.contracts.conduct.noteBurn(token, codeBeside(settlement));
  }

  #trafficOf(settlement: Settlement): Traffic {
    const { call, token } = settlement;
    const isNew = call.deploys !== undefined;
    return this.parts.health.contracts.conduct.trafficOf(token, codeBeside(settlement), isNew);
  }

  async #simulateWhole(settlement: Settlement, traffic: Traffic): Promise<Effect> {
    const { health } = this.parts;
    const { conduct } = health.contracts;
    const { token, gas } = settlement;
    const params = [simulationOf(settlement), 'latest'];
    const answer = await this.#request('eth_simulateV1', params, traffic, gas + 2n * READ_GAS);
    const simulated =
      answer.kind === 'result' ? readSimulation(answer.value, settlement) : undefined;
    if (simulated === undefined) {
      if (isRefused(answer)) {
        const outcome = await this.#run(settlement.call, { ...settlement, at: 'latest', traffic });
        if (outcome.status !== 'returned') return outcome;
      }
      throw await this.#notSimulated(traffic, answer);
    }
    const { effect, hasBurned } = simulated;
    if (hasBurned) conduct.noteBurn(token, codeBeside(settlement));
    else if (effect.status === 'paid' && (effect.gasUsed ?? 0n) <= GOOD_TRANSFER_GAS) {
      conduct.noteGood(token);
    }
    return effect;
  }

  /** The node no longer supports it or is in trouble. It may still run calls; then calls are used. */
  async #notSimulated(traffic: Traffic, answer: RpcOutcome): Promise<ChainUnavailableError> {
    const { health } = this.parts;
    health.contracts.simulation.doubt(health.endpoint);
    return answer.kind === 'silent'
      ? this.#silence('eth_simulateV1', traffic, answer)
      : this.#unavailable('eth_simulateV1');
  }

  /**
   * The proof for nodes without simulation, in two calls: the transaction itself, and the same transfer between two
   * reads of the payee's balance. Multicall3 makes the second call, which a token can tell from the lane; if only the
   * lane may send it, the code of Multicall3 runs at the lane's own address.
   */
  async #simulateByCalls(settlement: Settlement, traffic: Traffic): Promise<Effect> {
    const { conduct } = this.parts.health.contracts;
    const { call, sender, gas, token, payTo } = settlement;
    const watched = effectCall(call, balanceOfCall(token, payTo));
    const watchedOptions = { gas: gas + EFFECT_CALL_GAS, at: 'latest', traffic };
    const isBound = settlement.isSenderBound === true && sender !== undefined;
    const [plain, proof] = await Promise.all([
      this.#run(call, { sender, gas, at: 'latest', traffic }),
      isBound
        ? this.#runAs(sender.address, watched, watchedOptions)
        : this.#run(watched, { sender, ...watchedOptions }),
    ]);
    if (plain.status === 'halted' || proof.status === 'halted') this.#noteBurn(settlement);
    if (plain.status !== 'returned') return plain;
    const effect =
      proof.status === 'returned' ? decodeEffectCall(proof.data, settlement) : undefined;
    if (effect?.status === 'paid') conduct.noteGood(token);
    return effect ?? { status: 'unpaid' };
  }

  /** Runs a Multicall3 call with its code at this account, so that the inner calls come from it. */
  async #runAs(account: Address, { data }: Call, options: RunOptions): Promise<CallOutcome> {
    const code = await this.#ask('eth_getCode', [MULTICALL3, 'latest'], CONTROL_TIMEOUT_MS);
    if (code.kind !== 'result' || !isHex(code.value)) throw this.#unavailable('eth_getCode');
    const overrides = { [account]: { code: code.value } };
    return this.#run({ to: account, data }, { ...options, overrides });
  }

  // ---------------------------------------------------------------- one call

  async #run(call: Call, options: RunOptions): Promise<CallOutcome> {
    const { gas, traffic } = options;
    const params = callParams(call, options);
    const run = (): Promise<RpcOutcome> => this.#request('eth_call', params, traffic, gas);
    const answer = await run();
    const outcome = readCallOutcome(answer);
    if (outcome === undefined) {
      if (answer.kind === 'silent') {
        throw await this.#silence('eth_call', traffic, answer, options.at);
      }
      this.#noteOutcome(options.at, answer.kind === 'result' ? UNREADABLE : answer);
      throw this.#notRun(options.at);
    }
    if (outcome !== 'unclear') {
      this.#noteOutcome(options.at, RAN);
      return outcome;
    }
    // A node that fails some calls at random may fail this one and not the control call.
    for (let round = 0; round < ROUNDS_TO_BE_SURE; round += 1) {
      const [next, canRun] = await Promise.all([
        run().then(readCallOutcome),
        this.#canRun(options),
      ]);
      if (!canRun || next === undefined) throw this.#notRun(options.at);
      if (next !== 'unclear') return next;
    }
    return { status: 'halted' };
  }

  /** Whether a call that cannot fail succeeds under the same conditions. */
  async #canRun(options: Omit<RunOptions, 'traffic'>): Promise<boolean> {
    const params = callParams({ to: IDENTITY_PRECOMPILE, data: '0x' }, options);
    const answer = await this.#ask('eth_call', params, CONTROL_TIMEOUT_MS);
    const hasRun = answer.kind === 'result' && isHex(answer.value);
    this.#noteOutcome(options.at, hasRun || answer.kind !== 'result' ? answer : UNREADABLE);
    return hasRun;
  }

  /** For a call that was not run, or cannot fail. */
  #noteOutcome(at: unknown, answer: RpcOutcome): void {
    const { health } = this.parts;
    if (at === 'latest') noteOutcome(health, 'calls', answer);
    else if (isAtShownBlock(at, health)) noteOutcome(health, 'state', answer);
  }

  /** The cause of a missing answer: a dead node, or this call. */
  async #silence(
    operation: string,
    traffic: Traffic,
    answer: Silence,
    at: unknown = 'latest',
  ): Promise<ChainUnavailableError> {
    if (BLAMELESS.has(answer.cause)) {
      this.#noteOutcome(at, answer);
      return this.#notRun(at, operation);
    }
    // The call may be slow by itself; only a node that does not run the control call either is dead.
    const running = this.#canRun({ gas: READ_GAS, at });
    running.catch(() => undefined);
    if (traffic.kind === 'open' || !(await running)) return this.#notRun(at, operation);
    return new CodeUnresponsiveError(this.parts.chainId, operation);
  }

  #request(
    method: string,
    params: readonly unknown[],
    traffic: Traffic,
    gas: bigint,
  ): Promise<RpcOutcome> {
    const apart = traffic.kind === 'open' ? undefined : { ...traffic, gas };
    return this.#ask(method, params, this.parts.timeoutMs, apart);
  }

  #ask(...question: Parameters<RpcCaller['request']>): Promise<RpcOutcome> {
    return ask(this.parts.health, this.parts.chainId, ...question);
  }

  #notRun(at: unknown, operation = 'eth_call'): ChainUnavailableError {
    const { health, chainId } = this.parts;
    return health.refusals.has(at === 'latest' ? 'calls' : 'state')
      ? new CannotAnswerError(chainId, operation)
      : this.#unavailable(operation);
  }

  #unavailable(operation: string): ChainUnavailableError {
    noteFailure(this.parts.health);
    return new ChainUnavailableError(this.parts.chainId, operation);
  }
}

function chosenBy(subject: Address): Traffic {
  return { kind: 'new', subject };
}

/** The accounts whose code a settlement may run besides that of its token. */
function codeBeside({ payer, runsCodeOf = payer }: Settlement): Address {
  return runsCodeOf;
}

/**
 * A node refuses a whole simulation for one call that no block would take, such as one with too little gas for its
 * length. The call alone shows whether it is at fault, and never that it would pay.
 */
function isRefused(answer: RpcOutcome): boolean {
  return answer.kind === 'error' && !isRateLimit(answer.error);
}

/** A call was run, with any result. */
const RAN: RpcOutcome = { kind: 'result', value: undefined };

/** Rounds only distinguish whether the node answers. */
const LIMITED: RpcOutcome = { kind: 'silent', cause: 'rate_limited' };

/** Its transaction would not be taken, though a call of it may succeed. */
const NOT_TAKEN: Effect = { status: 'halted' };

/** Trusted code is believed when it returns. */
const PAID_AT_ITS_WORD: Effect = { status: 'paid', gasUsed: undefined };

function callParams(
  { to, data }: Call,
  { sender, gas, at, overrides }: Omit<RunOptions, 'traffic'>,
): unknown[] {
  const transaction = { ...senderFields(sender), to, data, gas: quantity(gas) };
  const override = overrides ?? (sender && balanceOverride(sender, gas));
  return override === undefined ? [transaction, at] : [transaction, at, override];
}
