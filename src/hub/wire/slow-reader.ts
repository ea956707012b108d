import type { Response } from 'express';

/** How long a client may take for each {@link STEP_BYTES} of an answer that waits for it. */
const STEP_MS = 30_000;
const STEP_BYTES = 65_536;

/**
 * Breaks a connection off whose client does not read on: what waits for it is memory, and a place. What counts is what
 * has left this process, not what the client sends meanwhile.
 *
 * @returns to be called when the answer is out, or will not be.
 */
export function limitSilence({ req }: Pick<Response, 'req'>): () => void {
  const { socket } = req;
  let taken = takenFrom(socket);
  const timer = setInterval(() => {
    const before = taken;
    taken = takenFrom(socket);
    if (socket.writableLength > 0 && taken - before < STEP_BYTES) socket.destroy();
  }, STEP_MS);
  timer.unref();
  const stop = (): void => {
    clearInterval(timer);
  };
  socket.once('close', stop);
  return () => {
    stop();
    socket.off('close', stop);
  };
}

/** Of what was written, all that does not wait for the client any more. */
function takenFrom({
  bytesWritten,
  writableLength,
}: Pick<Response['req']['socket'], 'bytesWritten' | 'writableLength'>): number {
  return bytesWritten - writableLength;
}

/** Bytes that are given to a connection at a time: what is too long to be taken in one go is seen to go on. */
export async function* inSteps(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += STEP_BYTES) {
      yield piece.subarray(at, at + STEP_BYTES);
    }
  }
}
