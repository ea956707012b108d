import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ClientDocuments } from './client-documents.js';

const HERE = '203.0.113.9';

describe('documents that name clients', () => {
  let server: Server;
  let url: string;
  const documents = new ClientDocuments({ oauthFetchAllow: new Set(['127.0.0.1']) });

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === '/moved') response.writeHead(302, { location: '/client' }).end();
      else if (request.url === '/large') response.end('x'.repeat(6000));
      else if (request.url === '/empty') {
        response.end('{"client_id":"x","tos_uri":"","sector_identifier_uri":"http://10.0.0.1/"}');
      } else if (request.url === '/client') {
        response.writeHead(200, { 'cache-control': 'max-age=90' }).end('{"client_id":"x"}');
      } else response.writeHead(404).end('no');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await documents.onModuleDestroy();
    server.close();
    server.closeAllConnections();
  });

  it('are handed on with how long they may be kept', async () => {
    const response = await documents.fetch(`${url}/client`, HERE);
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'max-age=90']);
    expect(await response.json()).toEqual({ client_id: 'x' });
    expect((await documents.fetch(`${url}/none`, HERE)).status).toBe(404);
  });

  it('are read without fields that are empty or unknown, which would have them refused', async () => {
    const response = await documents.fetch(`${url}/empty`, HERE);
    expect(await response.json()).toEqual({ client_id: 'x' });
  });

  it.each(['/moved', '/large'])('are not taken from %s', async (path) => {
    await expect(documents.fetch(url + path, HERE)).rejects.toThrow(
      /too large, or its URL redirects/,
    );
  });

  it('are not fetched from inside', async () => {
    const guarded = new ClientDocuments({ oauthFetchAllow: new Set() });
    for (const inside of [`${url}/client`, 'https://169.254.169.254/x', 'https://[::1]/x']) {
      await expect(guarded.fetch(inside, HERE)).rejects.toThrow(/not public/);
    }
    await guarded.onModuleDestroy();
  });

  it('are not fetched in any number at a time', async () => {
    const networks = Array.from({ length: 20 }, (_, at) => [`2001:db8:${at}::/48`, HERE]).flat();
    const all = networks.map((network) => documents.fetch(`${url}/client`, network));
    const results = await Promise.allSettled(all);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(22);
    const more = Array.from({ length: 20 }, (_, at) =>
      documents.fetch(`${url}/client`, `more ${at}`),
    );
    expect((await Promise.allSettled(more)).map(({ status }) => status)).not.toContain('rejected');
    const crowd = Array.from({ length: 40 }, (_, at) => documents.fetch(`${url}/client`, `${at}`));
    const taken = (await Promise.allSettled(crowd)).filter(({ status }) => status === 'fulfilled');
    expect(taken).toHaveLength(32);
    expect((await documents.fetch(`${url}/client`, HERE)).status).toBe(200);
  });

  it('keep two addresses from taking all fetches: the third is served', async () => {
    const two = ['203.0.113.1', '203.0.113.2'];
    const crowd = two.flatMap((network) => Array.from({ length: 20 }, () => network));
    const all = [...crowd, '203.0.113.3'].map((network) =>
      documents.fetch(`${url}/client`, network),
    );
    const results = await Promise.allSettled(all);
    expect(results.at(-1)?.status).toBe('fulfilled');
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  });
});
