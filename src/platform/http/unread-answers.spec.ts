import type { Server } from 'node:http';
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
import { limitUnread, type UnreadBounds } from './unread-answers.js';

const MIB = 1_048_576;
const LONG = Buffer.alloc(16 * MIB, 'x');

describe('answers that are not read', () => {
  let server: Server;
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await ended(server);
  });

  const serve = (bounds: Partial<UnreadBounds>): Promise<number> => {
    server = aServer((_, response) => response.end(LONG));
    limitUnread(server, {
      silenceMs: 250,
      leastBytes: 16_384,
      maxBytes: Infinity,
      everyMs: 25,
      ...bounds,
    });
    return listening(server);
  };
  const asking = async (port: number): Promise<Socket> => {
    const socket = await connected(port);
    socket.pause();
    sockets.push(socket);
    socket.write(aRequest('/'));
    return socket;
  };
  const open = (): Promise<number> =>
    new Promise((resolve, reject) => {
      server.getConnections((error, count) => {
        if (error === null) resolve(count);
        else reject(error);
      });
    });
  const gone = async (count: number): Promise<void> => {
    while ((await open()) !== count) await new Promise((resolve) => setTimeout(resolve, 10));
  };

  it('end their connection after some silence', async () => {
    const port = await serve({});
    await asking(port);
    await gone(0);
  });

  it('end it however much their client sends', async () => {
    const port = await serve({});
    const socket = await asking(port);
    const chatter = setInterval(() => socket.write('X: y\r\n'), 20);
    await gone(0);
    clearInterval(chatter);
  });

  it('end it when their client reads next to nothing', async () => {
    const port = await serve({ leastBytes: 4 * MIB });
    const socket = await asking(port);
    const sip = setInterval(() => {
      socket.read(1);
    }, 20);
    await gone(0);
    clearInterval(sip);
  });

  it('are left to a client that is slow and reads', async () => {
    // A busy machine may stop this client for a while, too.
    const silenceMs = 1000;
    const port = await serve({ silenceMs });
    const socket = await asking(port);
    let taken = 0;
    const begun = performance.now();
    // Twice as long as a silent one would have had, and then all of the rest.
    while (taken < LONG.length && !socket.destroyed) {
      const isSlow = performance.now() - begun < 2 * silenceMs && taken < LONG.length / 2;
      const piece = socket.read(isSlow ? 65_536 : undefined) as Buffer | null;
      taken += piece?.length ?? 0;
      await new Promise((resolve) => setTimeout(resolve, isSlow ? 20 : 1));
    }
    expect(taken).toBeGreaterThanOrEqual(LONG.length);
    expect(performance.now() - begun).toBeGreaterThan(2 * silenceMs);
    expect(socket.destroyed).toBe(false);
  });

  it('leave an idle connection open', async () => {
    const port = await serve({ silenceMs: 50 });
    const socket = await connected(port);
    sockets.push(socket);
    await asking(port);
    await gone(1);
    expect(socket.destroyed).toBe(false);
  });

  it('are closed from the longest silence on when they are too much together', async () => {
    const port = await serve({ silenceMs: 60_000, maxBytes: 2.5 * LONG.length });
    const first = await asking(port);
    // It has been seen to be silent before the others come.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const others = [await asking(port), await asking(port)];
    await gone(2);
    // Reading is what shows a client that it was closed.
    for (const socket of [first, ...others]) socket.resume();
    await until(() => first.destroyed);
    expect(others.map(({ destroyed }) => destroyed)).toEqual([false, false]);
  });
});
