import { Pool } from 'undici';
import { isJsonObject } from '../../../protocol/payment/wire-values.js';
import { TickCoalescer } from '../../concurrency/tick-coalescer.js';
import type { Secret } from '../../config/secret.js';
import { readQuantity } from '../block.js';
import { IsolatedQueue, type Isolation, type QueuedCall } from './isolated-queue.js';
import type { RpcCaller } from './rpc-caller.js';
import { isRateLimit } from './rpc-classes.js';
import type { RpcObserver } from './rpc-observer.js';
import type { RpcError, RpcOutcome, SilenceCause } from './rpc-outcome.js';

/**
 * Calls in one HTTP request. Beyond 50 the saving per call is gone, and public nodes refuse batches of
 * more than 100.
 */
const BATCH_MAX_CALLS = 50;
/**
 * Characters of the parameters in one HTTP request. Nodes refuse a request of more than 2 to 5 MB, proxies one of more
 * than 1 MB, with all its calls. The longest call has a quarter of a megabyte.
 */
const REQUEST_MAX_CHARACTERS = 600_000;
/**
 * HTTP requests in progress at once. While there are this many, further calls wait for the next batch, so a busy
 * endpoint gets larger batches. A single call never waits.
 */
const FLIGHTS_MAX = 4;
/** Without JSON-RPC batches each call is a separate request. */
const FLIGHTS_MAX_WITHOUT_BATCHES = 24;
/** Transactions have separate requests: a node may hold one for seconds, and would delay all calls in its request. */
const SEND = 'eth_sendRawTransaction';
const SEND_FLIGHTS_MAX = 2;
const SEND_FLIGHTS_MAX_WITHOUT_BATCHES = 8;
/**
 * Questions by which blocks and the transactions of lanes are followed, and priced. Requests of callers cause few of
 * them. Where other questions wait, these have requests of their own. A transaction and its receipt are evidence
 * together, so both are here: a node may answer only one of two requests.
 */
const FOLLOWING: ReadonlySet<string> = new Set([
  'eth_blockNumber',
  'eth_getBlockByNumber',
  'eth_getTransactionByHash',
  'eth_getTransactionReceipt',
  'eth_getTransactionCount',
  'eth_getBalance',
  'eth_gasPrice',
  'eth_maxPriorityFeePerGas',
]);
const FOLLOWING_FLIGHTS_MAX = 2;
const FOLLOWING_FLIGHTS_MAX_WITHOUT_BATCHES = 12;
/** Limits of other waiting questions: anybody can cause them. */
const QUESTIONS_WAITING_MAX = 4000;
const QUESTIONS_WAIT_MS = 10_000;
/** Limit of waiting transactions; further ones are not sent to this endpoint, and are sent again later. */
const SENDS_WAITING_MAX = 200;
const BODY_MAX_BYTES = 64 * 1024 * 1024;
/**
 * The computing time of a node for unknown code, and for code that has burnt gas before. A node computes 50 to 500
 * million gas a second on one core. Few calls share a request, because they wait for each other and their answers may
 * be long.
 */
const NEW_CODE_BATCH_MAX = 4;
const NEW_CODE = { flightsMax: 4, gasPerSecond: 12_000_000 } as const;
const MARKED_CODE = { flightsMax: 2, gasPerSecond: 3_000_000 } as const;

/**
 * One JSON-RPC endpoint over HTTP. Calls of one turn of the event loop, and calls made while earlier ones are in
 * progress, share a request. Never throws: the outcome of a call is a value.
 *
 * An address may lead to another chain at any time, where every answer is plausible and wrong. So each batch also asks
 * for the chain id, and counts as unanswered if it differs. Nodes without batches are checked only by their last probe.
 */
