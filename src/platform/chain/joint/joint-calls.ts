import type { Address, Hex } from 'viem';
import type { Sender } from '../../../protocol/evm/chain-reader.js';
import { quantity } from '../block.js';
import type { RpcCaller } from '../rpc/rpc-caller.js';
import type { RpcOutcome, SilenceCause } from '../rpc/rpc-outcome.js';
import { balanceOverride, senderFields } from '../sender-fields.js';
import {
  bytesOfCall,
  decodeJointCall,
  encodeJointCall,
  gasOfCall,
  jointGasOf,
  PROGRAM_MAX_BYTES,
  type TriedCall,
} from './joint-call.js';

/** Beyond this many there is nothing more to save. */
const CALLS_MAX = 50;
const ACCOUNTS_MAX = 100;
/** Below what a transaction may have at most (EIP-7825), which some nodes hold calls to as well. */
const GAS_MAX = 16_000_000n;
/** What takes up more than this part of the whole is asked alone. */
const SHARE = 8;
/** The rest of the program takes little. */
const CALLS_MAX_BYTES = PROGRAM_MAX_BYTES - 8192;
/** While so many are under way, further questions gather. */
const FLIGHTS_MAX = 4;
/** For so long a node that did not answer is asked for one thing at a time. */
const REST_MS = 60_000;
/** Causes of silence that say nothing of what was asked. */
const BLAMELESS: ReadonlySet<SilenceCause> = new Set(['connection', 'rate_limited', 'wrong_chain']);

/**
 * - A boolean is the answer.
 * - `alone`: it has to be asked for by itself.
 * - `silent`: the node does not answer.
 */
export type JointWord = boolean | 'alone' | 'silent';

interface Waiting<T> {
  readonly subject: T;
  readonly timeoutMs: number;
  readonly resolve: (word: JointWord) => void;
}

interface WaitingCall extends Waiting<TriedCall> {
  readonly sender: Sender | undefined;
}

interface Round {
  readonly calls: readonly WaitingCall[];
  readonly accounts: readonly Waiting<Address>[];
}

/**
 * Asks one node many questions in one call: whether calls return, and whether accounts have code. What comes in
 * one turn of the event loop, or while others are under way, is asked together; a lone question is none of ours.
 *
 * A yes is what the call alone would have had. A no is not believed: it is for the caller to ask alone.
 */
export class JointCalls {
  readonly #calls: WaitingCall[] = [];
  readonly #accounts: Waiting<Address>[] = [];
  #flights = 0;
  #isFlushScheduled = false;
  /** By `performance.now`. */
  #restsUntil = 0;

  constructor(private readonly endpoint: RpcCaller) {}

  /**
   * Whether a call returns.
   *
   * @param sender - whose transaction it is; where questions differ in that, the first one's. The call itself comes
   *   from an account that nobody knows.
   */
  returns(call: TriedCall, sender: Sender | undefined, timeoutMs: number): Promise<JointWord> {
    if (this.#isResting || !mayJoin(call)) return ALONE;
    return new Promise((resolve) => {
      this.#calls.push({ subject: call, sender, timeoutMs, resolve });
      this.#scheduleFlush();
    });
  }

  /** Whether an account has code in the newest block. */
  hasCode(account: Address, timeoutMs: number): Promise<JointWord> {
    if (this.#isResting) return ALONE;
    return new Promise((resolve) => {
      this.#accounts.push({ subject: account, timeoutMs, resolve });
      this.#scheduleFlush();
    });
  }

  get #isResting(): boolean {
    return performance.now() < this.#restsUntil;
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(() => {
      this.#isFlushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#flights < FLIGHTS_MAX) {
      const round = this.#takeRound();
      if (round === undefined) return;
      this.#flights += 1;
      void this.#ask(round).finally(() => {
        this.#flights -= 1;
        this.#flush();
      });
    }
  }

  /** As many as may share a call; what is left by itself is sent back. */
  #takeRound(): Round | undefined {
    let gas = 0n;
    let bytes = 0;
    let count = 0;
    for (const { subject } of this.#calls) {
      gas += gasOfCall(subject);
      bytes += bytesOfCall(subject);
      if (count === CALLS_MAX || gas > GAS_MAX || bytes > CALLS_MAX_BYTES) break;
      count += 1;
    }
    const calls = this.#calls.splice(0, count);
    const accounts = this.#accounts.splice(0, ACCOUNTS_MAX);
    if (calls.length > 1 || accounts.length > 1) return { calls, accounts };
    settle({ calls, accounts }, 'alone');
    return undefined;
  }

  async #ask(round: Round): Promise<void> {
    try {
      const asked = {
        calls: round.calls.map(({ subject }) => subject),
        accounts: round.accounts.map(({ subject }) => subject),
      };
      const outcome = await this.#request(encodeJointCall(asked), jointGasOf(asked), round);
      const answer = outcome.kind === 'result' && decodeJointCall(outcome.value, asked);
      if (!answer) {
        if (outcome.kind !== 'silent' || !BLAMELESS.has(outcome.cause)) {
          this.#restsUntil = performance.now() + REST_MS;
        }
        settle(round, outcome.kind === 'silent' ? 'silent' : 'alone');
        return;
      }
      round.calls.forEach(({ resolve }, index) => {
        resolve(answer.returned[index] ?? 'alone');
      });
      round.accounts.forEach(({ resolve }, index) => {
        resolve(answer.hasCode[index] ?? 'alone');
      });
    } finally {
      // Whatever happened, nobody waits for ever; who has an answer keeps it.
      settle(round, 'alone');
    }
  }

  #request(program: Hex, gas: bigint, { calls, accounts }: Round): Promise<RpcOutcome> {
    const sender = calls[0]?.sender;
    const transaction = { ...senderFields(sender), data: program, gas: quantity(gas) };
    const override = sender && balanceOverride(sender, gas);
    const timeoutMs = Math.max(...[...calls, ...accounts].map((one) => one.timeoutMs));
    return this.endpoint.request(
      'eth_call',
      override === undefined ? [transaction, 'latest'] : [transaction, 'latest', override],
      timeoutMs,
    );
  }
}

const ALONE: Promise<JointWord> = Promise.resolve('alone');

function mayJoin(call: TriedCall): boolean {
  return (
    call.data.length % 2 === 0 &&
    call.gas > 0n &&
    gasOfCall(call) * BigInt(SHARE) <= GAS_MAX &&
    bytesOfCall(call) * SHARE <= CALLS_MAX_BYTES
  );
}

function settle({ calls, accounts }: Round, word: JointWord): void {
  for (const { resolve } of calls) resolve(word);
  for (const { resolve } of accounts) resolve(word);
}
