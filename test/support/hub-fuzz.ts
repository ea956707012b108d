import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import type { Hub } from './hub-world.js';
import { SeededRandom } from './seeded-random.js';

const PATHS = [
  '/api/upload',
  '/api/uploadData',
  '/api/download',
  '/api/conversation',
  '/api/object',
  '/api/listAccount',
  '/api/listBucket',
  '/api/listNeedle',
  '/api/listVolume',
  '/api/info',
  '/api/listConversation',
  '/api',
  '/api/%2e%2e/upload',
  '/api/..%2f..',
  '/api/nothing',
];
const METHODS = ['GET', 'POST', 'POST', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];
const TEXTS = [
  '',
  'a',
  '../../etc/passwd',
  '/etc/passwd',
  '..\\..\\x',
  '.',
  '..',
  'con',
  'é✓🦙',
  '%00',
  '%2e%2e/',
  '\0',
  '\r\nX-Evil: 1',
  '"; filename=x',
  '__proto__',
  'constructor',
  '\ud800',
  '*',
  '?',
  'x_0',
  'x'.repeat(300),
  'y'.repeat(2000),
  'z'.repeat(60_000),
  '\u0001'.repeat(500),
  '0x6370eF2f4Db3611D657b90667De398a2Cc2a370C',
  '{',
  '[1]',
  '-1',
];
const TYPES = [
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
  '',
  'multipart/form-data',
  'multipart/form-data; boundary=b',
  'multipart/form-data; boundary=',
  'application/json; charset=x',
];
const FIELDS = [
  'owner',
  'Owner',
  'id',
  'ID',
  'name',
  'message',
  'bucket',
  'kind',
  'offset',
  'length',
];
/** What takes long where it is read without a bound. */
const HEAVY: readonly string[] = [
  '['.repeat(200_000),
  '{"a":'.repeat(100_000),
  JSON.stringify({ owner: 'o', id: 'i', message: '{"name":'.repeat(50_000) }),
  JSON.stringify({ owner: 'o', id: 'heavy', message: 'm'.repeat(2_000_000) }),
  `a=${'&a='.repeat(20_000)}`,
  `--b\r\n${'Content-Disposition: form-data; name="x"\r\n'.repeat(2000)}`,
];
/** How many of all requests are. */
const HEAVY_SHARE = 0.01;
/** A sign-in for another site, without a real signer. */
const SIGN_IN = JSON.stringify({
  Addr: `0x${'11'.repeat(20)}`,
  Sign: `0x${'22'.repeat(65)}`,
  Msg: `shop.example wants you to sign in with your Ethereum account:\n0x${'11'.repeat(20)}\n\n\nURI: https://shop.example\nVersion: 1\nChain ID: 1\nNonce: 12345678\nIssued At: 2026-01-01T00:00:00Z`,
});

const EXTRA_HEADERS: readonly (readonly [string, string])[] = [
  ...([
    ['range', 'bytes=5-1'],
    ['range', 'bytes=-0'],
    ['range', 'bytes=0-,2-'],
    ['range', 'x'],
  ] as const),
  ...([
    ['if-none-match', '*'],
    ['if-range', '"x"'],
    ['accept', 'application/json'],
    ['accept', ',,;'],
  ] as const),
  ...([
    ['authorization', '{}'],
    ['authorization', 'Hub-EIP712 e30'],
    ['authorization', SIGN_IN],
    ['authorization', `{"Addr":"${'x'.repeat(7000)}"}`],
    ['expect', '100-continue'],
  ] as const),
  ...([
    ['content-encoding', 'gzip'],
    ['x-forwarded-for', '::1, x'],
    ['accept', 'text/html'],
  ] as const),
];

/** What went out and what came back, as far as it was wrong. */
interface FuzzReport {
  readonly sent: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
}

