import { describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import type { RecoveryAnswer, RecoveryQuestion } from './recovery-messages.js';
import { type RecoveryPort, RecoveryThread } from './recovery-thread.js';

/** A thread that answers on demand, in any order. */
class Port implements RecoveryPort {
  readonly questions: RecoveryQuestion[] = [];
  #answer: (answer: RecoveryAnswer) => void = () => undefined;
  #end: () => void = () => undefined;

  postMessage(question: RecoveryQuestion): void {
    this.questions.push(question);
  }
  on(event: string, listener: (answer: RecoveryAnswer) => void): void {
    if (event === 'message') this.#answer = listener;
    if (event === 'exit') this.#end = listener as () => void;
  }
  answer(index: number): void {
    const { id, items } = this.questions[index] ?? { id: -1, items: [] };
    this.#answer({ id, signers: items.map(([digest]) => thread(digest)) });
  }
  end(): void {
    this.#end();
  }
}

/** Who recovered it shows in the result. */
const thread = (digest: Hex): Address | undefined =>
  digest === '0xbad' ? undefined : `0xthread${digest.slice(2)}`;
const here = (digest: Hex): Address => `0xhere${digest.slice(2)}`;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function aThread(): { readonly port: Port; readonly recovery: RecoveryThread; gone: number } {
  const port = new Port();
  const made = {
    port,
    gone: 0,
    recovery: new RecoveryThread(port, here, () => {
      made.gone += 1;
    }),
  };
  return made;
}

describe('the thread that recovers signers', () => {
  it('gets what was asked in one turn in one message', async () => {
    const { port, recovery } = aThread();
    const answers = Promise.all(
      (['0x1', '0xbad', '0x3'] as const).map((digest) => recovery.recoverSigner(digest, '0x')),
    );
    await turn();
    expect(port.questions).toHaveLength(1);
    port.answer(0);
    expect(await answers).toEqual(['0xthread1', undefined, '0xthread3']);
  });

  it('keeps batches apart, whichever is answered first', async () => {
    const { port, recovery } = aThread();
    const ask = (...digests: Hex[]): Promise<unknown> =>
      Promise.all(digests.map((digest) => recovery.recoverSigner(digest, '0x')));
    const first = ask('0x1', '0x2');
    await turn();
    const second = ask('0x3', '0x4');
    await turn();
    port.answer(1);
    port.answer(0);
    expect(await first).toEqual(['0xthread1', '0xthread2']);
    expect(await second).toEqual(['0xthread3', '0xthread4']);
  });

  it('is not asked for a lone signature', async () => {
    const { port, recovery } = aThread();
    expect(await recovery.recoverSigner('0x1', '0x')).toBe('0xhere1');
    expect(port.questions).toHaveLength(0);
  });

  it('leaves no caller waiting when it ends', async () => {
    const made = aThread();
    const { port, recovery } = made;
    const asked = [recovery.recoverSigner('0x1', '0x'), recovery.recoverSigner('0x2', '0x')];
    await turn();
    port.end();
    port.end();
    expect(await Promise.all(asked)).toEqual(['0xhere1', '0xhere2']);
    const later = [recovery.recoverSigner('0x3', '0x'), recovery.recoverSigner('0x4', '0x')];
    expect(await Promise.all(later)).toEqual(['0xhere3', '0xhere4']);
    expect(made.gone).toBe(1);
  });
});
