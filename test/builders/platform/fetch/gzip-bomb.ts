import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

/** What one member of it becomes. */
const MEMBER_BYTES = 10 * 1024 * 1024;
const MEMBERS = 1024;

/** Ten gigabytes in ten megabytes: a gzip file is any number of members, one after the other (RFC 1952). */
export function gzipBomb(): Buffer {
  const member = gzipSync(Buffer.alloc(MEMBER_BYTES), { level: 9 });
  return Buffer.concat(Array.from({ length: MEMBERS }, () => member));
}

export interface BombServer {
  readonly url: string;
  /** `host:port` */
  readonly host: string;
  close(): void;
}

/** Answers everything with it, as if it were JSON. */
export async function startBombServer(status = 402): Promise<BombServer> {
  const bomb = gzipBomb();
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const server: Server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, headers).end(bomb);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}/`,
    host,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What memory grew to while something was done, in bytes over what it was before. */
export async function growthWhile(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 2);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return Math.max(most, process.memoryUsage.rss()) - before;
}
