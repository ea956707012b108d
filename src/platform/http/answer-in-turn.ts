import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { markArrival } from './arrival.js';
import { sendJson } from './json.js';

/** Maximum requests of one connection that wait for earlier answers. */
const WAITING_MAX = 16;
/** Maximum bytes that may arrive on a connection while requests wait, beyond those received with the first one. */
const WAITING_MAX_BYTES = 32_768;
/**
 * Maximum bytes of one waiting body. Node stops reading a connection at 16 KiB of an unread body, and then does not
 * notice that the client has gone.
 */
const WAITING_BODY_MAX_BYTES = 16_383;

const WAITING = Symbol('waiting');

interface Waiting {
  count: number;
  /** Bytes received on the connection when the first request arrived. */
  bytesBefore: number;
}

interface QueuedSocket extends Socket {
  [WAITING]?: Waiting;
}

/**
 * Answers the requests of a connection one at a time (pipelining, RFC 9112 §9.3.2). Node would process all at once,
 * and hold each answer in memory until the earlier ones are read. On Node 20, a waiting response also gets no event
 * when the connection closes. Call this after the server has all its listeners.
 */
export function answerInTurn(server: Server): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  const inTurn =
    (answer: RequestListener): RequestListener =>
    (request, response) => {
      // Node assigns the socket when all earlier responses are done.
      if (response.socket === null) wait(request, response, answer);
      else answer(request, response);
    };
  const answer: RequestListener = (request, response) => {
    const problem = hostProblem(request);
    if (problem !== undefined) {
      refuse(response, 400, problem);
      return;
    }
    for (const listener of listeners) listener.call(server, request, response);
  };
  server.on('request', inTurn(answer));
  // Node would answer these requests itself, out of order and without a limit.
  Object.assign(server, { requireHostHeader: false });
  server.on(
    'checkExpectation',
    inTurn((_, response) => {
      refuse(response, 417, 'The header Expect may only be 100-continue.');
    }),
  );
}

/** A proxy in front may have read the other of two names (RFC 9112, section 3.2). */
function hostProblem({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  if (headers.host === undefined) {
    return httpVersion === '1.1' ? 'The header Host is missing.' : undefined;
  }
  const isHost = (name: string, at: number): boolean =>
    at % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host';
  return rawHeaders.findIndex(isHost) === rawHeaders.findLastIndex(isHost)
    ? undefined
    : 'The header Host is given twice.';
}

/** Later requests are not answered, because it is unknown whether the body of this one follows. */
function refuse(response: ServerResponse, status: number, error: string): void {
  response.setHeader('Connection', 'close');
  sendJson(response, status, { error, code: 'invalid_request' });
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
    // A client with pipelining must expect this, and repeats unanswered requests.
    socket.destroy();
    return;
  }
  markArrival(request);
  response.once('socket', () => {
    waiting.count -= 1;
    // Runs after the work on the earlier answer. A disconnected client gets no answer.
    setImmediate(() => {
      if (!response.destroyed && socket.writable) answer(request, response);
    });
  });
}

function hasShortBody({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= WAITING_BODY_MAX_BYTES;
}
