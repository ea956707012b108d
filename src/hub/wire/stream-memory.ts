import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type CollectGarbage = (options: { readonly type: 'minor' }) => void;

/** Bytes of a stream after which its used-up buffers are given back. */
const RELIEF_BYTES = 8 * 1_048_576;

/**
 * A socket's data comes in buffers outside the heap, a new one each time. V8 looks for unused ones only
 * after 32 MiB of them, which one long upload reaches by itself; a collection of the young generation,
 * under a millisecond each time, keeps a process small that streams.
 */
const collectGarbage: CollectGarbage = (() => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as CollectGarbage;
})();

/** Passes a stream on, and lets go of what it has used up. */
export async function* relieved(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let used = 0;
  for await (const piece of pieces) {
    used += piece.length;
    yield piece;
    if (used < RELIEF_BYTES) continue;
    used = 0;
    collectGarbage({ type: 'minor' });
  }
}
