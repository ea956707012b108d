import { createHash } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { delay } from './client.js';
import { CommandReader } from './resp.js';
import type { StepCatalogue } from './steps.js';

/**
 * - `pass`: it goes to Redis.
 * - `withhold`: Redis never gets it; neither does it get anything else of this connection.
 * - `swallow`: Redis does it, and the caller never hears so: its connection falls silent and breaks.
 */
export type Verdict =
  { readonly kind: 'pass' | 'withhold' } | { readonly kind: 'swallow'; readonly silentMs: number };

/** Asked before a script goes on to Redis. */
export type StepWatcher = (step: string) => Verdict | Promise<Verdict>;

const PASS: Verdict = { kind: 'pass' };
/** Longer than Redis takes for any script. */
const EXECUTION_MS = 1000;

interface Pair {
  readonly client: Socket;
  readonly redis: Socket;
}

/** Stands between one process and Redis, and knows by name which scripts the process runs. */
export class RedisProxy {
  watcher: StepWatcher | undefined;
  /** What the process has sent and been sent so far. */
  bytes = 0;
  readonly #pairs = new Set<Pair>();
  #isStalled = false;
  #isCut = false;

  private constructor(
    private readonly server: Server,
    /** Asked at each connection: another Redis may have taken over since, also while a process starts. */
    private readonly redisPort: () => number,
    private readonly steps: StepCatalogue,
    readonly url: string,
  ) {}

  static start(redisPort: () => number, steps: StepCatalogue): Promise<RedisProxy> {
    return new Promise((resolve) => {
      const server = createServer((client) => {
        proxy.#join(client);
      });
      let proxy: RedisProxy;
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        const port = typeof address === 'object' && address !== null ? address.port : 0;
        proxy = new RedisProxy(server, redisPort, steps, `redis://127.0.0.1:${port}`);
        resolve(proxy);
      });
    });
  }

  /** Ends all connections; new ones are refused until `restore`. */
  cut(): void {
    this.#isCut = true;
    for (const { client } of this.#pairs) client.destroy();
  }

  /** New connections are taken again. */
  restore(): void {
    this.#isCut = false;
  }

  /** All connections stay and are silent, in both directions; then everything comes at once. */
  async stall(ms: number): Promise<void> {
    this.#isStalled = true;
    for (const pair of this.#pairs) pause(pair);
    await delay(ms);
    this.#isStalled = false;
    for (const { client, redis } of this.#pairs) {
      redis.resume();
      client.resume();
    }
  }

  async stop(): Promise<void> {
    for (const { client } of this.#pairs) client.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #join(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#isCut) {
      client.destroy();
      return;
    }
    const redis = connect(this.redisPort(), '127.0.0.1');
    const pair = { client, redis };
    this.#pairs.add(pair);
    for (const socket of [client, redis]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#pairs.delete(pair);
        client.destroy();
        redis.destroy();
      });
    }
    redis.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      client.write(chunk);
    });
    this.#serve(pair);
    if (this.#isStalled) pause(pair);
  }

  #serve({ client, redis }: Pair): void {
    const commands = new CommandReader();
    // One after another: a verdict may take its time, and order must be kept.
    let turn: Promise<void> | undefined;
    client.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      // A process that is about to go may still know this port as that of a node.
      if (chunk.subarray(0, 5).toString('latin1') === 'POST ') {
        client.destroy();
        return;
      }
      for (const { bytes, words } of commands.read(chunk)) {
        const step = this.#stepOf(words);
        const verdict = step === undefined ? PASS : (this.watcher?.(step) ?? PASS);
        if (turn === undefined && !(verdict instanceof Promise) && verdict.kind === 'pass') {
          redis.write(bytes);
          continue;
        }
        const before = turn ?? Promise.resolve();
        const mine: Promise<void> = before.then(async () => {
          await this.#follow(await verdict, bytes, client, redis);
          if (turn === mine) turn = undefined;
        });
        turn = mine;
      }
    });
  }

  async #follow(verdict: Verdict, bytes: Buffer, client: Socket, redis: Socket): Promise<void> {
    if (verdict.kind === 'pass') {
      redis.write(bytes);
      return;
    }
    if (verdict.kind === 'swallow') {
      await execute(bytes, this.redisPort());
      // What this connection asked before is still answered.
      await delay(verdict.silentMs);
      client.destroy();
    }
    // Nothing of this connection goes further.
    await new Promise((resolve) => client.once('close', resolve));
  }

  #stepOf([command = '', first = '', second = '']: readonly string[]): string | undefined {
    switch (command.toLowerCase()) {
      case 'evalsha':
      case 'evalsha_ro':
        return this.steps.note(first);
      case 'eval':
      case 'eval_ro':
        this.steps.learn(first);
        return this.steps.note(createHash('sha1').update(first).digest('hex'));
      case 'script':
        if (first.toLowerCase() === 'load') this.steps.learn(second);
        return undefined;
      case 'fcall':
      case 'fcall_ro':
        return this.steps.note(first);
      default:
        return undefined;
    }
  }
}

function pause({ client, redis }: Pair): void {
  client.pause();
  redis.pause();
}

/** Has Redis do one command on a connection of its own, and waits until it has. */
function execute(bytes: Buffer, port: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve();
    };
    const timer = setTimeout(done, EXECUTION_MS);
    socket.on('error', done);
    socket.on('data', done);
    socket.write(bytes);
  });
}