export class RpcEndpoint implements RpcCaller {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #headers: Record<string, string>;
  readonly #questions: Line = {
    queue: [],
    waitingMax: QUESTIONS_WAITING_MAX,
    flights: 0,
    most: FLIGHTS_MAX,
    mostWithoutBatches: FLIGHTS_MAX_WITHOUT_BATCHES,
  };
  readonly #following: Line = {
    queue: [],
    waitingMax: Infinity,
    flights: 0,
    most: FOLLOWING_FLIGHTS_MAX,
    mostWithoutBatches: FOLLOWING_FLIGHTS_MAX_WITHOUT_BATCHES,
  };
  readonly #sends: Line = {
    queue: [],
    waitingMax: SENDS_WAITING_MAX,
    flights: 0,
    most: SEND_FLIGHTS_MAX,
    mostWithoutBatches: SEND_FLIGHTS_MAX_WITHOUT_BATCHES,
  };
  readonly #isolated: Readonly<Record<Isolation['kind'], IsolatedQueue>>;
  readonly #turnEnd = new TickCoalescer(() => {
    this.#share();
    this.#flush(this.#questions);
    this.#flush(this.#following);
    this.#flush(this.#sends);
  });
  #acceptsBatches = true;

  /**
   * @param name - for logs and metrics; the URL may hold a key and is never shown.
   * @param onWrongChain - called when an answer shows another chain.
   */
  constructor(
    readonly name: string,
    private readonly chainId: number,
    url: Secret<string>,
    private readonly onWrongChain: (servedChainId: bigint) => void,
    private readonly observer?: RpcObserver,
  ) {
    const { origin, pathname, search, username, password } = new URL(url.reveal());
    this.#pool = new Pool(origin, {
      connections:
        FLIGHTS_MAX_WITHOUT_BATCHES +
        FOLLOWING_FLIGHTS_MAX_WITHOUT_BATCHES +
        SEND_FLIGHTS_MAX_WITHOUT_BATCHES,
      keepAliveTimeout: 30_000,
      connect: { timeout: 3000 },
      maxResponseSize: BODY_MAX_BYTES,
    });
    const exchange = (calls: readonly QueuedCall[]) => this.#exchange(calls);
    this.#isolated = {
      new: new IsolatedQueue(exchange, {
        ...NEW_CODE,
        batchMax: () => (this.#acceptsBatches ? NEW_CODE_BATCH_MAX : 1),
      }),
      marked: new IsolatedQueue(exchange, { ...MARKED_CODE, batchMax: () => 1 }),
    };
    this.#path = pathname + search;
    this.#headers = { 'content-type': 'application/json', accept: 'application/json' };
    if (username !== '' || password !== '') {
      const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      this.#headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`;
    }
  }

  get acceptsBatches(): boolean {
    return this.#acceptsBatches;
  }

  retryBatches(): void {
    this.#acceptsBatches = true;
  }

  /** @param apart - for calls that must not slow down others. */
  request(
    method: string,
    params: readonly unknown[],
    timeoutMs: number,
    apart?: Isolation,
  ): Promise<RpcOutcome> {
    return new Promise((resolve) => {
      const call = { method, params, timeoutMs, resolve };
      if (apart !== undefined) {
        this.#isolated[apart.kind].add(call, apart);
        return;
      }
      const line = this.#lineOf(call);
      if (line.queue.length >= line.waitingMax) {
        resolve(silent('not_sent'));
        return;
      }
      const waitMs = method === SEND ? timeoutMs : QUESTIONS_WAIT_MS;
      line.queue.push({ ...call, waitsUntil: performance.now() + waitMs });
      this.#turnEnd.schedule();
    });
  }

  async close(): Promise<void> {
    this.#isolated.new.close();
    this.#isolated.marked.close();
    await this.#pool.destroy();
  }

  #flush(line: Line): void {
    const now = performance.now();
    while ((line.queue[0]?.waitsUntil ?? Infinity) < now) {
      line.queue.shift()?.resolve(silent('not_sent'));
    }
    while (line.queue.length > 0 && this.#hasRoom(line)) {
      const calls = line.queue.splice(0, this.#countOfNext(line.queue));
      line.flights += 1;
      const land = (): void => {
        line.flights -= 1;
        this.#flush(line);
      };
      // After any error the place is free again, so no call waits forever.
      this.#fly(line, calls)
        .catch(() => {
          for (const call of calls) call.resolve(silent('malformed'));
        })
        .finally(land)
        .catch(() => undefined);
    }
  }

  /** How many of the first share the next request; at least one. */
  #countOfNext(queue: readonly WaitingCall[]): number {
    let [count, characters] = [0, 0];
    for (const { params } of queue.slice(0, this.#callsMax)) {
      characters += charactersOf(params);
      if (count > 0 && characters > REQUEST_MAX_CHARACTERS) break;
      count += 1;
    }
    return count;
  }

  /** Limit of calls in one request. */
  get #callsMax(): number {
    return this.#acceptsBatches ? BATCH_MAX_CALLS : 1;
  }

  #hasRoom({ flights, most, mostWithoutBatches }: Line): boolean {
    return flights < (this.#acceptsBatches ? most : mostWithoutBatches);
  }

  #lineOf({ method, params }: QueuedCall): Line {
    if (method === SEND) return this.#sends;
    // Searches read whole blocks, which are long.
    return FOLLOWING.has(method) && params[1] !== true ? this.#following : this.#questions;
  }

  /** All questions share a request that can be sent now and holds them: each request can fail by itself. */
  #share(): void {
    const [{ queue }, following] = [this.#questions, this.#following.queue];
    const isCrowded = queue.length + following.length > this.#callsMax;
    if (!isCrowded && this.#hasRoom(this.#questions)) queue.unshift(...following.splice(0));
  }

  async #fly(line: Line, calls: readonly WaitingCall[]): Promise<void> {
    const outcomes = await this.#exchange(calls);
    if (outcomes === 'batch_refused') {
      line.queue.unshift(...calls);
      return;
    }
    calls.forEach((call, index) => {
      call.resolve(outcomes[index] ?? silent('malformed'));
    });
  }

  /** One HTTP request for some calls. */
  async #exchange(calls: readonly QueuedCall[]): Promise<readonly RpcOutcome[] | 'batch_refused'> {
    const startedAt = performance.now();
    const answer = await this.#post(calls);
    if (answer === 'batch_refused') {
      this.#acceptsBatches = false;
      return answer;
    }
    const outcomes = this.#believed(calls, answer);
    const durationMs = performance.now() - startedAt;
    this.#observe({ methods: calls.map((call) => call.method), outcomes, durationMs });
    return outcomes;
  }

  /** A failing observer must not fail the call. */
  #observe(exchange: Omit<Parameters<RpcObserver['exchanged']>[0], 'endpoint'>): void {
    try {
      this.observer?.exchanged({ ...exchange, endpoint: this.name });
    } catch {
      // The exchange is not counted; the call continues.
    }
  }

  /** Answers of another chain are dropped, except for the chain id. */
  #believed(calls: readonly QueuedCall[], answer: Answer): readonly RpcOutcome[] {
    const outcomes = calls.map((_, index) => outcomeOf(answer, index));
    const proof = outcomeOf(answer, calls.length);
    const served = proof.kind === 'result' ? readQuantity(proof.value) : BigInt(this.chainId);
    if (served === BigInt(this.chainId)) return outcomes;
    if (served !== undefined) this.onWrongChain(served);
    return outcomes.map((outcome, index) =>
      calls[index]?.method === CHAIN_ID_CALL.method ? outcome : silent('wrong_chain'),
    );
  }

  async #post(calls: readonly QueuedCall[]): Promise<Answer | 'batch_refused'> {
    const timeoutMs = Math.max(...calls.map((call) => call.timeoutMs));
    const asked = this.#acceptsBatches ? [...calls, CHAIN_ID_CALL] : calls;
    const requests = asked.map(({ method, params }, id) => ({
      jsonrpc: '2.0',
      id,
      method,
      params,
    }));
    const isBatch = requests.length > 1;
    try {
      const { statusCode, body } = await this.#pool.request({
        method: 'POST',
        path: this.#path,
        headers: this.#headers,
        body: JSON.stringify(isBatch ? requests : requests[0]),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const parsed = parseJson(await body.text());
      if (statusCode === 429) return { silence: 'rate_limited' };
      if (isBatch && isJsonObject(parsed)) {
        return isRateLimited(parsed) ? { silence: 'rate_limited' } : 'batch_refused';
      }
      // Some nodes send an error object with a 4xx or 5xx status; it still is an answer.
      const answers = readAnswers(parsed);
      if (answers !== undefined) return { answers };
      return { silence: statusCode === 200 ? 'malformed' : 'http_status' };
    } catch (error) {
      return { silence: isTimeout(error) ? 'timeout' : 'connection' };
    }
  }
}

