import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Script } from '../../src/platform/redis/redis-scripts.js';

/**
 * Stands between a process and Redis. It can lead to another server from one moment to the next, and let
 * Redis take a step whose reply never comes.
 */
export class RedisGate {
  readonly #sockets = new Set<Socket>();
  readonly #swallowed = new Map<string, number>();
  swallowedCount = 0;

  private constructor(
    private readonly server: Server,
    readonly url: string,
    private port: number,
  ) {}

  static start(redisPort: number): Promise<RedisGate> {
    return new Promise((resolve) => {
      const server = createServer((client) => {
        gate.#join(client);
      });
      let gate: RedisGate;
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        const port = typeof address === 'object' && address !== null ? address.port : 0;
        gate = new RedisGate(server, `redis://127.0.0.1:${port}`, redisPort);
        resolve(gate);
      });
    });
  }

  /** The next so many runs of a script are taken, and their connections end before the reply. */
  swallow({ sha }: Script, times = 1): void {
    this.#swallowed.set(sha, times);
  }

  /** Connections end, and the next ones lead to this port. */
  leadTo(redisPort: number): void {
    this.port = redisPort;
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #join(client: Socket): void {
    const redis = connect(this.port, '127.0.0.1');
    let isMute = false;
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
    redis.on('data', (reply: Buffer) => {
      if (!isMute) client.write(reply);
    });
    client.on('data', (chunk: Buffer) => {
      if (this.#isSwallowed(chunk)) {
        isMute = true;
        this.swallowedCount += 1;
        // Redis takes the step first.
        setTimeout(() => client.destroy(), 50);
      }
      redis.write(chunk);
    });
  }

  #isSwallowed(chunk: Buffer): boolean {
    for (const [sha, times] of this.#swallowed) {
      if (times > 0 && chunk.includes(sha)) {
        this.#swallowed.set(sha, times - 1);
        return true;
      }
    }
    return false;
  }
}
