import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PrivateKeyAccount } from 'viem/accounts';
import { goSignature } from '../support/go-signature.js';
import { eventually } from '../support/http.js';
import { type GivenHeaders, type Hub, type HubAnswer, HubWorld } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { strictHeaders } from '../support/strict-signature.js';

interface Listed {
  readonly objects: readonly { readonly key: string; readonly bucket: string }[];
  readonly nextCursor: string;
  readonly total?: number;
}
interface BucketList {
  readonly buckets: readonly { readonly Name: string; readonly Kind: string }[];
  readonly nextCursor: string;
  readonly total?: number;
}

const refusal = (Message: unknown): object => ({ Type: 'hub', Message });
const pathOf = (bucket: string, key?: string): string =>
  `/v1/buckets/${encodeURIComponent(bucket)}` +
  (key === undefined ? '' : `/objects/${encodeURIComponent(key)}`);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A client of `/v1` who signs as da-sdk-go does, and names no owner. */
class V1Client {
  constructor(
    private readonly hub: Hub,
    readonly account: PrivateKeyAccount,
  ) {}

  get owner(): string {
    return this.account.address.toLowerCase();
  }

  async ask(method: string, path: string, body?: string | FormData): Promise<HubAnswer> {
    const headers: GivenHeaders = await goSignature(this.account);
    return this.hub.ask(path, { method, headers, ...(body !== undefined && { body }) });
  }

  make(bucket: string, kind?: string): Promise<HubAnswer> {
    return this.ask(
      'PUT',
      pathOf(bucket),
      kind === undefined ? undefined : JSON.stringify({ kind }),
    );
  }

  put(bucket: string, key: string, text: string): Promise<HubAnswer> {
    return this.ask('PUT', pathOf(bucket, key), text);
  }

  async list(query = '', bucket?: string): Promise<Listed> {
    const path = bucket === undefined ? '/v1/objects' : `${pathOf(bucket)}/objects`;
    const { status, json } = await this.ask('GET', path + query);
    expect(status).toBe(200);
    return json as Listed;
  }

  async buckets(query = ''): Promise<BucketList> {
    const { status, json } = await this.ask('GET', `/v1/buckets${query}`);
    expect(status).toBe(200);
    return json as BucketList;
  }
}

