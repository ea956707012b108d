import { createServer, type Socket } from 'node:net';
import { Secret } from '../../../../src/platform/config/secret.js';

/** A Redis that is frozen: it does not answer, or not any more once it was connected to. */
export interface SilentRedis {
  readonly url: Secret<string>;
  /** That are open now. */
  readonly connections: number;
  close(): Promise<void>;
}

const SAYS_WHO_IT_IS: Readonly<Record<string, string>> = {
  info: '$21\r\nredis_version:7.4.0\r\n\r\n',
  hello: '%1\r\n+proto\r\n:3\r\n',
  client: '+OK\r\n',
};

/** @param isConnected - it says who it is, and answers nothing else. */
export async function aSilentRedis(isConnected = false): Promise<SilentRedis> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (data) => {
      if (!isConnected) return;
      const commands = data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g);
      for (const [, name = ''] of commands) socket.write(SAYS_WHO_IT_IS[name.toLowerCase()] ?? '');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: new Secret(`redis://127.0.0.1:${port}`),
    get connections() {
      return sockets.size;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}
