import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aRequest, ended, listening, until } from '../test/builders/platform/http/raw-client.js';
import { TEST_SEED } from '../test/support/seed.js';
import { SeededRandom } from '../test/support/seeded-random.js';
import { connectionOf, sendSettleAnswer } from './facilitator/settle-response.js';
import { StreamSlots } from './hub/limits/hub-limits.service.js';
import { readBody } from './hub/wire/body-reader.js';
import { sendJsonPieces } from './hub/wire/json-pieces.js';
import { AppConfig } from './platform/config/app-config.js';
import { LONG_BODIES } from './platform/http/byte-budget.js';
import { JsonBodyReader } from './platform/http/request-body.js';
import { whenOver } from './platform/http/response-end.js';
import { limitServer } from './platform/http/server-limits.js';

const MIB = 1_048_576;
const CONNECTIONS = 150;
const AT_ONCE = 15;
const MEMORY_ALLOWED = 64 * MIB;
/** From the last connection's end. */
const SETTLED_TIMEOUT_MS = 10_000;

const TEXT = JSON.stringify('7'.repeat(300_000));
const PIECE = '7'.repeat(65_536);

/** Everything that a connection can hold, read where it is counted. */
class Doors {
  readonly slots = new StreamSlots();
  waiting = 0;
  /** Sales that were neither taken back nor handed over whole. */
  open = 0;
  readonly #bodies = new JsonBodyReader(
    Object.assign(Object.create(AppConfig.prototype) as AppConfig, { bodyMaxBytes: MIB }),
  );

  answer(request: IncomingMessage, response: ServerResponse): void {
    const found: Partial<Record<string, () => Promise<void>>> = {
      '/json': () => this.#json(request, response),
      '/form': () => this.#form(request, response),
      '/long': () => this.#long(response),
      '/settle': () => this.#settle(request, response),
    };
    const door = found[request.url ?? ''] ?? (() => Promise.resolve(void response.end(TEXT)));
    door().catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(400).end('{}');
    });
  }

  async #json(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await this.#bodies.json(request, response);
    response.end(JSON.stringify(body));
  }

  async #form(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asExpress = Object.assign(request, { res: response });
    response.end(await readBody(asExpress as never, MIB));
  }

  async #long(response: ServerResponse): Promise<void> {
    whenOver(response, this.slots.take('client'));
    await sendJsonPieces(response as never, pieces());
  }

  async #settle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await this.#bodies.json(request, response);
    const connection = connectionOf(response);
    this.waiting += 1;
    const outcome = new Promise<void>((resolve) => setTimeout(resolve, 30));
    await Promise.race([connection.closed, outcome]);
    this.waiting -= 1;
    if (!connection.isWritable) {
      response.destroy();
      return;
    }
    this.open += 1;
    const end = (): Promise<void> => {
      this.open -= 1;
      return Promise.resolve();
    };
    response.prependOnceListener('finish', () => {
      const { socket } = response;
      if (socket !== null && !socket.destroyed && socket.errored === null) void end();
    });
    sendSettleAnswer(response, {
      status: 200,
      body: { success: true },
      settlementId: 'claim',
      finality: 'included',
      rollBack: end,
    } as never);
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- what the hub sends comes from Redis
async function* pieces(): AsyncGenerator<string> {
  for (let at = 0; at < 128; at += 1) yield PIECE;
}

function aSent(random: SeededRandom): Buffer {
  const body = '7'.repeat(random.pick([2, 2, 2000, 15_000, 100_000, 900_000]));
  const packed = gzipSync(body, { level: random.pick([1, 9]) });
  const whole = random.pick([
    aRequest('/json', body),
    aRequest('/json', packed, { 'Content-Encoding': 'gzip' }),
    aRequest('/form', body),
    aRequest('/settle', '{}'),
    aRequest('/long'),
    aRequest('/text'),
    aRequest('/text', undefined, { Expect: 'x' }),
    aRequest('/json', body, { Expect: '100-continue' }),
    Buffer.from('GET /text HTTP/1.1\r\n\r\n'),
  ]);
  return random.chance(0.2) ? whole.subarray(0, random.between(1, whole.length)) : whole;
}

/** One connection: what it sends, whether it reads, when it ends and how. */
async function play(random: SeededRandom, port: number): Promise<void> {
  const socket: Socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  if (random.chance(0.5)) socket.resume();
  else socket.pause();
  const sent = Array.from({ length: random.pick([1, 1, 2, 3, 8, 20]) }, () => aSent(random));
  if (random.chance(0.5)) socket.write(Buffer.concat(sent));
  else for (const one of sent) socket.write(one);
  await new Promise((resolve) => setTimeout(resolve, random.below(120)));
  const isHalfClosed = random.chance(0.3);
  if (isHalfClosed) socket.end();
  await new Promise((resolve) => setTimeout(resolve, random.below(40)));
  // Node leaves a connection open for good, and its process with it, that is reset while its half is being closed.
  const isClosing = isHalfClosed && !socket.writableFinished;
  if (random.chance(0.5) && !isClosing) socket.resetAndDestroy();
  else socket.destroy();
}

function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe(`whatever ${CONNECTIONS} connections do, seed ${TEST_SEED}`, () => {
  const doors = new Doors();
  let server: Server;
  let port: number;

  beforeAll(async () => {
    server = createServer((request, response) => {
      doors.answer(request, response);
    });
    limitServer(server);
    port = await listening(server);
  });
  afterAll(() => ended(server));

  const held = async (): Promise<unknown> => ({
    bodies: LONG_BODIES.left,
    places: doors.slots.taken,
    waiting: doors.waiting,
    sales: doors.open,
    connections: await new Promise((resolve) => {
      server.getConnections((_, count) => {
        resolve(count);
      });
    }),
  });

  it('once they have gone nothing is held for them, and memory is what it was', async () => {
    const random = new SeededRandom(TEST_SEED);
    const before = await held();
    const memory = usedBytes();
    let most = 0;
    for (let at = 0; at < CONNECTIONS; at += AT_ONCE) {
      const left = LONG_BODIES.left;
      const playing = Promise.all(Array.from({ length: AT_ONCE }, () => play(random, port)));
      await new Promise((resolve) => setTimeout(resolve, 20));
      most = Math.max(most, left - LONG_BODIES.left, doors.slots.taken);
      await playing;
    }
    // The run reached what it was meant to reach.
    expect(most).toBeGreaterThan(0);
    const gone = performance.now();
    let now = JSON.stringify(await held());
    await until(() => {
      void held().then((state) => (now = JSON.stringify(state)));
      return now === JSON.stringify(before) || performance.now() - gone > SETTLED_TIMEOUT_MS;
    });
    expect(JSON.parse(now)).toEqual(before);
    // Buffers outside the heap are released a little after the objects that held them.
    let grown = usedBytes() - memory;
    await until(() => {
      if (grown >= MEMORY_ALLOWED) grown = usedBytes() - memory;
      return grown < MEMORY_ALLOWED || performance.now() - gone > SETTLED_TIMEOUT_MS;
    });
    expect(grown).toBeLessThan(MEMORY_ALLOWED);
  }, 60_000);
});
