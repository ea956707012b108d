import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import type { ProviderOperation, ProviderOutcome, WalletObserver } from '../../wallet-observer.js';
import type { ProviderCondition } from '../wallet-provider.js';
import { errorOf, failureOf, type PrivyFailure } from './privy-failure.js';

const ATTEMPTS = 3;
const FIRST_WAIT_MS = 250;
/** Worth an immediate retry; the idempotency key keeps the request from being executed twice. */
const PASSING: ReadonlySet<ProviderOutcome> = new Set([
  'rate_limited',
  'server_error',
  'unreachable',
]);

/** The condition of Privy that an outcome shows; the refusal of one request shows none. */
const CONDITIONS: Readonly<Partial<Record<ProviderOutcome, ProviderCondition>>> = {
  credentials_refused: 'provider_credentials_refused',
  server_error: 'provider_unreachable',
  timeout: 'provider_unreachable',
  unreachable: 'provider_unreachable',
  rate_limited: 'provider_unreachable',
  wrong_answer: 'provider_answers_wrong',
};

/** Thrown inside a request whose answer does not match it. */
export class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
}

/** A request that Privy refused, for callers that can handle the refusal. */
export class PrivyRefusal extends Error {
  override readonly name = 'PrivyRefusal';

  constructor(readonly failure: PrivyFailure) {
    super(failure.outcome);
  }
}

/** Requests to Privy: checked, timed, retried where useful, with errors of the port. */
export class PrivyCalls {
  #condition: ProviderCondition | undefined;

  /** @param timeoutMs - no attempt begins later than this after the first one. */
  constructor(
    private readonly timeoutMs: number,
    private readonly observer: Pick<WalletObserver, 'providerCalled'>,
  ) {}

  /** The condition of the provider by its newest answer, or by a missing one. */
  get condition(): ProviderCondition | undefined {
    return this.#condition;
  }

  /** @throws WalletError, as the port describes. */
  async make<T>(
    operation: ProviderOperation,
    shape: z.ZodType<T>,
    request: () => Promise<unknown>,
  ): Promise<T> {
    try {
      return await this.attempt(operation, shape, request);
    } catch (error) {
      throw error instanceof PrivyRefusal ? errorOf(error.failure) : error;
    }
  }

  /**
   * @param request - the same for each attempt, under one idempotency key if it changes anything.
   * @throws PrivyRefusal
   */
  async attempt<T>(
    operation: ProviderOperation,
    shape: z.ZodType<T>,
    request: () => Promise<unknown>,
  ): Promise<T> {
    const deadline = performance.now() + this.timeoutMs;
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#once(operation, shape, request);
      if (answer.isOk) return answer.value;
      const { failure } = answer;
      const waitMs = failure.retryAfterMs ?? FIRST_WAIT_MS * 2 ** (attempt - 1);
      const isOver = attempt >= ATTEMPTS || performance.now() + waitMs > deadline;
      if (isOver || !PASSING.has(failure.outcome)) throw new PrivyRefusal(failure);
      await sleep(waitMs);
    }
  }

  async #once<T>(
    operation: ProviderOperation,
    shape: z.ZodType<T>,
    request: () => Promise<unknown>,
  ): Promise<
    | { readonly isOk: true; readonly value: T }
    | { readonly isOk: false; readonly failure: PrivyFailure }
  > {
    const startedAt = performance.now();
    try {
      const read = shape.safeParse(await request());
      if (!read.success) throw new WrongAnswer();
      this.#note(operation, 'ok', startedAt);
      return { isOk: true, value: read.data };
    } catch (error) {
      const failure = failureOf(error);
      this.#note(operation, failure.outcome, startedAt);
      return { isOk: false, failure };
    }
  }

  #note(operation: ProviderOperation, outcome: ProviderOutcome, startedAt: number): void {
    this.#condition = CONDITIONS[outcome];
    this.observer.providerCalled({
      operation,
      outcome,
      durationMs: performance.now() - startedAt,
    });
  }
}
