import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ClientDocuments } from './client-documents.js';

describe('documents that name clients', () => {
  let server: Server;
  let url: string;
  const documents = new ClientDocuments(new Set(['127.0.0.1']));

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === '/moved') response.writeHead(302, { location: '/client' }).end();
      else if (request.url === '/large') response.end('x'.repeat(6000));
      else if (request.url === '/client') {
        response.writeHead(200, { 'cache-control': 'max-age=90' }).end('{"client_id":"x"}');
      } else response.writeHead(404).end('no');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await documents.close();
    server.close();
    server.closeAllConnections();
  });

  it('are handed on with how long they may be kept', async () => {
    const response = await documents.fetch(`${url}/client`);
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'max-age=90']);
    expect(await response.json()).toEqual({ client_id: 'x' });
    expect((await documents.fetch(`${url}/none`)).status).toBe(404);
  });

  it.each(['/moved', '/large'])('are not taken from %s', async (path) => {
    await expect(documents.fetch(url + path)).rejects.toThrow(/somewhere else, or too large/);
  });

  it('are not fetched from inside', async () => {
    const guarded = new ClientDocuments(new Set());
    for (const inside of [`${url}/client`, 'https://169.254.169.254/x', 'https://[::1]/x']) {
      await expect(guarded.fetch(inside)).rejects.toThrow(/not public/);
    }
    await guarded.close();
  });

  it('are not fetched in any number at a time', async () => {
    const all = Array.from({ length: 12 }, () => documents.fetch(`${url}/client`));
    const results = await Promise.allSettled(all);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(8);
    expect((await documents.fetch(`${url}/client`)).status).toBe(200);
  });
});
