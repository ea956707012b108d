import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface UnreadBounds {
  /** A client has to take `leastBytes` of what waits for it, or all of that, within so many milliseconds. */
  readonly silenceMs: number;
  readonly leastBytes: number;
  /** Bytes that may wait for all clients of the server together. */
  readonly maxBytes: number;
  readonly everyMs: number;
}

const BOUNDS: UnreadBounds = {
  silenceMs: 30_000,
  leastBytes: 16_384,
  maxBytes: 134_217_728,
  everyMs: 500,
};

/** A connection with bytes that its client has not taken. */
interface Reader {
  /** Bytes taken when it was last seen to make progress, and when that was. */
  taken: number;
  since: number;
}

/**
 * Closes connections whose clients do not read: what waits for them is memory. Where all of it together is
 * too much, who has read nothing for the longest time goes first. What a client sends is no sign that it reads.
 */
export function limitUnread(server: Server, bounds: UnreadBounds = BOUNDS): void {
  const sockets = new Set<Socket>();
  const readers = new Map<Socket, Reader>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      readers.delete(socket);
    });
  });
  const timer = setInterval(() => {
    sweep(sockets, readers, bounds);
  }, bounds.everyMs);
  timer.unref();
  server.once('close', () => {
    clearInterval(timer);
  });
}

function sweep(
  sockets: ReadonlySet<Socket>,
  readers: Map<Socket, Reader>,
  { silenceMs, leastBytes, maxBytes }: UnreadBounds,
): void {
  const now = performance.now();
  let unread = 0;
  for (const socket of sockets) {
    if (socket.writableLength === 0) {
      readers.delete(socket);
      continue;
    }
    const taken = bytesTaken(socket);
    const reader = readers.get(socket);
    if (reader === undefined || taken - reader.taken >= leastBytes) {
      readers.delete(socket);
      // At the end of the map: it goes from the longest silence to the shortest.
      readers.set(socket, { taken, since: now });
    } else if (now - reader.since >= silenceMs) {
      socket.resetAndDestroy();
      continue;
    }
    unread += socket.writableLength;
  }
  for (const socket of readers.keys()) {
    if (unread <= maxBytes) return;
    unread -= socket.writableLength;
    // A reset lets the system's own buffers go as well.
    socket.resetAndDestroy();
  }
}

/** Node tells of a write when all of it is out; the handle below knows how far it is. */
function bytesTaken(socket: Socket): number {
  const { _handle: handle } = socket as {
    readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
  };
  return handle == null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}
