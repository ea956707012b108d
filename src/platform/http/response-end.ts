import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Calls once when a response is answered or its connection closed, at once where it is already. */
export function whenOver(response: ServerResponse, release: () => void): void {
  if (response.destroyed) release();
  else response.once('close', release);
}

/**
 * Tells once, when a response is over, whether its last byte was handed to the system. That is known for certain at the
 * moment it finishes: a connection may end between that and the close of the response.
 */
export function whenAnswered(
  response: ServerResponse,
  tell: (isHandedOver: boolean) => void,
): void {
  const { socket } = response;
  let isHandedOver = false;
  response.prependOnceListener('finish', () => {
    // Node 20 finishes what a broken connection could not take.
    isHandedOver = socket !== null && !socket.destroyed && socket.errored === null;
  });
  whenOver(response, () => {
    tell(isHandedOver);
  });
}

/**
 * About, for logs: whether the last byte of a response that has closed was handed to the system. By `writableFinished` alone Node
 * 20 says so of all that waits when the connection breaks.
 *
 * @param socket - that of the response before it closed.
 */
export function isHandedOver(response: ServerResponse, socket: Socket | null): boolean {
  return response.writableFinished && socket?.destroyed === false;
}
