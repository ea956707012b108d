import { JsonConnection } from './connection.js';

type AnswerBody = Readonly<Record<string, unknown>>;

/** One measured run: a fixed number of requests kept under way at all times. */
export interface LoadResult {
  readonly concurrency: number;
  readonly completed: number;
  readonly failed: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** Milliseconds, of every request that was answered as it should be. */
  readonly latencies: readonly number[];
  /** Why requests failed, with counts. */
  readonly failures: Readonly<Record<string, number>>;
}

/** One request that was answered as it should be. */
export interface Answered {
  /** Milliseconds since the epoch. */
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly body: AnswerBody;
}

export interface LoadOptions {
  readonly url: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly concurrency: number;
  /** Each is sent once; the run ends when they are used up. */
  readonly bodies: readonly string[];
  /** No request begins later than this. */
  readonly seconds?: number;
  /** No request begins once it is aborted. */
  readonly signal?: AbortSignal;
  /**
   * Requests are due at this pace instead of one after the other, and their latency counts from when
   * they were due: a service that stalls does not make its load lighter.
   */
  readonly pacePerSecond?: number;
  /** Whether an answer is what was wanted, else why it is not. */
  readonly problemOf: (status: number, body: AnswerBody) => string | undefined;
  readonly onAnswer?: (answered: Answered) => void;
}

/** A closed loop: a request is sent when an earlier one is answered. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { url, path, concurrency, bodies, seconds = Infinity, pacePerSecond, onAnswer } = options;
  const mayGoOn = (): boolean => performance.now() < until && options.signal?.aborted !== true;
  const latencies: number[] = [];
  const failures: Record<string, number> = {};
  const begun = performance.now();
  const until = begun + seconds * 1000;
  let next = 0;
  let failed = 0;
  const worker = async (): Promise<void> => {
    const connection = new JsonConnection(new URL(url), path, options.headers);
    while (mayGoOn()) {
      const index = next;
      const body = bodies[index];
      next += 1;
      if (body === undefined) break;
      const dueAt = pacePerSecond && begun + (index * 1000) / pacePerSecond;
      if (dueAt !== undefined) await untilTime(dueAt);
      if (!mayGoOn()) break;
      const sentAt = dueAt ?? performance.now();
      const answer = await send(connection, body, options);
      const answeredAt = performance.now();
      if (typeof answer === 'string') {
        failed += 1;
        failures[answer] = (failures[answer] ?? 0) + 1;
        continue;
      }
      latencies.push(answeredAt - sentAt);
      onAnswer?.({
        sentAt: performance.timeOrigin + sentAt,
        answeredAt: performance.timeOrigin + answeredAt,
        body: answer,
      });
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const elapsed = (performance.now() - begun) / 1000;
  return {
    concurrency,
    completed: latencies.length,
    failed,
    seconds: elapsed,
    perSecond: latencies.length / elapsed,
    latencies,
    failures,
  };
}

export async function untilTime(at: number): Promise<void> {
  const remaining = at - performance.now();
  if (remaining > 0) await new Promise((resolve) => setTimeout(resolve, remaining));
}

/** @returns the answer, or why it is not what was wanted. */
async function send(
  connection: JsonConnection,
  body: string,
  { problemOf }: LoadOptions,
): Promise<AnswerBody | string> {
  try {
    const { status, body: answer } = await connection.post(body);
    return problemOf(status, answer as AnswerBody) ?? (answer as AnswerBody);
  } catch (error) {
    return error instanceof Error ? error.message : 'error';
  }
}

export const verifyProblem: LoadOptions['problemOf'] = (status, body) =>
  status === 200 && body['isValid'] === true
    ? undefined
    : textOf(body['invalidReason'] ?? body['error'] ?? status);

export const settleProblem: LoadOptions['problemOf'] = (status, body) =>
  status === 200 && body['success'] === true
    ? undefined
    : textOf(body['errorReason'] ?? body['error'] ?? status);

function textOf(problem: unknown): string {
  return (typeof problem === 'string' ? problem : JSON.stringify(problem)).slice(0, 60);
}
