import { TickCoalescer } from '../../concurrency/tick-coalescer.js';
import type { RpcOutcome } from './rpc-outcome.js';

/** One JSON-RPC call that waits to be sent. */
export interface QueuedCall {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly timeoutMs: number;
  readonly resolve: (outcome: RpcOutcome) => void;
}

/** How a call is isolated from all others. */
export interface Isolation {
  readonly kind: 'new' | 'marked';
  /** The contract whose calls wait behind each other. */
  readonly subject: string;
  /** Its gas limit. */
  readonly gas: bigint;
}

export interface IsolatedQueueOptions {
  /** The present limit of calls in one HTTP request. */
  readonly batchMax: () => number;
  readonly flightsMax: number;
  /** Limit of gas a second for all these calls. */
  readonly gasPerSecond: number;
}

type Exchange = (calls: readonly QueuedCall[]) => Promise<readonly RpcOutcome[] | 'batch_refused'>;

interface Waiting extends QueuedCall {
  readonly gas: number;
  readonly deadline: number;
  /** It failed in a shared request, so it is sent once more alone. */
  readonly isLastTry: boolean;
}

/** The burst after an idle time, in seconds of the budget. */
const BURST_SECONDS = 0.25;
/** Limit of waiting calls, for one subject and for all. */
const WAITING_MAX_OF_SUBJECT = 32;
const WAITING_MAX = 1024;

/**
 * Calls of code that may burn gas or be slow: a few at a time, subjects in turn, within a gas budget. A call that waits
 * longer than its time-out is dropped unsent.
 */
export class IsolatedQueue {
  readonly #waiting = new Map<string, Waiting[]>();
  #count = 0;
  #flights = 0;
  /** Gas that may be used now; negative after a call above the rest of the budget. */
  #gas: number;
  #filledAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  /** Calls of one turn of the event loop share a request where possible. */
  readonly #turnEnd = new TickCoalescer(() => {
    this.#flush();
  });

  constructor(
    private readonly exchange: Exchange,
    private readonly options: IsolatedQueueOptions,
  ) {
    this.#gas = options.gasPerSecond * BURST_SECONDS;
  }

  add(call: QueuedCall, { subject, gas }: Isolation): void {
    const deadline = performance.now() + call.timeoutMs;
    const isTaken = this.#enqueue(subject, {
      ...call,
      deadline,
      gas: Number(gas),
      isLastTry: false,
    });
    if (isTaken) this.#turnEnd.schedule();
    else call.resolve(NOT_SENT);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const calls of this.#waiting.values()) for (const { resolve } of calls) resolve(NOT_SENT);
    this.#waiting.clear();
    this.#count = 0;
  }

  #enqueue(subject: string, call: Waiting): boolean {
    const own = this.#waiting.get(subject) ?? [];
    if (own.length >= WAITING_MAX_OF_SUBJECT || this.#count >= WAITING_MAX) return false;
    own.push(call);
    this.#waiting.set(subject, own);
    this.#count += 1;
    return true;
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, delayMs);
    this.#timer.unref();
  }

  #flush(): void {
    this.#refill();
    this.#giveUpLate();
    while (this.#count > 0 && this.#flights < this.options.flightsMax && this.#gas > 0) {
      const group = this.#next();
      for (const { call } of group) this.#gas -= call.gas;
      this.#flights += 1;
      void this.#fly(group).finally(() => {
        this.#flights -= 1;
        this.#flush();
      });
    }
    if (this.#count > 0) this.#schedule(this.#gas > 0 ? LATE_LOOK_MS : this.#msUntilGas());
  }

  #refill(): void {
    const now = performance.now();
    const { gasPerSecond } = this.options;
    const gained = ((now - this.#filledAt) / 1000) * gasPerSecond;
    this.#gas = Math.min(gasPerSecond * BURST_SECONDS, this.#gas + gained);
    this.#filledAt = now;
  }

  #msUntilGas(): number {
    const missing = (-this.#gas / this.options.gasPerSecond) * 1000 + 1;
    return Math.min(missing, LATE_LOOK_MS);
  }

  #giveUpLate(): void {
    const now = performance.now();
    for (const [subject, calls] of this.#waiting) {
      const inTime = calls.filter(({ deadline }) => deadline > now);
      if (inTime.length === calls.length) continue;
      for (const { resolve } of calls.filter(({ deadline }) => deadline <= now)) resolve(NOT_SENT);
      this.#count -= calls.length - inTime.length;
      if (inTime.length === 0) this.#waiting.delete(subject);
      else this.#waiting.set(subject, inTime);
    }
  }

  /** The next calls: one of each subject, in turn. One that failed in a shared request goes alone. */
  #next(): { readonly subject: string; readonly call: Waiting }[] {
    const group: { subject: string; call: Waiting }[] = [];
    for (const [subject, calls] of [...this.#waiting]) {
      const [call, ...rest] = calls;
      if (call === undefined) continue;
      if (call.isLastTry && group.length > 0) continue;
      group.push({ subject, call });
      this.#count -= 1;
      this.#waiting.delete(subject);
      // Behind the others: its next turn comes after theirs.
      if (rest.length > 0) this.#waiting.set(subject, rest);
      if (call.isLastTry || group.length >= this.options.batchMax()) break;
    }
    return group;
  }

  async #fly(
    group: readonly { readonly subject: string; readonly call: Waiting }[],
  ): Promise<void> {
    const outcomes = await this.exchange(group.map(({ call }) => call));
    group.forEach(({ subject, call }, index) => {
      const outcome = outcomes === 'batch_refused' ? undefined : (outcomes[index] ?? NOT_SENT);
      const failedInCompany = group.length > 1 && outcome?.kind === 'silent';
      if (call.isLastTry || (outcome !== undefined && !failedInCompany)) {
        call.resolve(outcome ?? NOT_SENT);
        return;
      }
      // A call without an answer in a shared request is sent alone, with as much time as it had
      // there, or not at all.
      const deadline = performance.now() + call.timeoutMs;
      const isTaken = this.#enqueue(subject, { ...call, deadline, isLastTry: true });
      if (!isTaken) call.resolve(NOT_SENT);
    });
  }
}

const NOT_SENT: RpcOutcome = { kind: 'silent', cause: 'not_sent' };
/** Interval of checks for calls that have waited too long. */
const LATE_LOOK_MS = 100;
