import type { Address } from 'viem';
import type { Sender } from '../../../protocol/evm/chain-reader.js';
import { TickCoalescer } from '../../concurrency/tick-coalescer.js';
import { quantity } from '../block.js';
import type { RpcCaller } from '../rpc/rpc-caller.js';
import { isRateLimit } from '../rpc/rpc-classes.js';
import { BLAMELESS, type RpcOutcome } from '../rpc/rpc-outcome.js';
import { balanceOverride, senderFields } from '../simulation.js';
import {
  type BatchCall,
  batchGasOf,
  bytesOfCall,
  decodeBatchCall,
  encodeBatchCall,
  gasOfCall,
  PROGRAM_MAX_BYTES,
  type TriedCall,
} from './batch-call.js';

/**
 * - A boolean is the answer.
 * - `alone`: it has to be asked in its own call.
 * - `silent`: the node does not answer.
 * - `not_sent`: too many wait. The node was not asked.
 */
export type BatchCallResult = boolean | 'alone' | 'silent' | 'not_sent';

/** More calls in a round save nothing. */
const CALLS_MAX = 50;
const ACCOUNTS_MAX = 100;
/** Below the gas limit of a transaction (EIP-7825), which some nodes also apply to calls. */
const GAS_MAX = 16_000_000n;
/** A call that uses more than this part of a round is sent alone. */
const SHARE = 8;
/** The rest of the program is small. */
const CALLS_MAX_BYTES = PROGRAM_MAX_BYTES - 8192;

interface SentCall {
  readonly call: TriedCall;
  readonly sender: Sender | undefined;
}

/**
 * Asks one node many questions in one call: whether calls succeed, and whether accounts have code. Each kind has its
 * own rounds, so that a look at an account never waits for untrusted code.
 *
 * A yes is what the single call would give. A no is not believed; the caller asks again alone.
 */
export class BatchCalls {
  readonly #calls: BatchCallQueue<SentCall>;
  readonly #accounts: BatchCallQueue<Address>;

  constructor(private readonly endpoint: RpcCaller) {
    this.#calls = new BatchCallQueue({
      countOf: callsInOne,
      ask: (round) => this.#try(round),
    });
    this.#accounts = new BatchCallQueue({
      countOf: () => ACCOUNTS_MAX,
      ask: (round) => this.#look(round),
    });
  }

  /**
   * Whether a call returns.
   *
   * @param sender - the sender of the transaction; if questions differ, the one with the highest gas price is used. The
   *   call itself comes from an unknown account.
   */
  returns(
    call: TriedCall,
    sender: Sender | undefined,
    timeoutMs: number,
  ): Promise<BatchCallResult> {
    return mayJoin(call)
      ? this.#calls.add({ call, sender }, timeoutMs)
      : Promise.resolve('alone' as const);
  }

  /** Whether an account has code in the newest block. */
  hasCode(account: Address, timeoutMs: number): Promise<BatchCallResult> {
    return this.#accounts.add(account, timeoutMs);
  }

  async #try(round: readonly Waiting<SentCall>[]): Promise<RoundOutcome> {
    const asked = { calls: round.map(({ subject }) => subject.call), accounts: [] };
    const senders = round.map(({ subject }) => subject.sender);
    const outcome = await this.#request(asked, timeoutOf(round), dearest(senders));
    return readRound(outcome, (value) => decodeBatchCall(value, asked)?.returned);
  }

  async #look(round: readonly Waiting<Address>[]): Promise<RoundOutcome> {
    const asked = { calls: [], accounts: round.map(({ subject }) => subject) };
    const outcome = await this.#request(asked, timeoutOf(round));
    return readRound(outcome, (value) => decodeBatchCall(value, asked)?.hasCode);
  }

  #request(asked: BatchCall, timeoutMs: number, sender?: Sender): Promise<RpcOutcome> {
    const gas = batchGasOf(asked);
    const data = encodeBatchCall(asked);
    const transaction = { ...senderFields(sender), data, gas: quantity(gas) };
    const override = sender && balanceOverride(sender, gas);
    const params =
      override === undefined ? [transaction, 'latest'] : [transaction, 'latest', override];
    return this.endpoint.request('eth_call', params, timeoutMs);
  }
}

/** A round that fails or times out may succeed for each question alone. */
function readRound(
  outcome: RpcOutcome,
  read: (value: unknown) => readonly boolean[] | undefined,
): RoundOutcome {
  switch (outcome.kind) {
    case 'result':
      return read(outcome.value) ?? 'unanswered';
    case 'error':
      // Single questions would exceed the rate limit even more.
      return isRateLimit(outcome.error) ? 'silent' : 'unanswered';
    case 'silent':
      if (outcome.cause === 'not_sent') return 'not_sent';
      return BLAMELESS.has(outcome.cause) ? 'silent' : 'unanswered';
  }
}

