import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { delay } from './client.js';
import type { StepCatalogue } from './steps.js';

/**
 * - `pass`: it goes to the server.
 * - `withhold`: the server never gets it; neither does it get anything else of this connection.
 * - `swallow`: the server does it, and the caller gets no reply: its connection falls silent and
 *   breaks.
 */
export type Verdict =
  { readonly kind: 'pass' | 'withhold' } | { readonly kind: 'swallow'; readonly silentMs: number };

/** Asked before a step goes on to the server. */
type StepWatcher = (step: string) => Verdict | Promise<Verdict>;

/** Two connections that are one: that of a process, and ours to its server. */
export interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

interface ProxyParts {
  /** Asked at each connection: another server may have taken over since, also while a process starts. */
  readonly serverPort: () => number;
  readonly steps: StepCatalogue;
}

/** Stands between one process and a server, may part them in several ways, and knows the process's steps by name. */
export abstract class TcpProxy {
  watcher: StepWatcher | undefined;
  /** What the process has sent and been sent so far. */
  bytes = 0;
  readonly #pairs = new Set<Pair>();
  readonly #listener: Server;
  #isStalled = false;
  #isCut = false;

  protected constructor(protected readonly parts: ProxyParts) {
    this.#listener = createServer((client) => {
      this.#join(client);
    });
  }

  protected async listen(): Promise<this> {
    this.#listener.listen(0, '127.0.0.1');
    await once(this.#listener, 'listening');
    return this;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Carries what a process says to the server, and the answers back. */
  protected abstract serve(pair: Pair): void;

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
    for (const { client, server } of this.#pairs) {
      server.resume();
      client.resume();
    }
  }

  async stop(): Promise<void> {
    for (const { client } of this.#pairs) client.destroy();
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #join(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#isCut) {
      client.destroy();
      return;
    }
    const server = connect(this.parts.serverPort(), '127.0.0.1');
    const pair = { client, server };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => {
        this.bytes += chunk.length;
      });
      socket.on('close', () => {
        this.#pairs.delete(pair);
        client.destroy();
        server.destroy();
      });
    }
    this.serve(pair);
    if (this.#isStalled) pause(pair);
  }
}

function pause({ client, server }: Pair): void {
  client.pause();
  server.pause();
}

/** Until this connection is over. */
export async function closed(client: Socket): Promise<void> {
  if (!client.destroyed) await new Promise((resolve) => client.once('close', resolve));
}
