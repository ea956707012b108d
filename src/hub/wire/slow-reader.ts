import type { Response } from 'express';

/** A client that takes nothing of its answer for this long is given up. */
const SILENCE_MS = 30_000;

/** Breaks a connection off whose client has stopped to read: what waits for it is memory. */
export function limitSilence(response: Response): void {
  response.setTimeout(SILENCE_MS, () => {
    response.destroy();
  });
}