interface WaitingCall extends QueuedCall {
  /** A call that is not sent by then is dropped, because its sender no longer waits. */
  readonly waitsUntil?: number;
}

/** Waiting calls, and the limits of them and of their requests in progress. */
interface Line {
  readonly queue: WaitingCall[];
  readonly waitingMax: number;
  flights: number;
  readonly most: number;
  readonly mostWithoutBatches: number;
}

const CHAIN_ID_CALL = { method: 'eth_chainId', params: [] } as const;

type Answer =
  { readonly answers: ReadonlyMap<number, RpcOutcome> } | { readonly silence: SilenceCause };

function outcomeOf(answer: Answer, index: number): RpcOutcome {
  return 'silence' in answer
    ? silent(answer.silence)
    : (answer.answers.get(index) ?? silent('malformed'));
}

/** About as many as in its JSON text. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, one) => sum + charactersOf(one), 0);
}

function silent(cause: SilenceCause): RpcOutcome {
  return { kind: 'silent', cause };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A rate limit may be one answer to the whole batch. */
function isRateLimited(parsed: Readonly<Record<string, unknown>>): boolean {
  return isJsonObject(parsed['error']) && isRateLimit(readError(parsed['error']));
}

function readAnswers(parsed: unknown): ReadonlyMap<number, RpcOutcome> | undefined {
  const items = Array.isArray(parsed) ? (parsed as unknown[]) : [parsed];
  const answers = new Map<number, RpcOutcome>();
  for (const item of items) {
    if (!isJsonObject(item) || typeof item['id'] !== 'number') continue;
    const outcome = readAnswer(item);
    if (outcome !== undefined) answers.set(item['id'], outcome);
  }
  return answers.size > 0 ? answers : undefined;
}

function readAnswer(item: Readonly<Record<string, unknown>>): RpcOutcome | undefined {
  const error = item['error'];
  if (isJsonObject(error)) return { kind: 'error', error: readError(error) };
  return 'result' in item ? { kind: 'result', value: item['result'] } : undefined;
}

/** Characters of a node's words that are read: patterns over a longer text would hold up every call. */
const MESSAGE_MOST = 1000;

function readError(error: Readonly<Record<string, unknown>>): RpcError {
  return {
    code: typeof error['code'] === 'number' ? error['code'] : 0,
    message: typeof error['message'] === 'string' ? error['message'].slice(0, MESSAGE_MOST) : '',
    data: error['data'],
  };
}

function isTimeout(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('name' in error)) return false;
  return error.name === 'TimeoutError' || error.name === 'ConnectTimeoutError';
}
