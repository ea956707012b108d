import { connect } from 'node:net';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { Door } from './doors.js';
import { VISITORS } from './held.js';

/** What one connection does. */
export interface Visit {
  readonly port: number;
  readonly pieces: readonly Buffer[];
  readonly reads: 'all' | 'some' | 'nothing';
  /** Sends on, a few bytes at a time, whatever that is to the server. */
  readonly isDripping: boolean;
  /** Milliseconds until it ends, by halves or at once, and from there until it is gone. */
  readonly staysMs: number;
  readonly isHalfClosed: boolean;
  readonly lingersMs: number;
  readonly isReset: boolean;
}

const DRIP_MS = 40;
const SOME_BYTES = 1000;

export function aVisit(
  random: SeededRandom,
  doors: readonly Door[],
  ports: { readonly port: number; readonly opsPort: number },
): Visit {
  const isForOperators = random.chance(0.15);
  const here = doors.filter((door) => (door.isForOperators ?? false) === isForOperators);
  const count = random.pick([1, 1, 1, 2, 3, 8, 20]);
  const asked = Array.from({ length: count }, () => random.pick(here).ask(random));
  const whole = random.chance(0.5) ? [Buffer.concat(asked)] : asked;
  // Some are cut off anywhere, as connections are.
  const pieces = random.chance(0.2)
    ? whole.map((piece) => piece.subarray(0, random.between(1, piece.length)))
    : whole;
  return {
    port: isForOperators ? ports.opsPort : ports.port,
    pieces,
    reads: random.pick(['all', 'some', 'nothing', 'nothing']),
    isDripping: random.chance(0.2),
    staysMs: random.below(random.pick([100, 500, 3000])),
    isHalfClosed: random.chance(0.3),
    lingersMs: random.below(150),
    isReset: random.chance(0.5),
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves when it is gone. */
export async function play(visit: Visit): Promise<void> {
  const socket = connect({
    port: visit.port,
    host: '127.0.0.1',
    localAddress: VISITORS,
    allowHalfOpen: true,
  });
  // The service often closes it.
  socket.on('error', () => undefined);
  let read = 0;
  if (visit.reads === 'nothing') socket.pause();
  else
    socket.on('data', (piece: Buffer) => {
      read += piece.length;
      if (visit.reads === 'some' && read > SOME_BYTES) socket.pause();
    });
  for (const piece of visit.pieces) socket.write(piece);
  const drip = visit.isDripping ? setInterval(() => socket.write('7'), DRIP_MS) : undefined;
  await pause(visit.staysMs);
  clearInterval(drip);
  if (visit.isHalfClosed) socket.end();
  await pause(visit.lingersMs);
  if (visit.isReset) socket.resetAndDestroy();
  else socket.destroy();
}
