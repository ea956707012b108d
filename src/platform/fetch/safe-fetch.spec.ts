import { createHook } from 'node:async_hooks';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  type BombServer,
  growthWhile,
  startBombServer,
} from '../../../test/builders/platform/fetch/gzip-bomb.js';
import { compressionOf, type FetchRequest, SafeFetch } from './safe-fetch.js';

const fetcher = new SafeFetch({
  userAgent: 'test',
  maxBytes: 1024,
  allow: new Set(['10.0.0.9:1']),
});
afterAll(() => fetcher.close());

const wanted = (url: string, more: Partial<FetchRequest> = {}): FetchRequest => ({
  url,
  method: 'GET',
  headers: {},
  body: undefined,
  ...more,
});
const refused = (message: RegExp) =>
  expect.objectContaining({ code: 'fetch_refused', message: expect.stringMatching(message) });

describe('an answer of few bytes that would become very many', () => {
  const MAX_BYTES = 524_288;
  let server: BombServer;
  beforeAll(async () => {
    server = await startBombServer();
  });
  afterAll(() => {
    server.close();
  });

  it('stays as it came, and is cut off where every answer is', async () => {
    const allow = new Set([server.host]);
    const fetching = new SafeFetch({ userAgent: 'test', maxBytes: MAX_BYTES, allow });
    const growth = await growthWhile(async () => {
      const answer = await fetching.fetch(wanted(server.url), AbortSignal.timeout(20_000));
      expect(answer).toMatchObject({ status: 402, isCutOff: true });
      expect(answer.body).toHaveLength(MAX_BYTES);
      expect(compressionOf(answer)).toBe('gzip');
    });
    await fetching.close();
    expect(growth).toBeLessThan(100 * 1024 * 1024);
  });
});

describe('a connection to a server that wants to keep it', () => {
  it('ends soon', async () => {
    const ended = jest.fn();
    const server = createServer((_, response) => {
      response.writeHead(200, { 'Keep-Alive': 'timeout=600' }).end('yes');
    });
    server.keepAliveTimeout = 60_000;
    server.on('connection', (socket) => socket.on('close', ended));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const keeping = new SafeFetch({ userAgent: 'test', maxBytes: 9, allow: new Set([host]) });
    await keeping.fetch(wanted(`http://${host}/`), AbortSignal.timeout(20_000));
    for (let ms = 0; ms < 10_000 && ended.mock.calls.length === 0; ms += 50) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const closed = ended.mock.calls.length;
    await keeping.close();
    server.close();
    expect(closed).toBe(1);
  }, 30_000);
});

describe('an answer without end', () => {
  it('is read to the bound, and its connection is ended', async () => {
    let [begun, ended] = [0, 0];
    const server = createServer((_, response) => {
      begun += 1;
      response.on('close', () => (ended += 1));
      response.writeHead(200);
      const write = (): void => {
        if (!response.destroyed) setImmediate(() => response.write('x'.repeat(65_536), write));
      };
      write();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const fetching = new SafeFetch({ userAgent: 'test', maxBytes: 1024, allow: new Set([host]) });
    for (let count = 0; count < 20; count += 1) {
      const answer = await fetching.fetch(wanted(`http://${host}/`), AbortSignal.timeout(5000));
      expect(answer).toMatchObject({ status: 200, isCutOff: true });
      expect(answer.body).toHaveLength(1024);
    }
    const until = Date.now() + 5000;
    while (ended < begun && Date.now() < until) await new Promise((go) => setTimeout(go, 5));
    expect([begun, ended]).toEqual([20, 20]);
    await fetching.close();
    server.close();
  });
});

describe('a redirect', () => {
  it('that may not be followed is the answer, and its target is not asked', async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer(({ url }, response) => {
      asked.push(url);
      response.writeHead(302, { location: url === '/a' ? '/b' : '/c' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const fetching = new SafeFetch({ userAgent: 'test', maxBytes: 1024, allow: new Set([host]) });
    const answer = await fetching.fetch(
      wanted(`http://${host}/a`),
      AbortSignal.timeout(5000),
      ({ pathname }) => pathname !== '/c',
    );
    expect(answer).toMatchObject({ status: 302, url: `http://${host}/b` });
    expect(asked).toEqual(['/a', '/b']);
    await fetching.close();
    server.close();
  });
});

describe('the name of a server', () => {
  it('takes none of the threads that look-ups of names wait for', async () => {
    const begun = new Set<string>();
    const hook = createHook({ init: (_, kind) => void begun.add(kind) }).enable();
    const signal = AbortSignal.timeout(300);
    await fetcher.fetch(wanted('http://seller.invalid/'), signal).catch(() => undefined);
    hook.disable();
    expect([...begun]).toContain('QUERYWRAP');
    expect([...begun]).not.toContain('GETADDRINFOREQWRAP');
  });
});

describe('a URL that is not fetched', () => {
  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001:8080/',
    'http://0/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://100.100.100.200/',
    'http://10.0.0.9/',
    'http://10.0.0.9:2/',
    'http://localhost/',
  ])('is that of no public address: %s', async (url) => {
    const fetching = fetcher.fetch(wanted(url), AbortSignal.timeout(5000));
    await expect(fetching).rejects.toEqual(refused(/not public/));
  });

  it.each([
    ['ftp://seller.example/', /neither http/],
    ['file:///etc/passwd', /neither http/],
    ['http://user:secret@seller.example/', /credentials/],
    ['http://', /not a URL/],
    ['seller.example', /not a URL/],
  ])('is of another kind: %s', async (url, why) => {
    const fetching = fetcher.fetch(wanted(url), AbortSignal.timeout(5000));
    await expect(fetching).rejects.toEqual(refused(why));
  });

  it.each([
    { Host: 'other.example' },
    { 'X-PAYMENT': 'e30=' },
    { 'accept-encoding': 'gzip' },
    { 'x y': '1' },
    { 'x-split': 'a\r\nb: c' },
  ])('comes with a forbidden header: %j', async (headers) => {
    const request = wanted('https://seller.example/', { headers });
    const fetching = fetcher.fetch(request, AbortSignal.timeout(5000));
    await expect(fetching).rejects.toEqual(refused(/header/));
  });
});