/** Requests that make little sense, all derived from the seed; none may be answered with a 5xx. */
export async function fuzz(hub: Hub, seed: number, count: number): Promise<FuzzReport> {
  const random = new SeededRandom(seed);
  const roll = (): number => random.roll();
  const byStatus: Record<string, number> = {};
  const failures: string[] = [];
  const note = (status: string, what: string): void => {
    byStatus[status] = (byStatus[status] ?? 0) + 1;
    if (status.startsWith('5') || status === 'none') failures.push(`${status} ${what}`);
  };
  for (let sent = 0; sent < count; sent += 20) {
    const requests = Array.from({ length: Math.min(20, count - sent) }, () => requestFrom(roll));
    await Promise.all(
      requests.map(async (text) => {
        const status = await sendRaw(hub, text);
        const digest = createHash('sha256').update(text).digest('hex').slice(0, 8);
        note(status, `${digest} ${JSON.stringify(text.toString('latin1').slice(0, 300))}`);
      }),
    );
  }
  return { sent: count, byStatus, failures };
}

function requestFrom(roll: () => number): Buffer {
  const pick = <T>(items: readonly T[]): T => {
    const item = items[Math.floor(roll() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  };
  const pairs = Array.from({ length: Math.floor(roll() * 5) }, () => [pick(FIELDS), pick(TEXTS)]);
  const query = new URLSearchParams(roll() < 0.4 ? (pairs as [string, string][]) : []).toString();
  const body = bodyFrom(roll, pick, pairs);
  const headers = [
    `${pick(METHODS)} ${pick(PATHS)}${query === '' ? '' : `?${query}`} HTTP/1.1`,
    'host: hub',
    'connection: close',
    `content-length: ${body.length}`,
    `content-type: ${pick(TYPES)}`,
    ...(roll() < 0.3 ? [pick(EXTRA_HEADERS).join(': ')] : []),
  ];
  return Buffer.concat([Buffer.from(`${headers.join('\r\n')}\r\n\r\n`), body]);
}

function bodyFrom(
  roll: () => number,
  pick: <T>(items: readonly T[]) => T,
  pairs: readonly (readonly string[])[],
): Buffer {
  if (roll() < HEAVY_SHARE) return Buffer.from(pick(HEAVY));
  const kind = roll();
  if (kind < 0.2) return Buffer.alloc(0);
  if (kind < 0.5) {
    const values = pairs.map(([name, value]) => [name, roll() < 0.9 ? value : { a: [1, null] }]);
    const text = JSON.stringify(Object.fromEntries(values));
    return Buffer.from(roll() < 0.8 ? text : text.slice(0, Math.floor(text.length * roll())));
  }
  if (kind < 0.65) return Buffer.from(new URLSearchParams(pairs as [string, string][]).toString());
  if (kind < 0.9) {
    const parts = [...pairs, ['file', pick(TEXTS)]].map(
      ([name = '', value = '']) =>
        `--b\r\nContent-Disposition: form-data; name="${name}"${name === 'file' ? `; filename="${pick(TEXTS)}"` : ''}\r\n\r\n${value}\r\n`,
    );
    const text = `${parts.join('')}--b--\r\n`;
    return Buffer.from(roll() < 0.8 ? text : text.slice(0, Math.floor(text.length * roll())));
  }
  return Buffer.from(Array.from({ length: 200 }, () => Math.floor(roll() * 256)));
}

/** The status of the answer; `none` when the connection ends without one. */
function sendRaw(hub: Hub, request: Buffer): Promise<string> {
  const { port, hostname } = new URL(hub.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let head = '';
    const done = (): void => {
      socket.destroy();
      resolve(/^HTTP\/1\.1 (?!100)(\d{3})/m.exec(head)?.[1] ?? 'none');
    };
    socket.setTimeout(20_000, done);
    socket.on('data', (piece) => {
      if (head.length < 4096) head += piece.toString('latin1');
    });
    socket.on('end', done).on('error', done).on('close', done);
    socket.write(request);
  });
}
