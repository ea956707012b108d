import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { delay } from './client.js';
import { CommandReader } from './resp.js';
import type { StepCatalogue } from './steps.js';
import { closed, type Pair, TcpProxy, type Verdict } from './tcp-proxy.js';

const PASS: Verdict = { kind: 'pass' };
/** Longer than Redis takes for any script. */
const EXECUTION_MS = 1000;

/** Stands between one process and Redis, and knows by name which scripts the process runs. */
export class RedisProxy extends TcpProxy {
  static start(serverPort: () => number, steps: StepCatalogue): Promise<RedisProxy> {
    return new RedisProxy({ serverPort, steps }).listen();
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  protected serve({ client, server }: Pair): void {
    server.on('data', (chunk: Buffer) => client.write(chunk));
    const commands = new CommandReader();
    // One after another: a verdict may take its time, and order must be kept.
    let turn: Promise<void> | undefined;
    client.on('data', (chunk: Buffer) => {
      // A process that is about to go may still know this port as that of a node.
      if (chunk.subarray(0, 5).toString('latin1') === 'POST ') {
        client.destroy();
        return;
      }
      for (const { bytes, words } of commands.read(chunk)) {
        const step = this.#stepOf(words);
        const verdict = step === undefined ? PASS : (this.watcher?.(step) ?? PASS);
        if (turn === undefined && !(verdict instanceof Promise) && verdict.kind === 'pass') {
          server.write(bytes);
          continue;
        }
        const before = turn ?? Promise.resolve();
        const mine: Promise<void> = before.then(async () => {
          await this.#follow(await verdict, bytes, { client, server });
          if (turn === mine) turn = undefined;
        });
        turn = mine;
      }
    });
  }

  async #follow(verdict: Verdict, bytes: Buffer, { client, server }: Pair): Promise<void> {
    if (verdict.kind === 'pass') {
      server.write(bytes);
      return;
    }
    if (verdict.kind === 'swallow') {
      await execute(bytes, this.parts.serverPort());
      // What this connection asked before is still answered.
      await delay(verdict.silentMs);
      client.destroy();
    }
    // Nothing of this connection goes further.
    await closed(client);
  }

  #stepOf([command = '', first = '', second = '']: readonly string[]): string | undefined {
    switch (command.toLowerCase()) {
      case 'evalsha':
      case 'evalsha_ro':
        return this.parts.steps.note(first);
      case 'eval':
      case 'eval_ro':
        this.parts.steps.learn(first);
        return this.parts.steps.note(createHash('sha1').update(first).digest('hex'));
      case 'script':
        if (first.toLowerCase() === 'load') this.parts.steps.learn(second);
        return undefined;
      case 'fcall':
      case 'fcall_ro':
        return this.parts.steps.note(first);
      default:
        return undefined;
    }
  }
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