describe('/v1 of a private hub', () => {
  let world: HubWorld;
  let hub: Hub;
  let me: V1Client;
  let stranger: V1Client;

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub({ HUB_MODE: 'private', HUB_AUTH: 'compatible' });
    me = new V1Client(hub, newAccount());
    stranger = new V1Client(hub, newAccount());
  });
  afterAll(() => world.stop());

  it('makes a bucket once, keeps it while it is empty, and keeps its kind', async () => {
    const made = await me.make('empty', 'dataset');
    expect([made.status, made.json]).toEqual([
      201,
      { bucket: 'empty', owner: me.owner, kind: 'dataset', created: true },
    ]);
    const again = await me.make('empty', 'dataset');
    expect([again.status, again.json]).toMatchObject([200, { created: false }]);
    const other = await me.make('empty');
    expect([other.status, other.json]).toEqual([
      409,
      refusal('bucket kind is immutable (dataset); cannot change to memory'),
    ]);
    expect((await me.make('wrong', 'picture')).status).toBe(400);
    expect((await me.ask('PUT', pathOf('wrong'), '[1')).status).toBe(400);
    const { buckets, nextCursor } = await me.buckets();
    expect(buckets).toEqual([expect.objectContaining({ Name: 'empty', Kind: 'dataset' })]);
    expect(nextCursor).toBe('');
    const one = await me.ask('GET', pathOf('empty'));
    expect([one.status, one.json]).toMatchObject([200, { bucket: 'empty', kind: 'dataset' }]);
    // The older routes show it, too.
    const listed = await me.ask('GET', `/api/listBucket?owner=${me.owner}`);
    expect(listed.json).toEqual([expect.objectContaining({ Name: 'empty', Kind: 'dataset' })]);
  });

  it('stores, lists and serves objects, which the older routes know as files', async () => {
    await me.make('notes');
    const stored = await me.put('notes', 'a/b c', 'some bytes');
    expect([stored.status, stored.json]).toMatchObject([
      202,
      {
        bucket: 'notes',
        key: 'a/b c',
        size: 10,
        sha256: sha256('some bytes'),
        status: 'staged',
        availability: 'pending',
      },
    ]);
    const receipt = await me.ask('GET', pathOf('notes', 'a/b c'));
    expect([receipt.status, receipt.json]).toEqual([200, stored.json]);
    const content = await me.ask('GET', `${pathOf('notes', 'a/b c')}/content`);
    expect([content.status, content.text]).toEqual([200, 'some bytes']);
    // A fetch of a text names its type.
    expect(content.headers.get('content-type')).toBe('text/plain');
    const old = await me.ask('GET', `/api/download?name=${encodeURIComponent('a/b c')}`);
    expect(old.text).toBe('some bytes');
    const [first] = (await me.list('', 'notes')).objects;
    expect(first).toEqual(stored.json);
    const elsewhere = await me.ask('GET', pathOf('empty', 'a/b c'));
    expect([elsewhere.status, elsewhere.json]).toEqual([
      404,
      refusal('no such object empty/a/b c'),
    ]);
    // A key of one owner is in one bucket: to move it silently would lose it in the other.
    const moved = await me.put('empty', 'a/b c', 'other');
    expect([moved.status, moved.json]).toEqual([
      409,
      refusal('the key belongs to another bucket: notes'),
    ]);
    expect((await me.put('nowhere', 'x', 'y')).status).toBe(404);
    expect((await me.put('notes', 'x', '')).status).toBe(400);
  });

  it('takes a form of files as a whole, or none of it', async () => {
    await me.make('form', 'file');
    const formOf = (files: Readonly<Record<string, string>>): FormData => {
      const form = new FormData();
      for (const [name, text] of Object.entries(files))
        form.append('files', new Blob([text]), name);
      return form;
    };
    const path = `${pathOf('form')}/objects`;
    const stored = await me.ask('POST', path, formOf({ 'one.txt': 'one', 'two.txt': 'zwei' }));
    expect([stored.status, stored.json]).toMatchObject([
      202,
      {
        objects: [
          { key: 'one.txt', size: 3 },
          { key: 'two.txt', size: 4 },
        ],
      },
    ]);
    const broken = await me.ask('POST', path, formOf({ 'three.txt': 'three', 'none.txt': '' }));
    expect([broken.status, broken.json]).toEqual([400, refusal('empty file: none.txt')]);
    const twice = formOf({ 'four.txt': 'x' });
    twice.append('files', new Blob(['y']), 'four.txt');
    expect((await me.ask('POST', path, twice)).status).toBe(400);
    expect((await me.ask('POST', path, formOf({}))).status).toBe(400);
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`many${at}`, 'x']));
    expect((await me.ask('POST', path, formOf(many))).status).toBe(400);
    await me.make('elsewhere', 'file');
    expect((await me.put('elsewhere', 'taken.txt', 'x')).status).toBe(202);
    // A name that is too long, and a key of another bucket.
    for (const refused of ['n'.repeat(5000), 'taken.txt']) {
      const mixed = await me.ask('POST', path, formOf({ 'five.txt': 'five', [refused]: 'x' }));
      expect([400, 409]).toContain(mixed.status);
    }
    expect((await me.ask('DELETE', pathOf('elsewhere'))).status).toBe(200);
    expect((await me.list('', 'form')).objects.map(({ key }) => key).sort()).toEqual([
      'one.txt',
      'two.txt',
    ]);
  });

  it('reads a form that is bound to its signature only when it is the one that was signed', async () => {
    const path = `${pathOf('form')}/objects`;
    const boundary = 'a-boundary';
    const bodyOf = (text: string): string =>
      `--${boundary}\r\nContent-Disposition: form-data; name="files"; filename="signed.txt"\r\n\r\n${text}\r\n--${boundary}--\r\n`;
    const send = async (text: string): Promise<HubAnswer> => {
      const signed = await strictHeaders(me.account, {
        method: 'POST',
        path,
        body: bodyOf('mine'),
      });
      const headers = { ...signed, 'content-type': `multipart/form-data; boundary=${boundary}` };
      return hub.ask(path, { method: 'POST', headers, body: bodyOf(text) });
    };
    expect((await send('theirs')).status).toBe(401);
    expect((await me.ask('GET', pathOf('form', 'signed.txt'))).status).toBe(404);
    expect((await send('mine')).status).toBe(202);
  });

  it('lists in pages that end, whatever is asked for', async () => {
    await me.make('pages');
    for (let at = 0; at < 7; at += 1) await me.put('pages', `p${at}`, `no. ${at}`);
    const seen: string[] = [];
    let cursor = '';
    for (let turn = 0; turn < 10; turn += 1) {
      const page = await me.list(`?limit=3&cursor=${cursor}&withTotal=1`, 'pages');
      expect(page.total).toBe(7);
      seen.push(...page.objects.map(({ key }) => key));
      cursor = page.nextCursor;
      if (cursor === '') break;
    }
    expect(seen).toEqual(['p6', 'p5', 'p4', 'p3', 'p2', 'p1', 'p0']);
    const behind = await me.list('?offset=5&limit=100', 'pages');
    expect([behind.objects.map(({ key }) => key), behind.nextCursor]).toEqual([['p1', 'p0'], '']);
    for (const limit of ['0', '101', '-1', '1e9', 'NaN', '99999999999999999999']) {
      const { objects } = await me.list(`?limit=${limit}`, 'pages');
      expect(objects).toHaveLength(7);
    }
    for (const wrong of ['cursor=7', 'cursor=7-%2e%2e%2f', 'offset=-1', 'offset=x']) {
      expect((await me.ask('GET', `/v1/objects?${wrong}`)).status).toBe(400);
    }
    for (let at = 0; at < 5; at += 1) await me.make(`model${at}`, 'model');
    const models: string[] = [];
    cursor = '';
    for (let turn = 0; turn < 10; turn += 1) {
      const page = await me.buckets(`?kind=model&limit=2&cursor=${cursor}`);
      models.push(...page.buckets.map(({ Name }) => Name));
      cursor = page.nextCursor;
      if (cursor === '') break;
    }
    expect(models).toEqual(['model4', 'model3', 'model2', 'model1', 'model0']);
  });

  it('keeps names apart that look alike, or like something else', async () => {
    const names = [
      '__proto__',
      'constructor',
      '../../etc',
      'a/b',
      'a%2Fb',
      'é✓',
      'a:b',
      '~hash',
      'x'.repeat(256),
    ];
    for (const name of names) {
      expect([name, (await me.make(name, 'file')).status]).toEqual([name, 201]);
      expect((await me.put(name, `file ${names.indexOf(name)}`, name)).status).toBe(202);
    }
    for (const name of names) {
      const { objects } = await me.list('', name);
      expect(objects.map(({ key, bucket }) => [key, bucket])).toEqual([
        [`file ${names.indexOf(name)}`, name],
      ]);
    }
    const listed: string[] = [];
    let cursor = '';
    do {
      const page = await me.buckets(`?kind=file&limit=3&cursor=${cursor}`);
      listed.push(...page.buckets.map(({ Name }) => Name));
      cursor = page.nextCursor;
    } while (cursor !== '');
    expect(listed).toEqual([...names.toReversed(), 'form']);
    const long = await me.make('x'.repeat(1024));
    expect([long.status, long.json]).toEqual([
      400,
      refusal('bucket is longer than 256 bytes of JSON'),
    ]);
    expect((await me.put('notes', 'k'.repeat(1024), 'x')).status).toBe(400);
    expect((await me.ask('GET', pathOf('x'.repeat(1024)))).status).toBe(404);
  });

  it('answers a path that cannot be decoded, and a traversal, as no such thing', async () => {
    const headers = await goSignature(me.account);
    /** As it stands: `fetch` would take dots away. */
    const statusOf = (path: string, method = 'GET'): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        httpRequest(`${hub.url}/`, { path, method, headers }, (answer) => {
          answer.resume().on('end', () => {
            resolve(answer.statusCode);
          });
        })
          .on('error', reject)
          .end();
      });
    for (const path of ['/v1/buckets/%', '/v1/buckets/%ff/objects/%ff']) {
      expect([path, await statusOf(path)]).toEqual([path, 400]);
    }
    for (const path of [
      '/v1/buckets/notes/../../../etc/passwd',
      '/v1/buckets/notes/objects/../../secret/content',
      '/v1/buckets//objects',
    ]) {
      expect([path, await statusOf(path)]).toEqual([path, 404]);
    }
    // Dots are a name like others.
    for (const path of ['/v1/buckets/..', '/v1/buckets/%2e', '/v1/buckets/%2e%2e%2fx']) {
      expect([path, await statusOf(path, 'PUT')]).toEqual([path, 201]);
    }
    const { buckets } = await me.buckets('?limit=3');
    expect(buckets.map(({ Name }) => Name)).toEqual(['../x', '.', '..']);
  });

  it('lets nobody but the owner list, read, write or remove', async () => {
    await me.make('mine');
    await me.put('mine', 'secret', 'for my eyes');
    const named = `?owner=${me.owner}`;
    for (const [method, path, body] of [
      ['GET', `/v1/buckets${named}`],
      ['GET', `${pathOf('mine')}${named}`],
      ['GET', `/v1/objects${named}`],
      ['GET', `${pathOf('mine')}/objects${named}`],
      ['GET', `${pathOf('mine', 'secret')}${named}`],
      ['GET', `${pathOf('mine', 'secret')}/content${named}`],
      ['GET', `/v1/conversations${named}`],
      ['GET', `/v1/conversations/c${named}`],
      ['GET', `/v1/owners/${me.owner}`],
      ['PUT', `${pathOf('mine')}${named}`, '{"kind":"memory"}'],
      ['PUT', `${pathOf('mine', 'secret')}${named}`, 'overwritten'],
      ['DELETE', `${pathOf('mine')}${named}`],
    ] as const) {
      const signed = await stranger.ask(method, path, body);
      expect([method, path, signed.status]).toEqual([method, path, 401]);
      const request = { method, ...(body !== undefined && { body }) };
      expect([method, path, (await hub.ask(path, request)).status]).toEqual([method, path, 401]);
    }
    // A stranger's own bucket of the same name is another one.
    expect((await stranger.ask('GET', pathOf('mine'))).status).toBe(404);
    expect((await stranger.make('mine', 'model')).status).toBe(201);
    expect((await stranger.ask('GET', `${pathOf('mine', 'secret')}/content`)).status).toBe(404);
    expect((await stranger.ask('DELETE', pathOf('mine'))).status).toBe(200);
    expect((await me.ask('GET', `${pathOf('mine', 'secret')}/content`)).text).toBe('for my eyes');
    for (const path of ['/v1/stats', '/v1/overview']) {
      expect((await me.ask('GET', path)).status).toBe(403);
    }
  });

  it('removes a bucket with its files, and frees its name', async () => {
    await me.make('going', 'model');
    for (let at = 0; at < 250; at += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, more) => me.put('going', `g${at + more}`, 'going')),
      );
    }
    const gone = await me.ask('DELETE', pathOf('going'));
    expect([gone.status, gone.json]).toEqual([
      200,
      { bucket: 'going', owner: me.owner, deleted: true },
    ]);
    expect((await me.ask('GET', `${pathOf('going', 'g7')}/content`)).status).toBe(404);
    expect((await me.ask('GET', '/api/download?name=g7')).status).toBe(404);
    expect((await me.ask('DELETE', pathOf('going'))).status).toBe(404);
    expect((await me.put('going', 'g7', 'again')).status).toBe(404);
    expect((await me.make('going', 'dataset')).status).toBe(201);
    expect((await me.list('', 'going')).objects).toEqual([]);
  });

  it('lets one of two kinds win where both are asked for at once', async () => {
    for (let round = 0; round < 20; round += 1) {
      const name = `raced${round}`;
      const answers = await Promise.all([me.make(name, 'file'), me.make(name, 'model')]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
      const winner = answers.find(({ status }) => status === 201);
      const now = await me.ask('GET', pathOf(name));
      expect(now.json).toMatchObject({ kind: (winner?.json as { kind: string }).kind });
    }
  });

  it('serves one of two payloads whole where both are put at once', async () => {
    const texts = ['first '.repeat(20_000), 'second '.repeat(20_000)];
    const answers = await Promise.all(texts.map((text) => me.put('notes', 'raced', text)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    const { text } = await me.ask('GET', `${pathOf('notes', 'raced')}/content`);
    expect(texts).toContain(text);
    expect((await me.list('?limit=100', 'notes')).objects.map(({ key }) => key)).toEqual([
      'raced',
      'a/b c',
    ]);
  });

  it('reads conversations in their order', async () => {
    expect((await stranger.ask('GET', '/v1/conversations')).json).toEqual({ conversations: null });
    await me.make('talk');
    for (const at of [0, 1, 2]) await me.put('talk', `chat_${at}`, `"line" ${at}`);
    expect((await me.ask('GET', '/v1/conversations')).json).toEqual({ conversations: ['chat'] });
    const read = await me.ask('GET', '/v1/conversations/chat?offset=1&limit=2');
    expect(read.json).toEqual({ conversation: 'chat', messages: ['"line" 1', '"line" 2'] });
    expect((await me.ask('GET', '/v1/conversations/none')).json).toEqual({
      conversation: 'none',
      messages: [],
    });
    const owner = await me.ask('GET', `/v1/owners/${me.account.address}`);
    expect(owner.json).toMatchObject({ owner: me.owner, account: { Name: me.owner } });
  });

  it('says what it does not offer', async () => {
    for (const [method, path] of [
      ['GET', `${pathOf('notes', 'raced')}/proof`],
      ['GET', '/v1/pieces/abc/content'],
      ['POST', '/v1/seal'],
    ] as const) {
      const answer = await me.ask(method, path);
      expect([answer.status, answer.json]).toEqual([
        501,
        refusal('not offered: this hub submits nothing to a chain'),
      ]);
    }
  });

  it('tells what it is by texts, which the Go client alone reads', async () => {
    for (const path of ['/v1/info', '/api/info']) {
      const { status, json } = await hub.get(path);
      expect([status, json]).toMatchObject([
        200,
        { Type: 'hub', Hardware: { CPU: expect.any(String), Memory: expect.any(String) } },
      ]);
    }
  });
});

describe('/v1 of a public hub', () => {
  let world: HubWorld;
  let hub: Hub;
  let me: V1Client;

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub({ HUB_LEGACY_STATUS: 'true', HUB_AUTH: 'compatible' });
    me = new V1Client(hub, newAccount());
  });
  afterAll(() => world.stop());

  it('takes who has signed for the owner, and anybody for the owner that is named', async () => {
    expect((await me.make('b')).json).toMatchObject({ owner: me.owner });
    expect((await me.put('b', 'k', 'signed')).status).toBe(202);
    const named = await hub.ask('/v1/buckets/b?owner=alice', { method: 'PUT' });
    expect([named.status, named.json]).toMatchObject([201, { owner: 'alice', kind: 'memory' }]);
    const body = { method: 'PUT', body: 'named' };
    expect((await hub.ask('/v1/buckets/b/objects/k?owner=alice', body)).status).toBe(202);
    const nobody = await hub.ask('/v1/buckets/c', { method: 'PUT' });
    expect([nobody.status, nobody.json]).toEqual([
      400,
      refusal('owner is required: sign the request, or name it as ?owner='),
    ]);
    expect((await hub.get('/v1/buckets/b/objects/k/content?owner=alice')).text).toBe('named');
    expect((await hub.get(`/v1/buckets/b/objects/k/content?owner=${me.owner}`)).text).toBe(
      'signed',
    );
    // The newest of anybody, as in the original.
    expect((await hub.get('/v1/buckets/b/objects/k/content')).text).toBe('named');
    await hub.upload({ owner: 'bob', id: 'k', message: 'elsewhere' });
    expect((await hub.get('/v1/buckets/b/objects/k/content')).text).toBe('named');
    const all = await hub.get('/v1/objects?limit=1');
    expect(all.json).toMatchObject({ objects: [{ owner: 'bob', key: 'k' }] });
    const forged = await hub.ask('/v1/buckets', { headers: { authorization: 'deadbeef' } });
    expect(forged.status).toBe(401);
  });

  it('says 404 where the older routes say 599, and removes nothing', async () => {
    const missing = await hub.get('/v1/buckets/none?owner=alice');
    expect([missing.status, missing.json]).toEqual([404, refusal('no such bucket: none')]);
    expect((await hub.get('/api/download?name=none&owner=alice')).status).toBe(599);
    const gone = await me.ask('DELETE', pathOf('b'));
    expect([gone.status, gone.json]).toEqual([
      403,
      refusal('files of a public hub cannot be removed'),
    ]);
  });

  it('counts what it has', async () => {
    const { json } = await hub.get('/v1/overview');
    expect(json).toEqual({
      totalAddresses: 3,
      walletsWithMemory: 3,
      memoryCount: 3,
      memoryBytes: 'signed'.length + 'named'.length + 'elsewhere'.length,
      memoryGB: expect.any(Number),
      computedAt: expect.any(Number),
    });
    expect((await hub.get('/v1/stats?days=2')).json).toEqual([
      expect.objectContaining({ TotalNeedles: 3, TotalBuckets: 3, TotalAccounts: 3 }),
    ]);
  });

  it('keeps the kind and the place that a stranger came first with, and moves a key by /api', async () => {
    await hub.ask(`/v1/buckets/first?owner=${me.owner}`, {
      method: 'PUT',
      body: '{"kind":"file"}',
    });
    expect((await me.make('first', 'model')).status).toBe(409);
    const body = { method: 'PUT', body: 'theirs' };
    await hub.ask(`/v1/buckets/first/objects/plan?owner=${me.owner}`, body);
    expect((await me.put('b', 'plan', 'mine')).status).toBe(409);
    await hub.upload({ owner: me.owner, id: 'plan', bucket: 'b', message: 'mine' });
    expect((await me.put('b', 'plan', 'mine again')).status).toBe(202);
    expect((await me.ask('GET', `${pathOf('b', 'plan')}/content`)).text).toBe('mine again');
  });
});

