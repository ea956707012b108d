import type { Request } from 'express';
import { BodyShare, ByteBudget } from '../../platform/http/byte-budget.js';
import { HubRefusal } from './hub-refusal.js';

/** A client that sends nothing for this long is given up. */
const IDLE_MS = 30_000;
/** Bytes of a form that asks for something. */
export const FORM_MAX_BYTES = 65_536;
const CROWD_RETRY_SECONDS = 1;
/** Of long bodies that are in memory at a time, until they are answered. */
const longBodies = new ByteBudget(67_108_864);
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

/**
 * The whole body, of at most so many bytes. One that is longer is read on and thrown away, up to a bound:
 * a client that still sends when the connection closes does not get to read why.
 *
 * @throws HubRefusal
 */
export function readBody(request: Request, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const share = new BodyShare(longBodies);
    request.res?.on('close', () => {
      share.release();
    });
    const timer = setTimeout(() => {
      settle(() => {
        reject(HubRefusal.timedOut());
      });
    }, IDLE_MS);
    const settle = (answer: () => void): void => {
      clearTimeout(timer);
      request.off('data', take).off('end', end).off('close', broken).off('error', broken);
      answer();
    };
    const take = (piece: Buffer): void => {
      timer.refresh();
      size += piece.length;
      if (size <= maxBytes) keep(piece);
      else if (size > maxBytes * DRAIN_FACTOR) settle(refuse);
      else pieces.length = 0;
    };
    const keep = (piece: Buffer): void => {
      if (share.add(piece.length)) {
        pieces.push(piece);
        return;
      }
      settle(() => {
        request.pause();
        reject(HubRefusal.tooMany(CROWD_RETRY_SECONDS));
      });
    };
    const refuse = (): void => {
      request.pause();
      reject(HubRefusal.tooLarge());
    };
    const end = (): void => {
      settle(() => {
        if (size > maxBytes) refuse();
        else resolve(joined(pieces));
      });
    };
    const broken = (): void => {
      settle(() => {
        reject(HubRefusal.malformed('unexpected EOF'));
      });
    };
    request.on('data', take).on('end', end).on('close', broken).on('error', broken);
    // It may have broken off before anybody looked.
    if (request.destroyed && !request.complete) broken();
  });
}

function joined(pieces: readonly Buffer[]): Buffer {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}

/** Reads on and throws away what is left of a body that was refused before its end, up to a bound. */
export async function drain(request: Request, maxBytes: number): Promise<void> {
  if (request.complete || request.destroyed) return;
  try {
    await readBody(request, maxBytes);
  } catch {
    // It is answered anyway.
  }
}
