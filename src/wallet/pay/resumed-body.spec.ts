import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { FetchError, type OpenAnswer } from '../../platform/fetch/safe-fetch.js';
import { type ExpectedFile, ResumedBody } from './resumed-body.js';

const FILE = randomBytes(10_000);
const OTHER = randomBytes(10_000);
const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const ETAG = '"one"';

interface Part {
  readonly status?: number;
  readonly from?: number;
  /** Where the connection breaks off; the end if absent. */
  readonly to?: number;
  readonly file?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends without an error, as a server that closes in good order. */
  readonly isQuiet?: boolean;
}

function answerOf({ status = 200, from = 0, to, file = FILE, headers, isQuiet }: Part): OpenAnswer {
  const range = { 'content-range': `bytes ${from}-${file.length - 1}/${file.length}` };
  async function* body(): AsyncGenerator<Buffer> {
    await Promise.resolve();
    for (let at = from; at < (to ?? file.length); at += 1000) {
      yield file.subarray(at, Math.min(at + 1000, to ?? file.length));
    }
    if (to !== undefined && isQuiet !== true) throw new FetchError('fetch_failed', 'cut');
  }
  return {
    url: 'http://x/file',
    status,
    body: body(),
    headers: {
      etag: ETAG,
      'content-length': String(file.length - from),
      ...(status === 206 && range),
      ...headers,
    },
    start: () => Promise.resolve({ body: Buffer.alloc(0), isCutOff: false }),
  };
}

interface Read {
  readonly bytes: Buffer;
  readonly sha256: string;
  /** What the server was asked for, after the first time. */
  readonly asked: readonly (string | undefined)[];
}

async function read(
  parts: readonly (Part | 'unreachable')[],
  expected: ExpectedFile = {},
  maxBytes = 1_000_000,
): Promise<Read> {
  const [first, ...rest] = parts;
  const asked: (string | undefined)[] = [];
  const body = new ResumedBody({
    first: answerOf(first === 'unreachable' ? {} : (first ?? {})),
    again: ({ range }) => {
      asked.push(range);
      const part = rest.shift() ?? 'unreachable';
      return part === 'unreachable'
        ? Promise.reject(new FetchError('fetch_failed', 'away'))
        : Promise.resolve(answerOf(part));
    },
    expected,
    maxBytes,
    signal: AbortSignal.timeout(10_000),
    pauseMs: 1,
  });
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return { bytes: Buffer.concat(chunks), sha256: body.sha256(), asked };
}

describe('a body that is resumed', () => {
  it('is what came, where nothing breaks', async () => {
    const { bytes, sha256, asked } = await read([{}]);
    expect([bytes.equals(FILE), sha256, asked]).toEqual([true, sha256Of(FILE), []]);
  });

  it('goes on by a range where its connection broke off, as often as it does', async () => {
    const { bytes, asked } = await read([
      { to: 2500 },
      { status: 206, from: 2500, to: 2500 },
      'unreachable',
      { status: 503 },
      { status: 206, from: 2500, to: 9999, isQuiet: true },
      { status: 206, from: 9999 },
    ]);
    expect(bytes.equals(FILE)).toBe(true);
    expect(asked).toEqual([...Array<string>(4).fill('bytes=2500-'), 'bytes=9999-']);
  });

  it('is read again from its beginning where the server knows no ranges', async () => {
    const { bytes } = await read([{ to: 2500 }, { to: 1200 }, {}]);
    expect(bytes.equals(FILE)).toBe(true);
  });

  it('goes on without a name of its content, once its SHA-256 is expected', async () => {
    const plain = { headers: { etag: 'W/"weak"' } };
    const parts = [
      { ...plain, to: 2500 },
      { ...plain, status: 206, from: 2500 },
    ];
    const { bytes } = await read(parts, { sha256: sha256Of(FILE) });
    expect(bytes.equals(FILE)).toBe(true);
    await expect(read(parts)).rejects.toThrow('closed the connection');
  });

  it.each<readonly [string, readonly (Part | 'unreachable')[], ExpectedFile, RegExp]>([
    [
      'that is another by its SHA-256',
      [{ file: OTHER }],
      { sha256: sha256Of(FILE) },
      /another file than/,
    ],
    ['that is shorter than was offered', [{}], { size: 10_001 }, /another file than/],
    ['that changed meanwhile', [{ to: 9 }, { headers: { etag: '"two"' } }], {}, /changed the file/],
    ['whose range is another', [{ to: 9 }, { status: 206, from: 8 }], {}, /changed the file/],
    ['that is not given any more', [{ to: 9 }, { status: 402 }], {}, /closed the connection/],
    ['whose server never comes back', [{ to: 9 }], {}, /closed the connection/],
    ['that sends more than it says', [{ headers: { 'content-length': '9999' } }], {}, /larger/],
    ['mixed of two', [{ to: 9 }, { file: OTHER }], { sha256: sha256Of(FILE) }, /another file than/],
  ])('never ends as if it were whole: a file %s', async (_, parts, expected, why) => {
    await expect(read(parts, expected)).rejects.toThrow(why);
  });

  it('is not resumed for ever, though each time a byte comes', async () => {
    const rest = Array.from({ length: 200 }, (_, at) => ({
      status: 206,
      from: at + 1,
      to: at + 2,
    }));
    const asked: number[] = [];
    const parts = rest.map((part) => ({
      ...part,
      get to() {
        asked.push(part.from);
        return part.to;
      },
    }));
    await expect(read([{ to: 1 }, ...parts])).rejects.toThrow('closed the connection');
    expect(new Set(asked).size).toBe(64);
  });

  it('ends where it gets larger than is saved', async () => {
    await expect(read([{}], {}, 9999)).rejects.toThrow('larger');
  });
});
