import { Worker } from 'node:worker_threads';
import type { Address, Hex } from 'viem';
import type { RecoverSigner, RecoverSignerAsync } from '../../protocol/schemes/verdict.js';
import { TickCoalescer } from '../concurrency/tick-coalescer.js';
import type { RecoveryAnswer, RecoveryQuestion, Signed } from './recovery-messages.js';

/** The used part of a worker thread. */
export interface RecoveryPort {
  postMessage(question: RecoveryQuestion): void;
  on(event: 'message', listener: (answer: RecoveryAnswer) => void): void;
  on(event: 'error' | 'exit', listener: () => void): void;
}

interface Waiting {
  readonly signed: Signed;
  readonly resolve: (signer: Address | undefined) => void;
}

/** With small messages the first signers are ready while the last are still recovered. */
const MESSAGE_MAX = 8;
/** The thread keeps no data after a message. Without a limit V8 would give it as much memory as the main thread. */
const YOUNG_GENERATION_MB = 4;

/**
 * Recovers signers in a worker thread. All signatures of one turn of the event loop are sent in one message. A single
 * signature is recovered on the main thread, because the message would take longer. After the end of the thread, all
 * are recovered on the main thread.
 */
export class RecoveryThread {
  readonly #asked = new Map<number, readonly Waiting[]>();
  #next: Waiting[] = [];
  readonly #turnEnd = new TickCoalescer(() => {
    this.#ask();
  });
  #lastId = 0;
  #isGone = false;

  /** @param onGone - called once, when the thread has ended. */
  constructor(
    private readonly port: RecoveryPort,
    private readonly recoverHere: RecoverSigner,
    onGone: () => void,
  ) {
    port.on('message', (answer) => {
      this.#take(answer);
    });
    const end = (): void => {
      if (this.#isGone) return;
      this.#isGone = true;
      for (const batch of this.#asked.values()) this.#recoverAll(batch);
      this.#asked.clear();
      onGone();
    };
    port.on('error', end);
    port.on('exit', end);
  }

  static start(recoverHere: RecoverSigner, onGone: () => void): RecoveryThread {
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB };
    const worker = new Worker(new URL('./recovery-worker.js', import.meta.url), { resourceLimits });
    const thread = new RecoveryThread(worker, recoverHere, onGone);
    worker.unref();
    return thread;
  }

  readonly recoverSigner: RecoverSignerAsync = (digest: Hex, signature: Hex) =>
    new Promise((resolve) => {
      this.#next.push({ signed: [digest, signature], resolve });
      this.#turnEnd.schedule();
    });

  #ask(): void {
    const batch = this.#next;
    this.#next = [];
    if (batch.length < 2 || this.#isGone) {
      this.#recoverAll(batch);
      return;
    }
    for (let start = 0; start < batch.length; start += MESSAGE_MAX) {
      const part = batch.slice(start, start + MESSAGE_MAX);
      this.#lastId += 1;
      this.#asked.set(this.#lastId, part);
      this.port.postMessage({ id: this.#lastId, items: part.map(({ signed }) => signed) });
    }
  }

  #take({ id, signers }: RecoveryAnswer): void {
    const batch = this.#asked.get(id) ?? [];
    this.#asked.delete(id);
    batch.forEach(({ resolve }, index) => {
      resolve(signers[index]);
    });
  }

  #recoverAll(batch: readonly Waiting[]): void {
    for (const { signed, resolve } of batch) resolve(this.recoverHere(...signed));
  }
}
