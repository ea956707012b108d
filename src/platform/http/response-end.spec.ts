import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
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
import { whenAnswered, whenOver } from './response-end.js';

const LONG = 'x'.repeat(16 * 1_048_576);

describe('the end of a response', () => {
  let server: Server;
  const ends: boolean[] = [];
  afterEach(() => ended(server));

  const serve = (answer: (response: ServerResponse) => void): Promise<number> => {
    ends.length = 0;
    server = aServer((_, response) => {
      whenAnswered(response, (isHandedOver) => ends.push(isHandedOver));
      answer(response);
    });
    answerInTurn(server);
    return listening(server);
  };

  it.each([{}, { Connection: 'close' }])('is seen for a read answer, by %o', async (headers) => {
    const port = await serve((response) => response.end('{}'));
    const socket = await connected(port);
    socket.resume();
    socket.write(aRequest('/', undefined, headers));
    await until(() => ends.length > 0);
    expect(ends).toEqual([true]);
    socket.destroy();
  });

  it.each<[string, (socket: Socket) => void]>([
    ['resets', (socket) => socket.resetAndDestroy()],
    ['closes', (socket) => socket.destroy()],
    ['half-closes and goes', (socket) => socket.end(() => socket.destroy())],
  ])('is seen for a waiting answer when its client %s: it was not handed over', async (_, go) => {
    let isAnswered = false;
    const port = await serve((response) => {
      response.end(LONG);
      isAnswered = true;
    });
    const socket = await connected(port);
    socket.pause();
    socket.write(Buffer.concat([aRequest('/'), aRequest('/'), aRequest('/')]));
    await until(() => isAnswered);
    go(socket);
    await until(() => ends.length > 0);
    expect(ends).toEqual([false]);
  });

  it('is seen at once for an ended answer', async () => {
    let calls = 0;
    let late: ServerResponse | undefined;
    const port = await serve((response) => (late = response));
    const socket = await connected(port);
    socket.write(aRequest('/'));
    await until(() => late !== undefined);
    socket.resetAndDestroy();
    await until(() => ends.length > 0);
    if (late !== undefined) whenOver(late, () => (calls += 1));
    expect(calls).toBe(1);
  });
});
