import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NotPublicError, publicLookup } from './public-lookup.js';

const [A, AAAA] = [1, 28];
const NXDOMAIN = 3;
const QUESTION_AT = 12;

/** What the name server says of a name, as bytes of addresses by type; a name that is not here does not exist. */
const NAMES: Readonly<Record<string, Readonly<Record<number, readonly number[][]>> | 'silent'>> = {
  'public.example': { [A]: [[93, 184, 216, 34]], [AAAA]: [[0x26, 0x06, ...zeros(13), 1]] },
  'old.example': { [A]: [[93, 184, 216, 34]] },
  'new.example': { [AAAA]: [[0x26, 0x06, ...zeros(13), 1]] },
  'inside.example': { [A]: [[10, 0, 0, 9]] },
  'rebound.example': {
    [A]: [
      [93, 184, 216, 34],
      [127, 0, 0, 1],
    ],
  },
  'both.example': { [A]: [[93, 184, 216, 34]], [AAAA]: [[0xfd, ...zeros(14), 1]] },
  'silent.example': 'silent',
};

function zeros(count: number): number[] {
  return Array.from({ length: count }, () => 0);
}

/** The name and the end of the only question of a DNS message (RFC 1035, section 4.1.2). */
function questionOf(message: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = QUESTION_AT;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 5 };
}

function answerTo(message: Buffer): Buffer | undefined {
  const { name, end } = questionOf(message);
  const known = NAMES[name];
  if (known === 'silent') return undefined;
  const type = message.readUInt16BE(end - 4);
  const found = known?.[type] ?? [];
  const header = Buffer.alloc(QUESTION_AT);
  message.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (known === undefined ? NXDOMAIN : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(found.length, 6);
  const records = found.map((address) => {
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc000 | QUESTION_AT, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt16BE(address.length, 10);
    return Buffer.concat([record, Buffer.from(address)]);
  });
  return Buffer.concat([header, message.subarray(QUESTION_AT, end), ...records]);
}

describe('the look-up of a name that no operator has named', () => {
  const asked: string[] = [];
  let server: Socket;
  let lookup: ReturnType<typeof publicLookup>;
  beforeAll(async () => {
    server = createSocket('udp4', (message, { port, address }) => {
      asked.push(questionOf(message).name);
      const answer = answerTo(message);
      if (answer !== undefined) server.send(answer, port, address);
    });
    await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
    const resolver = new Resolver({ timeout: 100, tries: 1 });
    resolver.setServers([`127.0.0.1:${server.address().port}`]);
    lookup = publicLookup(resolver);
  });
  afterAll(() => {
    server.close();
  });

  const look = (name: string, all = true): Promise<unknown> =>
    new Promise((resolve, reject) => {
      lookup(name, { all }, (error, address, family) => {
        if (error !== null) reject(error);
        else resolve(all ? address : [address, family]);
      });
    });

  it('gives all addresses, or the first one', async () => {
    const [four, six] = [
      { address: '93.184.216.34', family: 4 },
      { address: '2606::1', family: 6 },
    ];
    expect(await look('public.example')).toEqual([four, six]);
    expect(await look('old.example')).toEqual([four]);
    expect(await look('new.example')).toEqual([six]);
    expect(await look('public.example', false)).toEqual(['93.184.216.34', 4]);
  });

  it.each(['inside.example', 'rebound.example', 'both.example'])(
    'gives none where one is not public: %s',
    async (name) => {
      await expect(look(name)).rejects.toBeInstanceOf(NotPublicError);
    },
  );

  it.each(['localhost', 'LOCALHOST', 'localhost.', 'a.localhost'])(
    'sends no question about a name of this machine: %s',
    async (name) => {
      asked.length = 0;
      await expect(look(name)).rejects.toBeInstanceOf(NotPublicError);
      expect(asked).toEqual([]);
    },
  );

  it('fails for a name that does not exist, and for one whose server is silent', async () => {
    await expect(look('missing.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(look('silent.example')).rejects.toMatchObject({ code: 'ETIMEOUT' });
  });
});
