import type { Request } from 'express';
import { BodyShare, LONG_BODIES } from '../../platform/http/byte-budget.js';
import { whenOver } from '../../platform/http/response-end.js';
import { HubRefusal } from './hub-refusal.js';

/** Bytes of a form that asks for something. */
export const FORM_MAX_BYTES = 65_536;
export const CROWD_RETRY_SECONDS = 1;
/** How far beyond the limit a body is read and thrown away, so that its sender reads the answer. */
const DRAIN_FACTOR = 4;
const SLOW_STATUS = 408;

/**
 * The body as it comes, whatever its content type says. Ends with a refusal when it is too long, when the
 * client is too slow, and when it hangs up.
 *
 * @param maxBytes - of the whole body.
 */
export async function* bodyPieces(request: Request, maxBytes: number): AsyncGenerator<Buffer> {
  // Left open at an early end: the answer still has to go out on its connection.
  const pieces: AsyncIterator<Buffer> = request.iterator({ destroyOnReturn: false });
  const pace = new Pace();
  let size = 0;
  try {
    for (;;) {
      const next = await nextPiece(pieces, pace);
      if (next.done === true) return;
      size += next.value.length;
      if (size > maxBytes) throw HubRefusal.tooLarge();
      yield next.value;
    }
  } finally {
    // Not waited for: after a timeout it comes when the connection ends.
    void pieces.return?.().catch(() => undefined);
  }
}

function nextPiece(
  pieces: AsyncIterator<Buffer>,
  pace: Pace,
): Promise<IteratorResult<Buffer, unknown>> {
  return new Promise((resolve, reject) => {
    pace.wait(() => {
      reject(HubRefusal.timedOut());
    });
    pieces.next().then(
      (next) => {
        pace.got(next.done === true ? 0 : next.value.length);
        resolve(next);
      },
      () => {
        pace.stop();
        reject(HubRefusal.malformed('unexpected EOF'));
      },
    );
  });
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
    const share = new BodyShare(LONG_BODIES);
    const { res: response } = request;
    const pace = new Pace();
    const wait = (): void => {
      pace.wait(() => {
        settle(() => {
          request.pause();
          reject(HubRefusal.timedOut());
        });
      });
    };
    const settle = (answer: () => void): void => {
      pace.stop();
      request.off('data', take).off('end', end).off('close', broken).off('error', broken);
      answer();
    };
    const take = (piece: Buffer): void => {
      pace.got(piece.length);
      wait();
      size += piece.length;
      if (size <= maxBytes) keep(piece);
      else if (size > maxBytes * DRAIN_FACTOR) settle(refuse);
      else letGo();
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
    const letGo = (): void => {
      pieces.length = 0;
      share.release();
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
    wait();
    request.on('data', take).on('end', end).on('close', broken).on('error', broken);
    if (response !== undefined) {
      whenOver(response, () => {
        share.release();
      });
    }
    // It may have broken off before anybody looked.
    if (request.destroyed && !request.complete) broken();
  });
}

function joined(pieces: readonly Buffer[]): Buffer {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}

/**
 * Reads on and throws away what is left of a body that was refused before its end, up to a bound.
 *
 * @param refusal - why it was. One that came too slowly is not waited for any more.
 */
export async function drain(request: Request, maxBytes: number, refusal: unknown): Promise<void> {
  if (request.complete || request.destroyed) return;
  if (refusal instanceof HubRefusal && refusal.status === SLOW_STATUS) return;
  try {
    const pieces = bodyPieces(request, maxBytes * DRAIN_FACTOR);
    while ((await pieces.next()).done !== true);
  } catch {
    // It is answered anyway.
  }
}

/** How long a sender may take for each {@link STEP_BYTES} of a body, or for its end. */
const STEP_MS = 10_000;
const STEP_BYTES = 65_536;

/**
 * The least speed of a body: what is held for it is held longer only while it goes on. Only the time in which the
 * sender is waited for counts.
 */
class Pace {
  #bytes = 0;
  #waitedMs = 0;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  /** The sender is waited for from now on. @param onSlow - called when that took too long. */
  wait(onSlow: () => void): void {
    this.#since = performance.now();
    this.#timer = setTimeout(onSlow, Math.max(0, STEP_MS - this.#waitedMs));
  }

  /** The sender has sent so much. */
  got(bytes: number): void {
    this.stop();
    this.#waitedMs += performance.now() - this.#since;
    this.#bytes += bytes;
    if (this.#bytes < STEP_BYTES) return;
    this.#bytes = 0;
    this.#waitedMs = 0;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
