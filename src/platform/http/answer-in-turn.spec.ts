import { once } from 'node:events';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  aRequest,
  aServer,
  connected,
  ended,
  listening,
  until,
} from '../../../test/builders/platform/http/raw-client.js';
import { answerInTurn } from './answer-in-turn.js';

const NO_HOST = Buffer.from('GET / HTTP/1.1\r\n\r\n');
const times = (count: number, one: Buffer): Buffer[] => Array.from({ length: count }, () => one);

describe('requests that come before the answer to the one before them', () => {
  let server: Server;
  afterEach(() => ended(server));

  const serve = (listener: RequestListener): Promise<number> => {
    server = aServer(listener);
    answerInTurn(server);
    return listening(server);
  };

  it('are answered one at a time, in order', async () => {
    let [underWay, most] = [0, 0];
    const port = await serve((request, response) => {
      underWay += 1;
      most = Math.max(most, underWay);
      setImmediate(() => {
        underWay -= 1;
        response.end(`<${request.url}>`);
      });
    });
    const socket = await connected(port);
    socket.write(Buffer.concat(Array.from({ length: 12 }, (_, at) => aRequest(`/${at}`))));
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await until(() => text.includes('</11>'));
    expect(most).toBe(1);
    expect(text.match(/<\/\d+>/g)).toEqual(Array.from({ length: 12 }, (_, at) => `</${at}>`));
  });

  it('wait with their short bodies', async () => {
    const port = await serve((request, response) => {
      void request.toArray().then((pieces: Buffer[]) => {
        response.end(`<${Buffer.concat(pieces).toString()}>`);
      });
    });
    const socket = await connected(port);
    socket.write(Buffer.concat(['a', 'b', 'c'].map((body) => aRequest('/', body))));
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await until(() => text.includes('<c>'));
    expect(text.match(/<.>/g)).toEqual(['<a>', '<b>', '<c>']);
  });

  it('wait with what they expect', async () => {
    const urls: (string | undefined)[] = [];
    let first: ServerResponse | undefined;
    const port = await serve((request, response) => {
      urls.push(request.url);
      if (first === undefined) first = response;
      else void request.toArray().then((pieces: Buffer[]) => response.end(`<${pieces.join('')}>`));
    });
    const socket = await connected(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write(
      Buffer.concat([aRequest('/first'), aRequest('/second', 'b', { Expect: '100-continue' })]),
    );
    await until(() => first !== undefined);
    expect(urls).toEqual(['/first']);
    first?.end('<a>');
    await until(() => text.includes('<b>'));
    expect(text.match(/<.>|HTTP.*/g)).toEqual([
      'HTTP/1.1 200 OK',
      '<a>',
      'HTTP/1.1 100 Continue',
      'HTTP/1.1 200 OK',
      '<b>',
    ]);
  });

  it.each([
    ['name no host', NO_HOST, 'HTTP/1.1 400 Bad Request'],
    ['name two hosts', aRequest('/', undefined, { host: 'y' }), 'HTTP/1.1 400 Bad Request'],
    [
      'expect what is not met here',
      aRequest('/', undefined, { Expect: 'x' }),
      'HTTP/1.1 417 Expectation Failed',
    ],
  ])('are refused in their turn when they %s, and end their connection', async (_, sent, line) => {
    const port = await serve((request, response) => {
      setImmediate(() => {
        response.end(`<${request.url}>`);
      });
    });
    for (const before of [[], [aRequest('/0'), aRequest('/1')]]) {
      const socket = await connected(port);
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.write(Buffer.concat([...before, sent, aRequest('/after')]));
      await once(socket, 'close');
      expect(text.match(/<.*?>/g) ?? []).toEqual(before.map((_one, at) => `</${at}>`));
      const refusal = text.slice(text.indexOf(line));
      expect(refusal).toContain('\r\nConnection: close\r\n');
      const [, body = ''] = refusal.split('\r\n\r\n');
      expect(JSON.parse(body)).toEqual({
        error: expect.any(String),
        code: 'invalid_request',
      });
    }
  });

  it('need no host in HTTP/1.0', async () => {
    const port = await serve((request, response) => response.end(`<${request.url}>`));
    const socket = await connected(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write('GET /old HTTP/1.0\r\n\r\n');
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 200 OK.*<\/old>$/s);
  });

  it('make nothing while an answer is not read', async () => {
    let [calls, written] = [0, 0];
    const answer = 'x'.repeat(8 * 1_048_576);
    const port = await serve((_, response) => {
      calls += 1;
      written += answer.length;
      response.end(answer);
    });
    const sockets = await Promise.all(Array.from({ length: 5 }, () => connected(port)));
    for (const socket of sockets) {
      socket.pause();
      socket.write(Buffer.concat(Array.from({ length: 10 }, () => aRequest('/openapi.json'))));
    }
    await until(() => calls === 5);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([calls, written]).toEqual([5, 5 * answer.length]);
    for (const socket of sockets) socket.destroy();
  });

  it.each<[string, Buffer]>([
    ['are too many', Buffer.concat(Array.from({ length: 18 }, () => aRequest('/')))],
    ['are too many without a host', Buffer.concat([aRequest('/'), ...times(17, NO_HOST)])],
    [
      'are too many that expect something',
      Buffer.concat([aRequest('/'), ...times(17, aRequest('/', undefined, { Expect: 'x' }))]),
    ],
    [
      'are too long together',
      Buffer.concat(
        Array.from({ length: 15 }, () => aRequest('/', undefined, { Cookie: 'x'.repeat(8000) })),
      ),
    ],
    ['have a long body', Buffer.concat([aRequest('/'), aRequest('/', 'x'.repeat(16_384))])],
    [
      'have a body of no told length',
      Buffer.concat([aRequest('/'), aRequest('/', undefined, { 'Transfer-Encoding': 'chunked' })]),
    ],
  ])('end their connection when they %s', async (_, sent) => {
    const held: ServerResponse[] = [];
    const port = await serve((_request, response) => {
      held.push(response);
    });
    const socket = await connected(port);
    socket.resume();
    socket.write(sent);
    await once(socket, 'close');
    expect(held).toHaveLength(1);
    expect(held[0]?.socket?.destroyed).toBe(true);
  });

  it('are not answered when their client has gone', async () => {
    const urls: (string | undefined)[] = [];
    let first: ServerResponse | undefined;
    const port = await serve((request, response) => {
      urls.push(request.url);
      first ??= response;
    });
    const socket = await connected(port);
    socket.write(Buffer.concat([aRequest('/first'), aRequest('/second')]));
    await until(() => first !== undefined);
    socket.resetAndDestroy();
    await until(() => first?.destroyed === true);
    await new Promise((resolve) => setImmediate(resolve));
    expect(urls).toEqual(['/first']);
  });

  it('see their client go while they wait', async () => {
    let gone = 0;
    const port = await serve((_, response) => {
      response.on('close', () => (gone += 1));
    });
    const socket = await connected(port);
    socket.write(Buffer.concat([aRequest('/'), aRequest('/', 'x'.repeat(16_000))]));
    socket.destroy();
    await until(() => gone === 1);
    expect(gone).toBe(1);
  });
});
