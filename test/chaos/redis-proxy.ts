import { createHash } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { ASKER_SCRIPTS } from '../../src/ledger/settlement-ledger.js';
import { LANE_SCRIPTS } from '../../src/ledger/lane-ledger.js';

const NAMES = new Map(
  [...Object.values(ASKER_SCRIPTS), ...Object.values(LANE_SCRIPTS)].map(({ sha, name }) => [
    sha,
    name,
  ]),
);

/**
 * Told of a step before Redis gets it. What it returns decides whether Redis gets it at all; the
 * process is ended by whoever is told.
 */
export type StepWatcher = (step: string) => 'pass' | 'withhold';

/** Stands between one process and Redis, and knows by name what the process asks for. */
export class RedisProxy {
  watcher: StepWatcher | undefined;
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static start(redisPort: number): Promise<RedisProxy> {
    return new Promise((resolve) => {
      const server = createServer((client) => {
        proxy.#join(client, connect(redisPort, '127.0.0.1'));
      });
      let proxy: RedisProxy;
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        const port = typeof address === 'object' && address !== null ? address.port : 0;
        proxy = new RedisProxy(server, `redis://127.0.0.1:${port}`);
        resolve(proxy);
      });
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #join(client: Socket, redis: Socket): void {
    const commands = new CommandReader();
    for (const socket of [client, redis]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        redis.destroy();
      });
    }
    redis.pipe(client);
    client.on('data', (chunk: Buffer) => {
      // A process that is about to go may still know this port as that of a node.
      if (chunk.subarray(0, 5).toString('latin1') === 'POST ') {
        client.destroy();
        return;
      }
      for (const command of commands.read(chunk)) {
        const step = stepOf(command.words);
        if (step !== undefined && this.watcher?.(step) === 'withhold') return;
        redis.write(command.bytes);
      }
    });
  }
}

/** The name of a script, or what adding a job is called. */
function stepOf([command = '', first = '', , ...rest]: readonly string[]): string | undefined {
  const name = command.toLowerCase();
  if (name !== 'evalsha' && name !== 'eval') return undefined;
  const sha = name === 'eval' ? createHash('sha1').update(first).digest('hex') : first;
  const known = NAMES.get(sha);
  if (known !== undefined) return known;
  return rest.some((word) => word.startsWith('bull:')) ? 'enqueue' : undefined;
}

interface Command {
  readonly bytes: Buffer;
  readonly words: readonly string[];
}

/** Cuts what a client sends into commands: arrays of bulk strings of the Redis protocol. */
class CommandReader {
  #rest = Buffer.alloc(0);

  *read(chunk: Buffer): Generator<Command> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const command = this.#next();
      if (command === undefined) return;
      this.#rest = this.#rest.subarray(command.bytes.length);
      yield command;
    }
  }

  #next(): Command | undefined {
    const head = this.#line(0, '*');
    if (head === undefined) return undefined;
    const words: string[] = [];
    let at = head.end;
    for (let index = 0; index < head.value; index += 1) {
      const length = this.#line(at, '$');
      if (length === undefined) return undefined;
      const end = length.end + length.value;
      if (this.#rest.length < end + 2) return undefined;
      // Script texts and keys are all that is looked at; payloads are long and stay bytes.
      words.push(index < 8 ? this.#rest.toString('utf8', length.end, end) : '');
      at = end + 2;
    }
    return { bytes: this.#rest.subarray(0, at), words };
  }

  #line(from: number, mark: string): { readonly value: number; readonly end: number } | undefined {
    const end = this.#rest.indexOf('\r\n', from);
    if (end < 0) return undefined;
    const text = this.#rest.toString('latin1', from, end);
    if (!text.startsWith(mark)) throw new Error(`expected ${mark} in a command, found ${text}`);
    return { value: Number(text.slice(1)), end: end + 2 };
  }
}
