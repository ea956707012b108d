import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Calls back once when a response is answered or its connection closed; at once if that has happened. */
export function whenOver(response: ServerResponse, release: () => void): void {
  if (response.destroyed) release();
  else response.once('close', release);
}

/**
 * Calls back once at the end of a response, with whether its last byte was passed to the system. Only the `finish`
 * event shows this reliably, because the connection may end before the `close` event.
 */
export function whenAnswered(
  response: ServerResponse,
  tell: (isHandedOver: boolean) => void,
): void {
  const { socket } = response;
  let isHandedOver = false;
  response.prependOnceListener('finish', () => {
    // Node 20 also finishes a response whose connection is broken.
    isHandedOver = socket !== null && !socket.destroyed && socket.errored === null;
  });
  whenOver(response, () => {
    tell(isHandedOver);
  });
}

/**
 * Whether the last byte of a closed response was passed to the system; approximate, for logs. On Node 20
 * `writableFinished` alone is also true for bytes that waited when the connection broke.
 *
 * @param socket - the socket of the response before it closed.
 */
export function isHandedOver(response: ServerResponse, socket: Socket | null): boolean {
  return response.writableFinished && socket?.destroyed === false;
}
