import { Pool } from 'undici';

/** One measured run: a fixed number of requests kept under way at all times. */
export interface LoadResult {
  readonly concurrency: number;
  readonly completed: number;
  readonly failed: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** Why requests failed, with counts. */
  readonly failures: Readonly<Record<string, number>>;
}

export interface LoadOptions {
  readonly url: string;
  readonly path: string;
  readonly concurrency: number;
  /** Each is sent once; the run ends when they are used up. */
  readonly bodies: readonly string[];
  /** Whether an answer is what was wanted, else why it is not. */
  readonly problemOf: (
    status: number,
    body: Readonly<Record<string, unknown>>,
  ) => string | undefined;
}

/** A closed loop: a request is sent when an earlier one is answered. Latencies in milliseconds. */
export async function runLoad({
  url,
  path,
  concurrency,
  bodies,
  problemOf,
}: LoadOptions): Promise<LoadResult> {
  const pool = new Pool(url, { connections: concurrency, keepAliveTimeout: 60_000 });
  const latencies: number[] = [];
  const failures: Record<string, number> = {};
  let next = 0;
  let completed = 0;
  const worker = async (): Promise<void> => {
    for (;;) {
      const body = bodies[next];
      next += 1;
      if (body === undefined) return;
      const begun = performance.now();
      const problem = await send(pool, path, body, problemOf);
      latencies.push(performance.now() - begun);
      if (problem === undefined) completed += 1;
      else failures[problem] = (failures[problem] ?? 0) + 1;
    }
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: concurrency }, worker));
  const seconds = (performance.now() - begun) / 1000;
  await pool.close();
  latencies.sort((a, b) => a - b);
  const percentile = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    concurrency,
    completed,
    failed: bodies.length - completed,
    seconds,
    perSecond: completed / seconds,
    p50: percentile(0.5),
    p95: percentile(0.95),
    p99: percentile(0.99),
    failures,
  };
}

async function send(
  pool: Pool,
  path: string,
  body: string,
  problemOf: LoadOptions['problemOf'],
): Promise<string | undefined> {
  try {
    const response = await pool.request({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body,
      headersTimeout: 120_000,
      bodyTimeout: 120_000,
    });
    const answer = (await response.body.json()) as Record<string, unknown>;
    return problemOf(response.statusCode, answer);
  } catch (error) {
    return error instanceof Error ? error.name : 'error';
  }
}

export const verifyProblem: LoadOptions['problemOf'] = (_status, body) =>
  body['isValid'] === true ? undefined : String(body['invalidReason'] ?? body['error']);

export const settleProblem: LoadOptions['problemOf'] = (_status, body) =>
  body['success'] === true ? undefined : String(body['errorReason'] ?? body['error']).slice(0, 60);
