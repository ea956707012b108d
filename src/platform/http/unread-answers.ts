import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface UnreadBounds {
  /** A client must read `leastBytes` of its waiting bytes, or all of them, within this time. */
  readonly silenceMs: number;
  readonly leastBytes: number;
  /** Maximum waiting bytes of all clients of the server together. */
  readonly maxBytes: number;
  readonly everyMs: number;
}

const BOUNDS: UnreadBounds = {
  silenceMs: 30_000,
  leastBytes: 16_384,
  maxBytes: 134_217_728,
  everyMs: 500,
};

/** A connection with bytes that its client has not read. */
interface Reader {
  /** The number of read bytes at the last progress, and its time. */
  taken: number;
  since: number;
}

/**
 * Closes connections whose clients do not read their answers, which take memory. If all waiting bytes together exceed
 * the limit, the client with the longest silence is closed first. Bytes that a client sends do not count as reading.
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
      // Moved to the end of the map, so that the map is sorted by silence, the longest first.
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
    // A reset also frees the buffers of the operating system.
    socket.resetAndDestroy();
  }
}

/** Node reports a write only when it is complete; the handle knows the partial progress. */
function bytesTaken(socket: Socket): number {
  const { _handle: handle } = socket as {
    readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
  };
  return handle == null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}
