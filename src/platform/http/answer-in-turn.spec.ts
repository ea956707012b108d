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
