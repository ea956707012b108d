import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A server on a port of its own, without what limits it. */
export function aServer(listener: RequestListener): Server {
  return createServer(listener);
}

export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export async function ended(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  if (server.listening) await once(server, 'close');
}

/** A connection that reads nothing before it is resumed. */
export async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  // Being closed by the server is what these tests look for.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** The text of a request as it is on the wire. */
export function aRequest(
  path: string,
  body?: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ Host: 'x', ...length, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const method = body === undefined ? 'GET' : 'POST';
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`),
    Buffer.from(body ?? ''),
  ]);
}

/** Resolves when the condition holds; it is looked at after each turn of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
