import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { markArrival } from './arrival.js';
import { sendJson } from './json.js';

/** Requests of one connection that may wait for the answer before theirs. */
const WAITING_MAX = 16;
/** Bytes that may arrive on a connection while requests wait on it, beyond those that came with the first. */
const WAITING_MAX_BYTES = 32_768;
/**
 * Of one waiting body. Node stops reading a connection at 16 KiB of an unread body, and a
 * connection that is not read does not show that its client has gone.
 */
const WAITING_BODY_MAX_BYTES = 16_383;

const WAITING = Symbol('waiting');

interface Waiting {
  count: number;
  /** Bytes on the connection when the first of them came. */
  bytesBefore: number;
}

interface QueuedSocket extends Socket {
  [WAITING]?: Waiting;
}

/**
 * Lets one request of a connection be answered at a time (pipelining, RFC 9112 §9.3.2). Node would have
 * them all answered at once, each answer in memory until those before it are read; and on Node 20 a response
 * that waits behind another one is not told when the connection closes. To be called when the server has all
 * its listeners.
 */
export function answerInTurn(server: Server): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  const inTurn =
    (answer: RequestListener): RequestListener =>
    (request, response) => {
      // Node gives a response its socket when all before it are through.
      if (response.socket === null) wait(request, response, answer);
      else answer(request, response);
    };
  const answer: RequestListener = (request, response) => {
    if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      refuse(response, 400, 'The header Host is missing.');
      return;
    }
    for (const listener of listeners) listener.call(server, request, response);
  };
  server.on('request', inTurn(answer));
  // Node would refuse these itself, before their turn and without a bound.
  Object.assign(server, { requireHostHeader: false });
  server.on(
    'checkExpectation',
    inTurn((_, response) => {
      refuse(response, 417, 'The header Expect may only be 100-continue.');
    }),
  );
}

/** Nothing that comes behind it is answered: whether its body follows is not known. */
function refuse(response: ServerResponse, status: number, error: string): void {
  response.setHeader('Connection', 'close');
  sendJson(response, status, { error });
}

function wait(request: IncomingMessage, response: ServerResponse, answer: RequestListener): void {
  const socket: QueuedSocket = request.socket;
  const waiting = socket[WAITING] ?? { count: 0, bytesBefore: 0 };
  socket[WAITING] = waiting;
  if (waiting.count === 0) waiting.bytesBefore = socket.bytesRead;
  waiting.count += 1;
  if (
    waiting.count > WAITING_MAX ||
    socket.bytesRead - waiting.bytesBefore > WAITING_MAX_BYTES ||
    !hasShortBody(request)
  ) {
    // A client that pipelines has to expect this, and sends again what was not answered.
    socket.destroy();
    return;
  }
  markArrival(request);
  response.once('socket', () => {
    waiting.count -= 1;
    // Out of the work on the answer before. Who has gone meanwhile is not answered.
    setImmediate(() => {
      if (!response.destroyed && socket.writable) answer(request, response);
    });
  });
}

function hasShortBody({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= WAITING_BODY_MAX_BYTES;
}