describe('limits of /v1', () => {
  let world: HubWorld;

  beforeAll(async () => {
    world = await HubWorld.start();
  });
  afterAll(() => world.stop());

  it('are those of the hub', async () => {
    const hub = await world.hub({
      HUB_AUTH: 'compatible',
      HUB_QUOTA_BYTES: '1000',
      HUB_MAX_OBJECTS: '4',
      HUB_MAX_MULTIPART_BYTES: '2000',
    });
    const me = new V1Client(hub, newAccount());
    expect((await me.make('b')).status).toBe(201);
    expect((await me.put('b', 'a', 'x'.repeat(900))).status).toBe(202);
    const over = await me.put('b', 'b', 'x'.repeat(200));
    expect([over.status, over.json]).toEqual([
      403,
      refusal('quota exceeded: 900 of 1000 bytes are used'),
    ]);
    expect((await me.put('b', 'b', 'x'.repeat(3000))).status).toBe(413);
    // Empty buckets count as files do: they take room of the index.
    expect((await me.make('c')).status).toBe(201);
    expect((await me.make('d')).status).toBe(201);
    const full = await me.make('e');
    expect([full.status, full.json]).toEqual([
      403,
      refusal('the hub is full: it has its maximum of 4 files'),
    ]);
    expect((await me.put('b', 'c', 'x')).status).toBe(403);
    // A known key may be written again.
    expect((await me.put('b', 'a', 'y')).status).toBe(202);
    await hub.service.stop('SIGKILL');
  });
});

