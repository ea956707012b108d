import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { connect, type Socket } from 'node:net';
import { eventually } from '../../support/http.js';
import { Scrape } from '../scrape.js';
import type { Doors } from './doors.js';
import { aRequest, cutShort } from './requests.js';

/** Gauges of work in progress, as the metrics name them. */
const GAUGES = [
  'x402_settlements_live',
  'x402_settlements_parked',
  'x402_queue_depth',
  'x402_lane_in_flight',
  'x402_lane_gaps',
];

/** As `docs/access.md` has them: bytes of all long bodies, and what each may have besides. */
const BODIES_BYTES = 67_108_864;
const FREE_BYTES = 65_536;
const BODY_BYTES = 1_048_576;
/** Not taken, so that a body that just fits finds room. */
const ROOM_BYTES = 4096;

/** Long answers of the hub, of all and of one address. */
export const PLACES = 128;
export const PLACES_OF_ONE = 32;

/** Where visitors come from: other connections, those that a test itself keeps open, are none of theirs. */
export const VISITORS = '127.0.0.2';
const VISITORS_HEX = '0200007F';
/** Established, and given up by the client: in these states a connection is the server's, or waits to be. */
const [OPEN, HALF_OPEN] = ['01', '08'];

interface ServerSocket {
  /** Whether the server has taken it up. */
  readonly isAccepted: boolean;
  /** Bytes that the server has not read. */
  readonly unread: number;
}

/** The server's side of the visitors' connections to these ports, as the kernel knows them. */
export function serverSockets(ports: readonly number[]): readonly ServerSocket[] {
  const wanted = new Set(ports.map((port) => port.toString(16).toUpperCase().padStart(4, '0')));
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', remote = '', state]) => {
      const isHeld = state === OPEN || state === HALF_OPEN;
      return isHeld && remote.startsWith(VISITORS_HEX) && wanted.has(local.split(':')[1] ?? '');
    })
    .map(([, , , , queues = '', , , , , inode]) => ({
      isAccepted: inode !== '0',
      unread: Number.parseInt(queues.split(':')[1] ?? '', 16),
    }));
}

/** A page on a connection of its own, which is over with it. */
export function page(port: number, path: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    httpGet({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text });
      });
      response.on('error', reject);
    }).on('error', reject);
  });
}

/** All counts of what clients may hold. */
export async function counted({ port, opsPort, spool }: Doors): Promise<Record<string, number>> {
  const scrape = new Scrape((await page(opsPort, '/metrics')).text);
  const gauges = GAUGES.map((name) => [name, scrape.value(name) ?? -1] as const);
  return {
    ...Object.fromEntries(gauges),
    connections: serverSockets([port, opsPort]).length,
    spooled: readdirSync(spool).length,
  };
}

export async function connected(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: VISITORS });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** The first line of what is answered, without more of it being read. */
export async function statusOf(socket: Socket): Promise<number> {
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return Number(first.toString('latin1').slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
}

/** Sends bodies that do not end, until nearly all bytes are taken that long bodies may take together. */
async function holdBodies(port: number): Promise<readonly Socket[]> {
  const held: Socket[] = [];
  let left = BODIES_BYTES - ROOM_BYTES;
  while (left > 0) {
    const bytes = Buffer.alloc(Math.min(BODY_BYTES - 1, left + FREE_BYTES), '7');
    left -= bytes.length - FREE_BYTES;
    const socket = await connected(port);
    held.push(socket);
    const sent = cutShort(bytes, 1);
    await new Promise((resolve) =>
      socket.write(aRequest('POST /verify', sent.headers, sent.bytes), resolve),
    );
  }
  await eventually('the bodies are read', () => {
    return serverSockets([port]).every(({ unread }) => unread === 0);
  });
  return held;
}

export interface Bodies {
  /** Of those that take all bytes there are: how many were answered before their end. */
  readonly refused: number;
  /** The status of a body that just fits beside them, and of one that does not. */
  readonly fitting: number;
  readonly further: number;
}

export const ALL_BODIES: Bodies = { refused: 0, fitting: 400, further: 429 };

/** Whether all bytes that long bodies may take together can be taken, and no more. */
export async function takeAllBodies(port: number): Promise<Bodies> {
  const held = await holdBodies(port);
  let refused = 0;
  for (const socket of held) socket.once('data', () => (refused += 1));
  const ask = async (bytes: number): Promise<number> => {
    const socket = await connected(port);
    const body = cutShort(Buffer.alloc(FREE_BYTES + bytes, '7'), 0, { Connection: 'close' });
    socket.write(aRequest('POST /verify', body.headers, body.bytes));
    const status = await statusOf(socket);
    socket.destroy();
    return status;
  };
  const fitting = await ask(ROOM_BYTES / 2);
  const further = await ask(ROOM_BYTES * 2);
  for (const socket of held) socket.destroy();
  return { refused, fitting, further };
}

export interface Places {
  /** How many of as many as there are places for are served. */
  readonly served: number;
  /** The status of one more, of an address with all its places, and of another one. */
  readonly ofOne: number;
  readonly further: number;
}

export const ALL_PLACES: Places = { served: PLACES, ofOne: 429, further: 503 };

/** Whether all places for long answers of the hub can be taken, and no more. */
export async function takeAllPlaces(port: number, path: string): Promise<Places> {
  const held: Socket[] = [];
  const ask = async (network: number): Promise<number> => {
    const socket = await connected(port);
    held.push(socket);
    socket.write(aRequest(`GET ${path}`, fromNetwork(network)));
    return statusOf(socket);
  };
  const statuses: number[] = [];
  for (let network = 0; network < PLACES / PLACES_OF_ONE; network += 1) {
    const asked = Array.from({ length: PLACES_OF_ONE }, () => ask(network));
    statuses.push(...(await Promise.all(asked)));
  }
  const served = statuses.filter((status) => status === 200).length;
  const [ofOne, further] = [await ask(0), await ask(99)];
  for (const socket of held) socket.destroy();
  return { served, ofOne, further };
}

/** What the proxy in front says of a client of a network (IPv6, /56). */
export function fromNetwork(network: number): Readonly<Record<string, string>> {
  return { 'X-Forwarded-For': `2001:db8:${network.toString(16)}::1` };
}
