import { connect, createServer, type Server, type Socket } from 'node:net';
import { delay } from '../client.js';
import type { StepWatcher, Verdict } from '../redis-proxy.js';
import type { StepCatalogue } from '../steps.js';
import { MessageReader, StatementNamer } from './pg-wire.js';

/** Longer than PostgreSQL takes for any statement here. */
const EXECUTION_MS = 150;

interface Pair {
  readonly client: Socket;
  readonly database: Socket;
}

/** Stands between one process and PostgreSQL, and knows which statements the process sends. */
export class PostgresProxy {
  watcher: StepWatcher | undefined;
  readonly #pairs = new Set<Pair>();
  #isStalled = false;
  #isCut = false;

  private constructor(
    private readonly server: Server,
    private readonly databasePort: number,
    private readonly steps: StepCatalogue,
    readonly port: number,
  ) {}

  static start(databasePort: number, steps: StepCatalogue): Promise<PostgresProxy> {
    return new Promise((resolve) => {
      const server = createServer((client) => {
        proxy.#join(client);
      });
      let proxy: PostgresProxy;
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        const port = typeof address === 'object' && address !== null ? address.port : 0;
        proxy = new PostgresProxy(server, databasePort, steps, port);
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
    for (const { client, database } of this.#pairs) {
      database.resume();
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
    const database = connect(this.databasePort, '127.0.0.1');
    const pair = { client, database };
    this.#pairs.add(pair);
    for (const socket of [client, database]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#pairs.delete(pair);
        client.destroy();
        database.destroy();
      });
    }
    const isHeard = { value: true };
    database.on('data', (chunk: Buffer) => {
      if (isHeard.value) client.write(chunk);
    });
    this.#serve(pair, isHeard);
    if (this.#isStalled) pause(pair);
  }

  #serve({ client, database }: Pair, isHeard: { value: boolean }): void {
    const messages = new MessageReader();
    const namer = new StatementNamer();
    // One after another: a verdict may take its time, and order must be kept.
    let turn: Promise<void> = Promise.resolve();
    client.on('data', (chunk: Buffer) => {
      for (const { bytes, statement } of messages.read(chunk)) {
        turn = turn.then(async () => {
          const verdict = await this.#verdictOn(namer, statement);
          if (verdict.kind === 'withhold') {
            // Nothing of this connection goes further.
            await new Promise((resolve) => client.once('close', resolve));
            return;
          }
          if (verdict.kind === 'swallow') {
            // What belongs to the statement comes in further messages, and goes to the database.
            isHeard.value = false;
            setTimeout(() => client.destroy(), EXECUTION_MS + verdict.silentMs);
          }
          database.write(bytes);
        });
      }
    });
  }

  #verdictOn(namer: StatementNamer, statement: string | undefined): Verdict | Promise<Verdict> {
    const step = statement === undefined ? undefined : namer.nameOf(statement);
    if (step === undefined) return { kind: 'pass' };
    this.steps.count(step);
    return this.watcher?.(step) ?? { kind: 'pass' };
  }
}

function pause({ client, database }: Pair): void {
  client.pause();
  database.pause();
}