describe('buckets of a hub that dies', () => {
  let world: HubWorld;

  beforeAll(async () => {
    world = await HubWorld.start();
  });
  afterAll(() => world.stop());

  it('are there if they were answered, and gone if that was', async () => {
    const settings = { HUB_MODE: 'private', HUB_AUTH: 'compatible' };
    const account = newAccount();
    const first = new V1Client(await world.hub(settings), account);
    const made = new Set<string>();
    const unknown = new Set<string>();
    let isOver = false;
    const lanes = Array.from({ length: 20 }, async (_, lane) => {
      for (let round = 0; !isOver; round += 1) {
        const name = `l${lane}r${round}`;
        unknown.add(name);
        try {
          if ((await first.make(name, 'file')).status !== 201) continue;
          made.add(name);
          unknown.delete(name);
          if (round % 3 !== 0) continue;
          unknown.add(name);
          made.delete(name);
          if ((await first.ask('DELETE', pathOf(name))).status === 200) unknown.delete(name);
        } catch {
          return;
        }
      }
    });
    await eventually('buckets are made', () => made.size > 100, 30_000);
    await world.killAll();
    isOver = true;
    await Promise.all(lanes);

    const again = new V1Client(await world.hub(settings), account);
    const listed = async (client: V1Client): Promise<readonly string[]> => {
      const names: string[] = [];
      let cursor = '';
      do {
        const page = await client.buckets(`?limit=100&cursor=${cursor}`);
        expect(page.buckets.every(({ Kind }) => Kind === 'file')).toBe(true);
        names.push(...page.buckets.map(({ Name }) => Name));
        cursor = page.nextCursor;
      } while (cursor !== '');
      return names.sort();
    };
    const found = await listed(again);
    expect([...made].filter((name) => !found.includes(name))).toEqual([]);
    expect(found.filter((name) => !made.has(name) && !unknown.has(name))).toEqual([]);
    // The journal alone says the same.
    await world.killAll();
    await world.forgetIndex();
    const rebuilt = new V1Client(await world.hub(settings), account);
    expect(await listed(rebuilt)).toEqual(found);
  });
});
