import { once } from 'node:events';
import type { Response } from 'express';
import { whenOver } from '../../platform/http/response-end.js';
import { limitSilence } from './slow-reader.js';

/** Small pieces go out together. */
const GATHERED_CHARACTERS = 16_384;

/**
 * Sends JSON that is made while it is sent, no faster than the client reads. What fails before the first
 * of it is out is thrown; what fails later is, too, and only a broken connection can say it.
 */
export async function sendJsonPieces(
  response: Response,
  pieces: AsyncGenerator<string>,
): Promise<void> {
  const isOut = limitSilence(response);
  try {
    await sendAll(response, pieces);
  } finally {
    isOut();
  }
}

async function sendAll(response: Response, pieces: AsyncGenerator<string>): Promise<void> {
  let gathered = '';
  const closed = new Promise<void>((resolve) => {
    whenOver(response, resolve);
  });
  const begin = (): void => {
    if (response.headersSent) return;
    response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' });
  };
  for await (const piece of pieces) {
    // A closed response sends no further event: the wait below would never end.
    if (response.destroyed) return;
    gathered += piece;
    if (gathered.length < GATHERED_CHARACTERS) continue;
    begin();
    const isTaken = response.write(gathered);
    gathered = '';
    if (!isTaken) await Promise.race([once(response, 'drain'), closed]);
  }
  begin();
  response.end(gathered);
}
