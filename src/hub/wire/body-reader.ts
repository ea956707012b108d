import type { Request } from 'express';
import { HubRefusal } from './hub-refusal.js';

/** A client that sends nothing for this long is given up. */
const IDLE_MS = 30_000;
/** How far beyond the limit a body is read and thrown away, so that its sender reads the answer. */
const DRAIN_FACTOR = 4;

/**
 * The body as it comes, whatever its content type says. Ends with a refusal when it is too long, when the
 * client falls silent, and when it hangs up.
 *
 * @param maxBytes - of the whole body.
 */
export async function* bodyPieces(request: Request, maxBytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  const timer = setTimeout(() => {
    request.destroy(HubRefusal.timedOut());
  }, IDLE_MS);
  try {
    // Left open at an early end: the answer still has to go out on its connection.
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      timer.refresh();
      const bytes = piece as Buffer;
      size += bytes.length;
      if (size > maxBytes) throw HubRefusal.tooLarge();
      yield bytes;
    }
  } catch (error) {
    if (error instanceof HubRefusal) throw error;
    throw HubRefusal.malformed('unexpected EOF');
  } finally {
    clearTimeout(timer);
  }
}

/** The whole body, of at most so many bytes. */
export async function readBody(request: Request, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
    await drain(request, maxBytes);
    throw HubRefusal.tooLarge();
  }
  const pieces: Buffer[] = [];
  try {
    for await (const piece of bodyPieces(request, maxBytes)) pieces.push(piece);
  } catch (error) {
    await drain(request, maxBytes);
    throw error;
  }
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}

/**
 * Reads on and throws away, up to a bound: a client that still sends when the connection closes does not
 * get to read why.
 */
export async function drain(request: Request, maxBytes: number): Promise<void> {
  if (request.complete || request.destroyed) return;
  const rest = bodyPieces(request, maxBytes * DRAIN_FACTOR);
  try {
    while ((await rest.next()).done !== true);
  } catch {
    // It is answered anyway.
  }
}
