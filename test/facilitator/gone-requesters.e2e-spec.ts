import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Service } from '../../sandbox/service.js';
import { connected } from '../operations/connections/held.js';
import { aRequest, whole } from '../operations/connections/requests.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { Hub } from '../support/hub-world.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/** More than a connection takes of an answer that is not read. */
const FILM_BYTES = 6 * 1_048_576;
/** Requesters of one settlement. */
const PLACES = 64;
const SELLER = { 'x-forwarded-for': '198.51.100.1' };

/** A seller as its connection shows it: it knows only what it has read. */
class Visitor {
  heard = '';

  private constructor(readonly socket: Socket) {}

  static async of(service: Service, ...requests: readonly Buffer[]): Promise<Visitor> {
    const visitor = new Visitor(await connected(Number(new URL(service.url).port)));
    visitor.socket.pause();
    visitor.socket.on('data', (piece: Buffer) => (visitor.heard += piece.toString('latin1')));
    visitor.socket.write(Buffer.concat(requests));
    return visitor;
  }

  /** How often it got success. */
  get successes(): number {
    return this.heard.split('"success":true').length - 1;
  }
}

describe('requesters that go, on a chain that mines when a test says so', () => {
  const dir = mkdtempSync(join(tmpdir(), 'x402-requesters-'));
  let world: World;
  let service: Service;
  let payer: PrivateKeyAccount;

  beforeAll(async () => {
    world = await World.start();
    const hub = { HUB_DATA_DIR: dir, RATE_LIMIT_HUB: '0' };
    service = await world.service({ ROLES: 'api,worker,hub', TRUST_PROXY: '1', ...hub });
    payer = await world.payer();
    await new Hub(service).sendFile('anybody', 'film', new Uint8Array(FILM_BYTES));
    await world.client.setAutomine(false);
  });
  afterAll(async () => {
    await world.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const film = aRequest('GET /api/download?owner=anybody&name=film');
  const aPayment = (): Promise<Body> =>
    eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo: newAccount().address });
  const asked = (body: Body): Buffer => {
    const { headers, bytes } = whole(Buffer.from(JSON.stringify(body)));
    return aRequest('POST /settle', { ...SELLER, ...headers }, bytes);
  };
  const settle = (body: Body): Promise<Answer> => post(`${service.url}/settle`, body, SELLER);
  const inPool = (count: number): Promise<void> =>
    eventually('in the pool', async () => {
      return (await world.client.getTxpoolStatus()).pending === count;
    });

  /** Whether the ledger knows it. */
  async function isKnown({ paymentPayload, paymentRequirements }: Body): Promise<boolean> {
    const coded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
    const query = new URLSearchParams({
      paymentPayload: coded(paymentPayload),
      paymentRequirements: coded(paymentRequirements),
    });
    return (await get(`${service.url}/settle?${query.toString()}`)).status === 200;
  }

  /** Asks again, as the one that went would, and has blocks mined until it is answered. */
  async function isForTheNext(body: Body): Promise<unknown> {
    const progress = { isDone: false };
    const next = settle(body).finally(() => (progress.isDone = true));
    while (!progress.isDone) {
      await pause(200);
      await world.client.mine({ blocks: 1 });
    }
    return (await next).body['success'];
  }

  it.each<[string, (socket: Socket) => void]>([
    ['resets its connection', (socket) => socket.resetAndDestroy()],
    ['closes it', (socket) => socket.destroy()],
    // As Node has it, and so for every answer: who sends no more is gone.
    ['closes it by half', (socket) => void socket.end().resume()],
  ])('one that waits and %s holds no sale', async (_, end) => {
    const body = await aPayment();
    const visitor = await Visitor.of(service, asked(body));
    await inPool(1);
    end(visitor.socket);
    await pause(300);
    await world.client.mine({ blocks: 1 });
    expect(await isForTheNext(body)).toBe(true);
    expect((await settle(body)).body).toMatchObject({ errorReason: 'duplicate_settlement' });
  });

  it('one behind an answer that is not read has not asked yet, and when it goes it never has', async () => {
    const bodies = [await aPayment(), await aPayment()];
    const requests = bodies.map(asked);
    const visitors = [
      await Visitor.of(service, film, ...requests),
      await Visitor.of(service, film, film, ...requests),
    ];
    await pause(1500);
    expect(await Promise.all(bodies.map(isKnown))).toEqual([false, false]);
    visitors[0]?.socket.resetAndDestroy();
    visitors[1]?.socket.destroy();
    for (const body of bodies) expect(await isForTheNext(body)).toBe(true);
  });

  it('one behind an answer that is read late asks then, and is told alone', async () => {
    const body = await aPayment();
    const visitor = await Visitor.of(service, film, asked(body));
    await pause(1000);
    expect(await isKnown(body)).toBe(false);
    visitor.socket.resume();
    await inPool(1);
    await world.client.mine({ blocks: 1 });
    await eventually('it is told', () => visitor.successes === 1);
    expect((await settle(body)).body).toMatchObject({ errorReason: 'duplicate_settlement' });
    visitor.socket.destroy();
  });

  it('one behind its own other payment, which waits, leaves both to the next', async () => {
    const bodies = [await aPayment(), await aPayment()];
    const visitor = await Visitor.of(service, ...bodies.map(asked));
    await inPool(1);
    visitor.socket.resetAndDestroy();
    await pause(300);
    await world.client.mine({ blocks: 1 });
    for (const body of bodies) expect(await isForTheNext(body)).toBe(true);
  });

  it('as many as may wait for one settlement can wait again when they have gone', async () => {
    const body = await aPayment();
    const crowd = async (): Promise<readonly Visitor[]> => {
      const visitors = await Promise.all(
        Array.from({ length: PLACES }, () => Visitor.of(service, asked(body))),
      );
      for (const { socket } of visitors) socket.resume();
      // Each has its place before the next one asks.
      await pause(2000);
      return visitors;
    };
    const isTurnedAway = async (): Promise<boolean> => {
      const one = await Visitor.of(service, asked(body));
      one.socket.resume();
      await pause(500);
      one.socket.destroy();
      return one.heard.includes('duplicate_settlement');
    };
    const first = await crowd();
    await inPool(1);
    expect(first.filter(({ heard }) => heard !== '')).toEqual([]);
    await eventually('there is no further place', isTurnedAway);
    for (const { socket } of first) socket.resetAndDestroy();
    await pause(1000);
    const second = await crowd();
    expect(second.filter(({ heard }) => heard !== '')).toEqual([]);
    await eventually('there is no further place again', isTurnedAway);
    await world.client.mine({ blocks: 1 });
    await eventually('each has its answer', () => second.every(({ heard }) => heard !== ''));
    expect(second.reduce((all, { successes }) => all + successes, 0)).toBe(1);
    for (const { socket } of second) socket.destroy();
  });
});
