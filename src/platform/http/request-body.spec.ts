import type { Server } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HttpException } from '@nestjs/common';
import {
  aRequest,
  aServer,
  connected,
  ended,
  listening,
  until,
} from '../../../test/builders/platform/http/raw-client.js';
import { AppConfig } from '../config/app-config.js';
import { answerInTurn } from './answer-in-turn.js';
import { LONG_BODIES } from './byte-budget.js';
import { JsonBodyReader } from './request-body.js';

const MIB = 1_048_576;
const BUDGET = LONG_BODIES.left;

describe('a body', () => {
  let server: Server;
  let port = 0;
  let [begun, read, over] = [0, 0, 0];
  /** Whether requests are answered when their body was read. */
  let isAnswering = true;

  beforeEach(async () => {
    [begun, read, over, isAnswering] = [0, 0, 0, true];
    const reader = new JsonBodyReader(
      Object.assign(Object.create(AppConfig.prototype) as AppConfig, { bodyMaxBytes: MIB }),
    );
    server = aServer((request, response) => {
      begun += 1;
      response.on('close', () => (over += 1));
      void reader
        .json(request, response)
        .then((body) => [200, JSON.stringify(body).length] as const)
        .catch((error: unknown) => {
          if (!(error instanceof HttpException)) throw error;
          return [error.getStatus(), error.message] as const;
        })
        .then(([status, answer]) => {
          read += 1;
          if (isAnswering) response.writeHead(status).end(`<${status} ${answer}>`);
        });
    });
    answerInTurn(server);
    port = await listening(server);
  });
  afterEach(async () => {
    await ended(server);
    await until(() => LONG_BODIES.left === BUDGET);
  });

  const answerTo = async (
    body: string | Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const socket = await connected(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write(aRequest('/', body, headers));
    await until(() => text.includes('>') || socket.destroyed);
    socket.destroy();
    return /<(.*)>/.exec(text)?.[1] ?? text;
  };

  const json = JSON.stringify({ list: Array.from({ length: 2000 }, (_, at) => at * 7919) });
  it.each<[string, string | Buffer, string | undefined]>([
    ['as it is', json, undefined],
    ['by gzip', gzipSync(json), 'gzip'],
    ['by deflate', deflateSync(json), 'Deflate'],
    ['by brotli', brotliCompressSync(json), 'br'],
  ])('is read %s', async (_, body, encoding) => {
    const headers = encoding === undefined ? {} : { 'Content-Encoding': encoding };
    expect(await answerTo(body, headers)).toBe(`200 ${json.length}`);
  });

  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  it.each<[string, string | Buffer, Readonly<Record<string, string>>, string]>([
    ['is longer than it may be', 'x'.repeat(MIB + 1), {}, '413'],
    ['inflates beyond that', gzipSync(randomJson(MIB + 2)), { 'Content-Encoding': 'gzip' }, '413'],
    [
      'inflates to many times its size',
      gzipSync(JSON.stringify('x'.repeat(MIB - 2))),
      { 'Content-Encoding': 'gzip' },
      '400 The decompressed body is more than 32 times as large as the compressed body.',
    ],
    ['is nested too deep', deep, {}, '400 The body is nested too deep'],
    ['inflates to brackets', gzipSync(deep), { 'Content-Encoding': 'gzip' }, '400'],
    ['has too many lists', `[${'[],'.repeat(20_000)}[]]`, {}, '400 The body is nested too deep'],
    [
      'has too many names',
      `{${Array.from({ length: 20_001 }, (_, at) => `"${at}":1`).join(',')}}`,
      {},
      '400 The body is nested too deep',
    ],
    [
      'is cut off when compressed',
      gzipSync(json).subarray(0, 900),
      { 'Content-Encoding': 'gzip' },
      '400',
    ],
    ['is compressed in another way', json, { 'Content-Encoding': 'zstd' }, '415'],
    ['names a property of objects', json, { 'Content-Encoding': 'constructor' }, '415'],
    ['is empty', '', { 'Content-Length': '0' }, '400 The body is empty'],
  ])('is refused that %s', async (_, body, headers, expected) => {
    expect(await answerTo(body, headers)).toMatch(new RegExp(`^${expected}`));
  });

  it('counts as it came before it ends, and as what it inflates to afterwards', async () => {
    isAnswering = false;
    const socket = await connected(port);
    const body = gzipSync(randomJson(MIB / 2), { level: 1 });
    const whole = aRequest('/', body, { 'Content-Encoding': 'gzip' });
    socket.write(whole.subarray(0, whole.length - 20));
    await until(() => BUDGET - LONG_BODIES.left > MIB / 4);
    expect(BUDGET - LONG_BODIES.left).toBeLessThan(body.length);
    socket.write(whole.subarray(whole.length - 20));
    await until(() => read === 1);
    expect(BUDGET - LONG_BODIES.left).toBeGreaterThan(MIB / 2);
    socket.destroy();
    await until(() => LONG_BODIES.left === BUDGET);
  });

  it.each([
    ['gzip', gzipSync(json)],
    ['br', brotliCompressSync(json)],
  ])('by %s holds nothing of others while it stalls', async (encoding, body) => {
    const headers = { 'Content-Encoding': encoding };
    const sockets = await Promise.all(Array.from({ length: 40 }, () => connected(port)));
    const stalled = aRequest('/', body, headers);
    for (const socket of sockets) socket.write(stalled.subarray(0, stalled.length - 20));
    await until(() => begun === sockets.length);
    expect(await answerTo(body, headers)).toMatch(/^200/);
    expect(LONG_BODIES.left).toBe(BUDGET);
    for (const socket of sockets) socket.destroy();
    await until(() => over > sockets.length);
  });

  it('by brotli waits for others that are inflated', async () => {
    const body = brotliCompressSync(json);
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => answerTo(body, { 'Content-Encoding': 'br' })),
    );
    expect(new Set(answers)).toEqual(new Set([`200 ${json.length}`]));
  });

  it('is refused when there are too many long ones, and what comes after that is not counted', async () => {
    const taken = LONG_BODIES.left - 100_000;
    LONG_BODIES.take(taken);
    const long = await answerTo('1'.repeat(MIB - 10));
    const short = await answerTo('1'.repeat(60_000));
    const packed = await answerTo(gzipSync(json), { 'Content-Encoding': 'gzip' });
    LONG_BODIES.giveBack(taken);
    expect([long.slice(0, 3), short.slice(0, 3), packed.slice(0, 3)]).toEqual([
      '429',
      '200',
      '200',
    ]);
    await until(() => LONG_BODIES.left === BUDGET);
  });

  it.each(['reset', 'closed', 'half-closed'])(
    'gives its bytes back when its connection is %s before it is answered',
    async (how) => {
      isAnswering = false;
      const socket = await connected(port);
      socket.write(aRequest('/', '1'.repeat(MIB - 10)));
      await until(() => read === 1);
      expect(LONG_BODIES.left).toBeLessThan(BUDGET);
      if (how === 'reset') socket.resetAndDestroy();
      else if (how === 'closed') socket.destroy();
      else socket.end();
      await until(() => over === 1);
      expect(LONG_BODIES.left).toBe(BUDGET);
    },
  );

  it('that is queued behind unread answers holds nothing when its client goes', async () => {
    const sockets = await Promise.all(Array.from({ length: 20 }, () => connected(port)));
    isAnswering = false;
    for (const socket of sockets) {
      socket.write(Buffer.concat([aRequest('/', '1'), aRequest('/', '1'.repeat(200_000))]));
    }
    await until(() => over === sockets.length);
    expect(LONG_BODIES.left).toBe(BUDGET);
  });

  it('leaves its connection fit for the next one after a refusal', async () => {
    const socket = await connected(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write(
      aRequest('/', gzipSync(JSON.stringify('x'.repeat(MIB - 2))), { 'Content-Encoding': 'gzip' }),
    );
    await until(() => text.includes('as large as the compressed body'));
    socket.write(aRequest('/', '[1]'));
    await until(() => text.includes('<200 3>'));
    socket.destroy();
  });
});

/** A JSON text of that length which hardly compresses. */
function randomJson(length: number): string {
  let state = 1;
  const next = (): string => {
    state = Math.imul(state, 1_664_525) + 1_013_904_223;
    return ((state >>> 8) & 0xffffff).toString(36).padStart(5, '0');
  };
  let text = '';
  while (text.length < length - 2) text += next();
  return JSON.stringify(text.slice(0, length - 2));
}
