import type { StepCatalogue } from '../steps.js';
import { closed, type Pair, TcpProxy, type Verdict } from '../tcp-proxy.js';
import { MessageReader, StatementNamer } from './pg-wire.js';

/** Longer than PostgreSQL takes for any statement here. */
const EXECUTION_MS = 150;

/** Stands between one process and PostgreSQL, and knows which statements the process sends. */
export class PostgresProxy extends TcpProxy {
  static start(port: number, steps: StepCatalogue): Promise<PostgresProxy> {
    return new PostgresProxy({ serverPort: () => port, steps }).listen();
  }

  protected serve({ client, server }: Pair): void {
    let isHeard = true;
    server.on('data', (chunk: Buffer) => {
      if (isHeard) client.write(chunk);
    });
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
            await closed(client);
            return;
          }
          if (verdict.kind === 'swallow') {
            // What belongs to the statement comes in further messages, and goes to the database.
            isHeard = false;
            setTimeout(() => client.destroy(), EXECUTION_MS + verdict.silentMs);
          }
          server.write(bytes);
        });
      }
    });
  }

  #verdictOn(namer: StatementNamer, statement: string | undefined): Verdict | Promise<Verdict> {
    const step = statement === undefined ? undefined : namer.nameOf(statement);
    if (step === undefined) return { kind: 'pass' };
    this.parts.steps.count(step);
    return this.watcher?.(step) ?? { kind: 'pass' };
  }
}