function callsInOne(waiting: readonly Waiting<SentCall>[]): number {
  let gas = 0n;
  let bytes = 0;
  let count = 0;
  for (const { subject } of waiting) {
    gas += gasOfCall(subject.call);
    bytes += bytesOfCall(subject.call);
    if (count === CALLS_MAX || gas > GAS_MAX || bytes > CALLS_MAX_BYTES) break;
    count += 1;
  }
  return count;
}

/** One price for all: with a price below that of the block, the node would refuse them all. */
function dearest(senders: readonly (Sender | undefined)[]): Sender | undefined {
  return senders.reduce((most, one) =>
    (one?.gasPriceWei ?? -1n) > (most?.gasPriceWei ?? -1n) ? one : most,
  );
}

function timeoutOf(round: readonly Waiting<unknown>[]): number {
  return Math.max(...round.map(({ timeoutMs }) => timeoutMs));
}

function mayJoin(call: TriedCall): boolean {
  return (
    call.data.length % 2 === 0 &&
    call.gas > 0n &&
    gasOfCall(call) * BigInt(SHARE) <= GAS_MAX &&
    bytesOfCall(call) * SHARE <= CALLS_MAX_BYTES
  );
}

// ---------------------------------------------------------------- rounds

/** While this many rounds are in progress, further questions are collected. */
const FLIGHTS_MAX = 4;
/** Limit of questions that are collected: anybody can cause them. */
const WAITING_MAX = 4000;
/** After a missing answer, a node gets single questions for this long; each further failure doubles the time. */
const REST_MS = 1000;
const REST_MAX_MS = 60_000;

/** The result of a round: an outcome for each question; `unanswered` where the node may refuse such rounds in general. */
type RoundOutcome = readonly boolean[] | 'unanswered' | 'silent' | 'not_sent';

interface Waiting<T> {
  readonly subject: T;
  readonly timeoutMs: number;
  readonly resolve: (word: BatchCallResult) => void;
}

interface BatchCallQueueOptions<T> {
  /** How many of the first may share a round; at least 1 if there are any. */
  readonly countOf: (waiting: readonly Waiting<T>[]) => number;
  readonly ask: (round: readonly Waiting<T>[]) => Promise<RoundOutcome>;
}

/**
 * Collects questions of one kind for one node. Questions of one turn of the event loop, or those that arrive during
 * other rounds, share a round; a single question is sent back.
 */
class BatchCallQueue<T> {
  readonly #waiting: Waiting<T>[] = [];
  readonly #turnEnd = new TickCoalescer(() => {
    this.#flush();
  });
  #flights = 0;
  /** By `performance.now`. */
  #restsUntil = 0;
  #failures = 0;

  constructor(private readonly options: BatchCallQueueOptions<T>) {}

  add(subject: T, timeoutMs: number): Promise<BatchCallResult> {
    if (this.#asksAlone) return ALONE;
    if (this.#waiting.length >= WAITING_MAX) return NOT_SENT;
    return new Promise((resolve) => {
      this.#waiting.push({ subject, timeoutMs, resolve });
      this.#turnEnd.schedule();
    });
  }

  /** After a failure a node is tried with one round, without new questions waiting behind it. */
  get #asksAlone(): boolean {
    return performance.now() < this.#restsUntil || (this.#failures > 0 && this.#flights > 0);
  }

  #flush(): void {
    while (this.#waiting.length > 0 && this.#flights < FLIGHTS_MAX) {
      if (this.#asksAlone) {
        settle(this.#waiting.splice(0), 'alone');
        return;
      }
      const round = this.#waiting.splice(0, Math.max(1, this.options.countOf(this.#waiting)));
      if (round.length === 1) {
        settle(round, 'alone');
        continue;
      }
      this.#flights += 1;
      void this.#fly(round);
    }
  }

  async #fly(round: readonly Waiting<T>[]): Promise<void> {
    const outcome = await this.options.ask(round).catch(() => 'unanswered' as const);
    this.#flights -= 1;
    if (outcome === 'unanswered') {
      this.#restsUntil = performance.now() + Math.min(REST_MS * 2 ** this.#failures, REST_MAX_MS);
      this.#failures += 1;
      settle(round, 'alone');
    } else if (outcome === 'silent' || outcome === 'not_sent') {
      settle(round, outcome);
    } else {
      this.#failures = 0;
      round.forEach(({ resolve }, index) => {
        resolve(outcome[index] ?? 'alone');
      });
    }
    this.#flush();
  }
}

const ALONE: Promise<BatchCallResult> = Promise.resolve('alone');
const NOT_SENT: Promise<BatchCallResult> = Promise.resolve('not_sent');

function settle(waiting: readonly Waiting<unknown>[], word: BatchCallResult): void {
  for (const { resolve } of waiting) resolve(word);
}
