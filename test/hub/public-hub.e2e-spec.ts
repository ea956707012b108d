import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Hub, HubWorld, type Stored } from '../support/hub-world.js';

const LLAMAS = 'Here is a story about llamas eating grass';
const LLAMAS_SHA256 = 'cd6cb9d172fcea669d956e64343753338edb5b1c4ae914c015220de7ce8ae95b';
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const refusal = (Message: unknown): object => ({ Type: 'hub', Message });

describe('a public hub', () => {
  let world: HubWorld;
  let hub: Hub;

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub();
  });
  afterAll(() => world.stop());

  describe('upload', () => {
    it('takes what curl -d sends, and says where it lies', async () => {
      const body = `{"id":"test1","owner":"0xabcd","message":"${LLAMAS}"}`;
      const first = await hub.post('/api/upload', body);
      expect(first.status).toBe(200);
      expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(first.json).toEqual({ File: '0xabcd/2280956532.log', Start: 0, Size: 41 });
      const second = await hub.upload(
        { id: 'test2', owner: '0xabcd', message: 'Your content here' },
        { 'content-type': 'application/json' },
      );
      expect(second.json).toEqual({ File: '0xabcd/2280956532.log', Start: 62, Size: 17 });
      expect(await hub.store('0xabcd', 'test3', 'x')).toMatchObject({ Start: 93, Size: 1 });
    });

    it('puts the payload where it says, and nothing but padding between', () => {
      const volume = readFileSync(join(world.dir, 'volumes/0xabcd/2280956532.vol'));
      expect(volume.length % 31).toBe(0);
      expect(volume.toString('utf8', 0, 41)).toBe(LLAMAS);
      expect(volume.subarray(41, 62).every((byte) => byte === 0)).toBe(true);
      expect(volume.toString('utf8', 62, 79)).toBe('Your content here');
    });

    it('knows fields in any case, and keeps a message byte for byte', async () => {
      const capital = { Owner: 'caps', Bucket: 'b', ID: 'i', Message: 'm' };
      expect((await hub.upload(capital)).status).toBe(200);
      const odd = 'a=1&b=2%20+c';
      expect(await hub.store('0xabcd', 'odd', odd)).toMatchObject({ Size: 12 });
      expect((await hub.download('0xabcd', 'odd')).text).toBe(odd);
      expect(await hub.store('0xabcd', 'utf8', 'héllo✓')).toMatchObject({ Size: 9 });
      expect((await hub.download('0xabcd', 'utf8')).text).toBe('héllo✓');
    });

    it('finds the bucket in the message, and gives each owner buckets of its own', async () => {
      const message = '{"name":"agent9527","content":"hi"}';
      for (const owner of ['alice', 'bob']) {
        expect((await hub.upload({ owner, id: 'm', message })).status).toBe(200);
        const { json } = await hub.get(`/api/listBucket?owner=${owner}`);
        expect(json).toMatchObject([{ Name: 'agent9527', Owner: owner }]);
      }
    });

    it.each([
      ['an empty body', '', 'EOF'],
      ['a cut-off body', '{"owner":"o"', 'unexpected EOF'],
      ['what is not JSON', '{bad', expect.stringContaining('invalid character')],
      ['a list', '[]', expect.stringContaining('array')],
      ['no id', '{"owner":"o","message":"m"}', expect.stringMatching(/ID.*required/)],
      ['a number', '{"owner":"o","id":"i","message":5}', expect.stringContaining('number')],
      ['an object', '{"owner":"o","id":"i","message":{}}', expect.stringContaining('object')],
    ])('refuses %s in the words of the original', async (_what, body, message) => {
      const { status, json } = await hub.post('/api/upload', body);
      expect(status).toBe(400);
      expect(json).toEqual(refusal(message));
    });

    it('answers a body over the limit, and takes one just under it', async () => {
      const over = await hub.upload({ owner: 'o', id: 'big', message: 'x'.repeat(5_242_880) });
      expect(over.status).toBe(413);
      expect(over.json).toEqual(refusal('http: request body too large'));
      const message = randomBytes(1_500_000).toString('hex');
      const stored = await hub.store('o', 'big', message);
      expect(stored.Size).toBe(3_000_000);
      expect((await hub.download('o', 'big')).text).toBe(message);
    });

    it('reads the newest of one id', async () => {
      const first = await hub.store('twice', 'same', 'first');
      const second = await hub.store('twice', 'same', 'second');
      expect(second.Start).not.toBe(first.Start);
      expect((await hub.download('twice', 'same')).text).toBe('second');
    });

    it('takes an address in any case for one owner', async () => {
      const address = '0x6370eF2f4Db3611D657b90667De398a2Cc2a370C';
      const stored = await hub.store(address, 'mine', 'by checksum');
      expect(stored.File).toBe(`${address.toLowerCase()}/1340837759.log`);
      expect((await hub.download(address.toLowerCase(), 'mine')).text).toBe('by checksum');
      await hub.store(address.toLowerCase(), 'too', 'by lower case');
      expect((await hub.download(address, 'too')).text).toBe('by lower case');
    });

    it('keeps strange owners apart and inside its folder', async () => {
      const owners = [
        '../x',
        '../../etc',
        'a/b',
        'a',
        '.',
        'con',
        'A',
        '\0',
        'x'.repeat(250),
        '%2e',
      ];
      for (const owner of owners) await hub.store(owner, 'c', `of ${owner}`);
      for (const owner of owners) {
        expect((await hub.download(owner, 'c')).text).toBe(`of ${owner}`);
      }
      await hub.store('a', 'b/c', 'one');
      await hub.store('a/b', 'c', 'two');
      expect((await hub.download('a', 'b/c')).text).toBe('one');
      expect((await hub.upload({ owner: 'o'.repeat(257), id: 'i', message: 'm' })).status).toBe(
        400,
      );
      const folders = readdirSync(join(world.dir, 'volumes'));
      expect(folders.every((name) => /^(0x[0-9a-f]+|sha256-[0-9a-f]{64})$/.test(name))).toBe(true);
      expect(existsSync(join(world.dir, '..', 'x'))).toBe(false);
    });

    it('gives parallel uploads places that do not overlap', async () => {
      const stored = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          hub.store('many', `n${index}`, 'm'.repeat(index * 7 + 1)),
        ),
      );
      const ranges = stored.map(({ Start, Size }) => [Start, Start + Math.ceil(Size / 31) * 31]);
      ranges.sort(([a = 0], [b = 0]) => a - b);
      ranges.forEach(([start], index) => {
        if (index > 0) expect(start).toBe(ranges[index - 1]?.[1]);
      });
      for (const index of stored.keys()) {
        expect((await hub.download('many', `n${index}`)).bytes.length).toBe(index * 7 + 1);
      }
    });

    it('goes on in the next volume when one is full', async () => {
      const message = 'x'.repeat(4_000_000);
      const numbers = (stored: Stored): number => Number(/(\d+)\.log$/.exec(stored.File)?.[1]);
      const first = await hub.store('full', 'v0', message);
      let last = first;
      for (let index = 1; index <= 8; index += 1)
        last = await hub.store('full', `v${index}`, message);
      expect(numbers(last)).toBe(numbers(first));
      const next = await hub.store('full', 'next', 'small');
      expect(next).toMatchObject({ Start: 0, Size: 5 });
      expect(numbers(next)).toBe(numbers(first) + 1);
    });
  });

  describe('download', () => {
    const path = '/api/download?name=test1&owner=0xabcd';

    it('hands out the bytes', async () => {
      const { status, bytes, headers } = await hub.get(path, { accept: '*/*' });
      expect(status).toBe(200);
      expect(sha256(bytes)).toBe(LLAMAS_SHA256);
      expect(headers.get('content-type')).toMatch(/^text\/plain/);
      expect(headers.get('content-length')).toBe('41');
      expect(headers.get('content-disposition')).toBe('attachment; filename="test1"');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('vary')).toBe('Accept');
      expect(headers.get('etag')).toBe(`"${LLAMAS_SHA256}"`);
    });

    it.each([
      ['a form with id', 'id=test1&owner=0xabcd', {}],
      ['a form with name', 'name=test1&owner=0xabcd', {}],
      ['membase-js', 'id=test1&owner=0xabcd', { accept: 'application/json' }],
    ])('hands them out to %s', async (_who, body, headers) => {
      expect(sha256((await hub.post('/api/download', body, headers)).bytes)).toBe(LLAMAS_SHA256);
    });

    it('shows the descriptor to who asks for it, and to nobody else', async () => {
      const descriptor = { File: '0xabcd/2280956532.log', Start: 0, Size: 41 };
      const axios = 'application/json, text/plain, */*';
      for (const [query, accept, isShown] of [
        ['', 'application/json', true],
        ['', axios, false],
        ['', BROWSER, true],
        ['&download=1', BROWSER, false],
        ['&display=json', '*/*', true],
        ['', 'text/plain', false],
      ] as const) {
        const answer = await hub.get(path + query, { accept });
        expect([query, accept, answer.headers.get('vary')]).toEqual([query, accept, 'Accept']);
        if (isShown) expect(answer.json).toEqual(descriptor);
        else expect(answer.text).toBe(LLAMAS);
      }
    });

    it.each([
      ['image/png', 'inline; filename="typed"'],
      ['text/html', 'attachment; filename="typed"'],
      ['Image/SVG+xml; charset=utf-8', 'attachment; filename="typed"'],
    ])('sends %s as that, and in place only what runs nothing', async (type, how) => {
      const fields = { owner: 'types', id: 'typed', message: '<script>', contentType: type };
      expect((await hub.upload(fields)).status).toBe(200);
      const form = new FormData();
      form.set('owner', 'types');
      form.set('contentType', type);
      form.set('file', new Blob(['<script>'], { type: 'text/javascript' }), 'typed');
      for (const store of [() => hub.upload(fields), () => hub.post('/api/uploadData', form)]) {
        expect((await store()).status).toBe(200);
        const { headers } = await hub.get('/api/download?owner=types&name=typed');
        expect(headers.get('content-type')).toBe(type.toLowerCase().split(';')[0]);
        expect(headers.get('content-disposition')).toBe(how);
        expect(headers.get('x-content-type-options')).toBe('nosniff');
        expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
      }
    });

    it('takes no type that could end a header, and leaves that of a part aside', async () => {
      const fields = { owner: 'types', id: 'other', message: 'x' };
      for (const contentType of ['text', 'text/plain\r\nX: y', 'a/'.padEnd(200, 'b')]) {
        expect((await hub.upload({ ...fields, contentType })).status).toBe(400);
      }
      const part = await hub.sendFile('types', 'part', new Uint8Array([60, 98, 62]));
      expect(part.status).toBe(200);
      const { headers } = await hub.get('/api/download?owner=types&name=part');
      expect(headers.get('content-type')).toBe('text/plain');
    });

    it('finds the newest of any owner when none is named', async () => {
      await hub.store('elsewhere', 'test1', 'newer');
      expect((await hub.get('/api/download?name=test1')).text).toBe('newer');
    });

    it('says what it has not', async () => {
      const miss = await hub.get('/api/download?name=nope&owner=0xabcd');
      expect(miss.status).toBe(404);
      expect(miss.json).toEqual(refusal('no such file: nope at 0xabcd'));
    });

    it('serves ranges, and nothing twice', async () => {
      const part = await hub.get(path, { range: 'bytes=5-8' });
      expect([part.status, part.text]).toEqual([206, 'is a']);
      expect(part.headers.get('content-range')).toBe('bytes 5-8/41');
      expect((await hub.get(path, { range: 'bytes=-5' })).text).toBe('grass');
      expect((await hub.get(path, { range: 'bytes=36-' })).text).toBe('grass');
      const beyond = await hub.get(path, { range: 'bytes=41-' });
      expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */41']);
      const again = await hub.get(path, { 'if-none-match': `"${LLAMAS_SHA256}"` });
      expect([again.status, again.bytes.length]).toEqual([304, 0]);
      const changed = { range: 'bytes=0-3', 'if-range': '"other"' };
      expect((await hub.get(path, changed)).status).toBe(200);
      const head = await hub.ask(path, { method: 'HEAD' });
      expect([head.status, head.headers.get('content-length')]).toEqual([200, '41']);
    });

    it('names files of any name in one well-formed header', async () => {
      const ids = ['qu"ote', 'cr\r\nSet-Cookie: a=b', 'é', '🦙', 'n'.repeat(300), 'a;b%c\\d'];
      for (const id of ids) {
        await hub.store('names', id, 'named');
        const { status, text, headers } = await hub.download('names', id);
        expect([status, text]).toEqual([200, 'named']);
        expect(headers.get('set-cookie')).toBeNull();
        expect(headers.get('content-disposition')).toMatch(
          /^attachment; filename="[\x20-\x7e]{1,255}"(; filename\*=UTF-8''[\w!#$&+.^`|~%-]+)?$/,
        );
      }
      const { headers } = await hub.download('names', 'é');
      expect(headers.get('content-disposition')).toBe(
        `attachment; filename="_"; filename*=UTF-8''%C3%A9`,
      );
    });

    it('notices damage, and hands out none of it', async () => {
      await hub.store('damaged', 'd', 'as it was');
      const [folder = ''] = readdirSync(join(world.dir, 'volumes')).filter(
        (name) => name === `sha256-${sha256(Buffer.from('damaged'))}`,
      );
      const [file = ''] = readdirSync(join(world.dir, 'volumes', folder));
      const path = join(world.dir, 'volumes', folder, file);
      const { writeFileSync } = await import('node:fs');
      writeFileSync(path, readFileSync(path).fill(0x2a, 0, 2));
      const { status, text } = await hub.download('damaged', 'd');
      expect(status).toBe(500);
      expect(text).not.toContain('it was');
    });
  });

  describe('uploadData', () => {
    it('keeps a file as it is', async () => {
      const bytes = Buffer.from([0x00, 0xff, 0x0a]);
      const { status, json } = await hub.sendFile('0xabcd', 'f.bin', bytes);
      expect([status, json]).toMatchObject([200, { Size: 3 }]);
      expect((await hub.download('0xabcd', 'f.bin')).bytes).toEqual(bytes);
    });

    it('streams a long one to a volume of its own', async () => {
      const bytes = randomBytes(9_000_000);
      const { json } = await hub.sendFile('long', 'file', bytes);
      expect(json).toMatchObject({ Start: 0, Size: 9_000_000 });
      const { bytes: back } = await hub.download('long', 'file');
      expect(sha256(back)).toBe(sha256(bytes));
      const range = { range: 'bytes=1048570-3145740' };
      const { bytes: part } = await hub.download('long', 'file', range);
      expect(sha256(part)).toBe(sha256(bytes.subarray(1_048_570, 3_145_741)));
      expect(readdirSync(join(world.dir, 'spool'))).toEqual([]);
    });

    it('refuses what is no file, and a file too many', async () => {
      const form = new FormData();
      form.set('owner', 'o');
      const none = await hub.post('/api/uploadData', form);
      expect([none.status, none.json]).toEqual([400, refusal('http: no such file')]);
      const empty = await hub.sendFile('o', 'f', Buffer.alloc(0));
      expect([empty.status, empty.json]).toEqual([400, refusal('empty file')]);
      const ownerless = new FormData();
      ownerless.set('file', new Blob(['x']), 'f');
      const nobody = await hub.post('/api/uploadData', ownerless);
      expect([nobody.status, nobody.json]).toEqual([400, refusal('owner is required')]);
      expect((await hub.post('/api/uploadData', 'no form')).status).toBe(400);
      const torn = await hub.post(
        '/api/uploadData',
        '--x\r\nContent-Disposition: form-data; name="f',
        {
          'content-type': 'multipart/form-data; boundary=x',
        },
      );
      expect(torn.status).toBe(400);
      const head = 'Content-Disposition: form-data; name="file"; filename="torn"';
      const inside = await hub.post('/api/uploadData', `--x\r\n${head}\r\n\r\nhalf of i`, {
        'content-type': 'multipart/form-data; boundary=x',
      });
      expect([inside.status, inside.json]).toEqual([400, refusal('multipart: NextPart: EOF')]);
    });

    it('takes its fields after its file, too', async () => {
      const form = new FormData();
      form.set('file', new Blob(['late']), 'late.txt');
      form.set('owner', 'later');
      expect((await hub.post('/api/uploadData', form)).status).toBe(200);
      expect((await hub.download('later', 'late.txt')).text).toBe('late');
    });
  });

  describe('conversation', () => {
    beforeAll(async () => {
      for (const id of ['c1_0', 'c1_1', 'c1_2', 'cx1_0', 'c_1_0', 'c1_10']) {
        await hub.store('talker', id, `text of ${id}`);
      }
    });

    it('is null for an owner without any', async () => {
      const { status, text } = await hub.post('/api/conversation', 'owner=nobody');
      expect([status, text]).toEqual([200, 'null']);
    });

    it('lists ids and texts, by number and without strangers', async () => {
      const ids = await hub.post('/api/conversation', 'owner=talker');
      expect(ids.json).toEqual(['c_1', 'cx1', 'c1']);
      const texts = ['c1_0', 'c1_1', 'c1_2', 'c1_10'].map((id) => `text of ${id}`);
      expect((await hub.post('/api/conversation', 'owner=talker&id=c1')).json).toEqual(texts);
      expect((await hub.get('/api/conversation?owner=talker&name=c1')).json).toEqual(texts);
      const page = await hub.post('/api/conversation', 'owner=talker&id=c1&offset=1&length=1');
      expect(page.json).toEqual([texts[1]]);
      const other = await hub.post('/api/conversation', 'owner=talker&id=c_1');
      expect(other.json).toEqual(['text of c_1_0']);
      expect((await hub.post('/api/conversation', 'owner=talker&id=none')).text).toBe('[]');
    });

    it('has a rewritten member once, where it was', async () => {
      await hub.store('writer', 'c_0', 'a');
      await hub.store('writer', 'c_1', 'b');
      await hub.store('writer', 'c_0', 'A');
      expect((await hub.post('/api/conversation', 'owner=writer&id=c')).json).toEqual(['A', 'b']);
    });
  });

  describe('the rest', () => {
    it('describes itself, and answers balancers and browsers', async () => {
      expect((await hub.get('/api/info')).json).toMatchObject({ Type: 'hub' });
      expect((await hub.ask('/', { method: 'HEAD' })).status).toBe(200);
      const preflight = await hub.ask('/api/upload', {
        method: 'OPTIONS',
        headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
      });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
      expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');
    });

    it('lists owners, payloads, volumes and conversations', async () => {
      await hub.store('lister', 'l_0', 'one');
      await hub.store('lister', 'l_1', 'four');
      const accounts = await hub.ask('/api/listAccount', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      });
      expect(accounts.status).toBe(200);
      expect(accounts.json).toContainEqual(expect.objectContaining({ Name: 'lister' }));
      expect((await hub.post('/api/listNeedle', 'owner=lister')).json).toMatchObject([
        { Name: 'l_1', Owner: 'lister', Bucket: 'lister', Start: 31, Size: 4 },
        { Name: 'l_0', Start: 0, Size: 3 },
      ]);
      expect((await hub.post('/api/listNeedle', 'name=l_1')).json).toMatchObject([{ Size: 4 }]);
      expect((await hub.get('/api/listNeedle?length=1')).json).toMatchObject([{ Name: 'l_1' }]);
      expect((await hub.get('/api/listVolume?owner=lister')).json).toHaveLength(1);
      expect((await hub.get('/api/listConversation?owner=lister')).json).toMatchObject([
        { Name: 'l', Count: 2 },
      ]);
    });

    it('removes nothing', async () => {
      const answer = await hub.ask('/api/object?owner=lister&name=l_0', { method: 'DELETE' });
      expect(answer.status).toBe(403);
    });

    it('is healthy only while its storage is', async () => {
      const { status, json } = await hub.get('/health');
      expect([status, json]).toMatchObject([200, { details: { hub: { status: 'up' } } }]);
    });
  });
});

describe('a hub with the original statuses', () => {
  let world: HubWorld;
  let hub: Hub;

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub({
      HUB_LEGACY_STATUS: 'true',
      RATE_LIMIT_HUB: '2',
      HUB_QUOTA_BYTES: '100',
    });
  });
  afterAll(() => world.stop());

  it('says 599 for all of them, and keeps owners to their rate and quota', async () => {
    expect((await hub.get('/api/download?name=nope&owner=a')).status).toBe(599);
    const full = await hub.upload({ owner: 'b', id: 'i', message: 'x'.repeat(101) });
    expect([full.status, full.json]).toEqual([
      403,
      refusal('quota exceeded: 0 of 100 bytes are used'),
    ]);
    // A burst is two seconds' worth.
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => hub.post('/api/upload', '')),
    );
    for (const answer of answers) {
      expect(answer.headers.get('ratelimit-limit')).toBe('4');
      if (answer.status === 429) {
        expect(answer.json).toEqual(refusal('rate limit exceeded'));
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      }
    }
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].sort()).toEqual([429, 599]);
  });
});
