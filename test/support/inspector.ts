import { WebSocket } from 'undici';

interface Reply {
  readonly id?: number;
  readonly error?: { readonly message: string };
  readonly result?: Readonly<Record<string, unknown>>;
}

/** How long an event loop stood still. */
interface Stall {
  /** Milliseconds the process itself is the cause of: what the kernel kept it waiting for a core is taken off. */
  readonly ownMs: number;
  /** Milliseconds by the clock, as `perf_hooks` measures them. */
  readonly wallMs: number;
}

/**
 * The script that the watched process runs. `/proc/self/schedstat` says how long its main thread
 * was ready and had no core: a machine under other load is not the fault of the code. Without that
 * file (another system than Linux) both figures are the same.
 */
const WATCH_LOOP = `(() => {
  const { monitorEventLoopDelay, performance } = process.getBuiltinModule('node:perf_hooks');
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const RESOLUTION_MS = 10;
  const waitedMs = () => {
    try {
      return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
    } catch {
      return 0;
    }
  };
  globalThis.loopWatch?.stop();
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  let [at, waited, ownMs] = [performance.now(), waitedMs(), 0];
  const look = () => {
    const [now, waitedNow] = [performance.now(), waitedMs()];
    ownMs = Math.max(ownMs, now - at - RESOLUTION_MS - (waitedNow - waited));
    [at, waited] = [now, waitedNow];
  };
  const timer = setInterval(look, RESOLUTION_MS);
  globalThis.loopWatch = {
    read: () => (look(), JSON.stringify({ ownMs, wallMs: histogram.max / 1e6 })),
    stop: () => (clearInterval(timer), histogram.disable()),
  };
})()`;
const REPLY_TIMEOUT_MS = 30_000;

/** How often a function was called. */
interface CalledFunction {
  /** Of its file. */
  readonly url: string;
  readonly name: string;
  /** Where it begins in the file. */
  readonly offset: number;
  readonly count: number;
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

/** Looks into a Node process that was started with `--inspect=127.0.0.1:0`. */
export class Inspector {
  #id = 0;
  readonly #pending = new Map<
    number,
    { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void }
  >();

  private constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => {
      const reply = JSON.parse(String(data)) as Reply;
      if (reply.id !== undefined) this.#pending.get(reply.id)?.resolve(reply);
    });
    socket.addEventListener('close', () => {
      for (const { reject } of this.#pending.values()) reject(new Error('the process has ended'));
    });
  }

  /** @param log - what the process has printed; the inspector's address, `ws://…`, is in it. */
  static async of(log: string): Promise<Inspector> {
    const url = /ws:\/\/\S+/.exec(log)?.[0];
    if (url === undefined) throw new Error('the process was not started with --inspect');
    const socket = new WebSocket(url);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => {
        resolve();
      });
      socket.addEventListener('error', () => {
        reject(new Error('the inspector does not answer'));
      });
    });
    return new Inspector(socket);
  }

  /** Bytes of the heap in use after a garbage collection, which stops the event loop itself. */
  async usedHeap(): Promise<number> {
    await this.#ask('HeapProfiler.collectGarbage');
    const { usedSize } = await this.#ask('Runtime.getHeapUsage');
    if (typeof usedSize !== 'number') throw new Error('the inspector tells no size');
    return usedSize;
  }

  /** Begins to measure how long the event loop stands still; a second call starts over. */
  async watchLoop(): Promise<void> {
    await this.#evaluate(WATCH_LOOP);
  }

  /** The longest stall since {@link watchLoop}, measured in the process. */
  async longestStall(): Promise<Stall> {
    const stall = await this.#evaluate('globalThis.loopWatch?.read()');
    if (typeof stall !== 'string') throw new Error('the event loop is not watched');
    return JSON.parse(stall) as Stall;
  }

  /** Begins to count the calls of every function. */
  async countCalls(): Promise<void> {
    await this.#ask('Profiler.enable');
    await this.#ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** The functions that were called since this was last asked. */
  async takeCalls(): Promise<readonly CalledFunction[]> {
    const { result } = await this.#ask('Profiler.takePreciseCoverage');
    return (result as readonly ScriptCoverage[]).flatMap(({ url, functions }) =>
      functions.flatMap(({ functionName: name, ranges }) => {
        const [range] = ranges;
        return range === undefined || range.count === 0
          ? []
          : [{ url, name, offset: range.startOffset, count: range.count }];
      }),
    );
  }

  close(): void {
    this.socket.close();
  }

  async #evaluate(expression: string): Promise<unknown> {
    const { result } = await this.#ask('Runtime.evaluate', { expression, returnByValue: true });
    return (result as { readonly value?: unknown } | undefined)?.value;
  }

  async #ask(method: string, params: object = {}): Promise<NonNullable<Reply['result']>> {
    const id = (this.#id += 1);
    let timer: NodeJS.Timeout | undefined;
    try {
      const { result, error } = await new Promise<Reply>((resolve, reject) => {
        this.#pending.set(id, { resolve, reject });
        timer = setTimeout(() => {
          reject(new Error(`no answer to ${method}`));
        }, REPLY_TIMEOUT_MS);
        this.socket.send(JSON.stringify({ id, method, params }));
      });
      if (error !== undefined) throw new Error(`${method}: ${error.message}`);
      return result ?? {};
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
    }
  }
}
