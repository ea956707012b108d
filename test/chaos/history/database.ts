import { readFileSync } from 'node:fs';
import pg from 'pg';
import { restartPostgres, type SandboxPostgres, startPostgres } from '../../../sandbox/postgres.js';
import { delay } from '../client.js';

const RETRY_MS = 50;
const START_TIMEOUT_MS = 60_000;

/** The PostgreSQL of a deployment, what can happen to one, and the suite's own way to it. */
export class Database {
  #client: pg.Client | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(private server: SandboxPostgres) {}

  static async start(): Promise<Database> {
    return new Database(await startPostgres());
  }

  get port(): number {
    return this.server.port;
  }

  get url(): string {
    return this.server.url;
  }

  /** As it is reached at another port. */
  urlAt(port: number): string {
    const url = new URL(this.server.url);
    url.port = String(port);
    return url.href;
  }

  /** Ends it as a power cut would and starts it again on what it has on its disk. */
  async crash(awayMs: number): Promise<void> {
    await this.server.crash();
    await delay(awayMs);
    this.server = await restartPostgres(this.server);
  }

  /** Neither it nor any of its processes does anything for a while. */
  async freeze(ms: number): Promise<void> {
    const { pid } = this.server.child;
    if (pid === undefined) return;
    // The first one makes the others: it stops first and goes on last.
    process.kill(pid, 'SIGSTOP');
    const others = childrenOf(pid);
    for (const other of others) signal(other, 'SIGSTOP');
    await delay(ms);
    for (const other of others) signal(other, 'SIGCONT');
    process.kill(pid, 'SIGCONT');
  }

  /** Asks until it answers, however often it is killed meanwhile. One question after another. */
  query<T extends object>(text: string, values: unknown[] = []): Promise<readonly T[]> {
    const answer = this.#turn.then(() => this.#insist<T>(text, values));
    this.#turn = answer.catch(() => undefined);
    return answer;
  }

  async stop(): Promise<void> {
    await this.#client?.end().catch(() => undefined);
    await this.server.stop('SIGKILL');
  }

  async #insist<T extends object>(text: string, values: unknown[]): Promise<readonly T[]> {
    const deadline = Date.now() + START_TIMEOUT_MS;
    for (;;) {
      try {
        this.#client ??= await this.#connect();
        return (await this.#client.query<T>(text, values)).rows;
      } catch (error) {
        // What the database says of a statement is a fault of the suite.
        const isRefused = /^(42|22|23)/.test(String((error as { code?: unknown }).code));
        if (isRefused || Date.now() > deadline) throw error;
        this.#client?.end().catch(() => undefined);
        this.#client = undefined;
        await delay(RETRY_MS);
      }
    }
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }
}

/** Linux keeps the list; a process that ends meanwhile is none of them. */
function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(/\s+/).filter(Boolean).map(Number);
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}
