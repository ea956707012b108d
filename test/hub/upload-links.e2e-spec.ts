import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { ApiDescription } from '../support/api-description.js';
import { eventually } from '../support/http.js';
import { type GivenHeaders, type Hub, type HubAnswer, HubWorld } from '../support/hub-world.js';
import { type Json, newAccount } from '../support/payments.js';
import { strictHeaders } from '../support/strict-signature.js';
import { uploadLinkOf } from '../support/upload-link.js';

const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const sha256 = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');
const messageOf = ({ json }: HubAnswer): unknown => (json as { Message?: unknown }).Message;

describe.each(['private', 'public'])('upload links of a %s hub', (mode) => {
  const settings = { HUB_MODE: mode, HUB_QUOTA_BYTES: '3000000' };
  let world: HubWorld;
  let hub: Hub;
  let me: PrivateKeyAccount;

  const put = (link: string, body: string | Uint8Array<ArrayBuffer>, headers: GivenHeaders = {}) =>
    hub.ask(`/api/incoming?link=${link}`, { method: 'PUT', body, headers });
  const signed = async (method: string, path: string, account = me): Promise<HubAnswer> =>
    hub.ask(path, { method, headers: await strictHeaders(account, { method, path }) });
  const stored = (name: string): Promise<HubAnswer> =>
    signed('GET', `/api/download?${new URLSearchParams({ owner: me.address, name }).toString()}`);
  const takeBack = (query: string, account = me): Promise<HubAnswer> =>
    signed('DELETE', `/api/incoming${query}`, account);

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub(settings);
    me = newAccount();
  });
  afterAll(() => world.stop());

  it('let whoever has one store one file, once, without a key of its own', async () => {
    const bytes = new Uint8Array(2_500_000).fill(7);
    const account = newAccount();
    const link = await uploadLinkOf(account, 'scan.bin', { maxBytes: bytes.length });
    const answer = await put(link, bytes);
    const description = new ApiDescription((await hub.get('/openapi.json')).json as Json);
    expect(description.problemsOf('put', '/api/incoming', answer.status, answer.json)).toEqual([]);
    expect([answer.status, answer.json]).toEqual([
      200,
      expect.objectContaining({
        Size: bytes.length,
        Owner: account.address.toLowerCase(),
        Name: 'scan.bin',
        Sha256: sha256(bytes),
      }),
    ]);
    const path = `/api/download?owner=${account.address}&name=scan.bin`;
    const read = await signed('GET', path, account);
    expect([read.status, sha256(read.bytes)]).toEqual([200, sha256(bytes)]);
    const again = await put(link, bytes);
    expect([again.status, messageOf(again)]).toEqual([410, 'the link was used or revoked']);
    // It counts on its owner's quota, which the link does not raise.
    const over = await put(await uploadLinkOf(account, 'more.bin'), new Uint8Array(600_000));
    expect([over.status, messageOf(over)]).toEqual([
      403,
      expect.stringMatching(/^quota exceeded: 2500000 of 3000000/),
    ]);
  });

  it('are for the bytes, the size and the type that were signed', async () => {
    const wanted: Hex = `0x${sha256('as agreed')}`;
    const link = await uploadLinkOf(me, 'agreed.md', {
      sha256: wanted,
      maxBytes: 9,
      contentType: 'text/markdown',
    });
    expect((await put(link, 'as agreed, and more')).status).toBe(413);
    const other = await put(link, 'otherwise', { 'content-type': 'text/markdown' });
    expect([other.status, messageOf(other)]).toEqual([
      400,
      'the SHA-256 of the bytes differs from the one in the link',
    ]);
    expect((await put(link, 'as agreed', { 'content-type': 'text/html' })).status).toBe(415);
    expect((await put(link, '', { 'content-type': 'text/markdown' })).status).toBe(400);
    expect((await stored('agreed.md')).status).toBe(404);
    // None of these has used it up.
    const answer = await put(link, 'as agreed', { 'content-type': 'text/markdown; charset=utf-8' });
    expect([answer.status, (await stored('agreed.md')).text]).toEqual([200, 'as agreed']);
  });

  it('are refused where their owner has not signed them for this hub and this time', async () => {
    const now = nowSeconds();
    const stranger = newAccount();
    for (const [status, link] of [
      [401, await uploadLinkOf(stranger, 'mine', { owner: me.address })],
      [401, await uploadLinkOf(me, 'mine', { hub: `0x${'22'.repeat(20)}` })],
      [410, await uploadLinkOf(me, 'mine', { issuedAt: now - 60, until: now - 1 })],
      [401, await uploadLinkOf(me, 'mine', { until: now + 8 * 86_400 })],
      [401, await uploadLinkOf(me, 'mine', { issuedAt: now + 3600, until: now + 7200 })],
      [400, await uploadLinkOf(me, 'mine', { contentType: 'Text/HTML\r\nX: y' })],
      [400, 'nonsense'],
      [400, 'A'.repeat(5000)],
      [400, ''],
    ] as const) {
      expect([(await put(link, 'x')).status, link]).toEqual([status, link]);
    }
    expect((await stored('mine')).status).toBe(404);
  });

  it('of fifty uploads at once take one', async () => {
    const link = await uploadLinkOf(me, 'race.txt');
    const texts = Array.from({ length: 50 }, (_, index) => `I am number ${index}`);
    const answers = await Promise.all(texts.map((text) => put(link, text)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good).toHaveLength(1);
    for (const { status } of answers) expect([200, 409, 410]).toContain(status);
    const { text } = await stored('race.txt');
    expect(good[0]?.json).toMatchObject({ Sha256: sha256(text) });
  });

  it('are not used up by an upload that is broken off', async () => {
    const link = await uploadLinkOf(me, 'broken.txt');
    await new Promise<void>((resolve) => {
      const sending = request(`${hub.url}/api/incoming?link=${link}`, {
        method: 'PUT',
        headers: { 'content-length': 1000 },
      });
      sending.on('error', () => {
        resolve();
      });
      sending.write('only a part', () => sending.destroy(new Error('gone')));
    });
    const answer = await unless(409, () => put(link, 'the whole'));
    expect([answer.status, (await stored('broken.txt')).text]).toEqual([200, 'the whole']);
  });

  it('end an upload that goes beyond its owner’s quota before it is whole, and keep nothing of it', async () => {
    const account = newAccount();
    const link = await uploadLinkOf(account, 'endless', { maxBytes: 50_000_000 });
    const sending = request(`${hub.url}/api/incoming?link=${link}`, { method: 'PUT' });
    sending.on('error', () => undefined);
    sending.write(Buffer.alloc(2_000_000));
    const spooled = (): number => readdirSync(`${world.dir}/spool`).length;
    await eventually('the upload is under way', () => spooled() > 0);
    sending.write(Buffer.alloc(3_000_000));
    // Nothing more of it comes, and it is not waited for.
    await eventually('nothing of it is kept', () => spooled() === 0);
    expect((await unless(409, () => put(link, 'x'))).status).toBe(200);
    sending.destroy();
  });

  it('take the same bytes again where the process was killed before it could say so, and no others', async () => {
    const link = await uploadLinkOf(me, 'killed.txt');
    const redis = new Redis(world.redis.url);
    expect((await put(link, 'stored')).status).toBe(200);
    const [key = ''] = await redis.keys(`hub:upload:*${nonceIn(link)}`);
    // As a kill between storing and noting it leaves it.
    await redis.hdel(key, 'done');
    await redis.hset(key, 'lease', nowSeconds() + 60);
    expect((await put(link, 'stored')).status).toBe(409);
    await redis.hset(key, 'lease', nowSeconds() - 1);
    redis.disconnect();
    expect((await put(link, 'something else')).status).toBe(410);
    const before = await usage();
    expect((await put(link, 'stored')).status).toBe(200);
    expect(await usage()).toBe(before);
    expect((await put(link, 'stored')).status).toBe(410);
  });

  /** Payloads of the owner, as often as they were stored. */
  async function usage(): Promise<string | null> {
    const redis = new Redis(world.redis.url);
    const count = await redis.hget(`hub:i:u:${me.address.toLowerCase()}`, 'count');
    redis.disconnect();
    return count;
  }

  it('are taken back by their owner alone, one or all, those of a clock that is five minutes fast too', async () => {
    const [one, two] = [await uploadLinkOf(me, 'one'), await uploadLinkOf(me, 'two')];
    expect((await takeBack(`?link=${one}`, newAccount())).status).toBe(403);
    expect((await hub.ask(`/api/incoming?link=${one}`, { method: 'DELETE' })).status).toBe(401);
    const answer = await takeBack(`?link=${one}`);
    expect([answer.status, answer.json]).toEqual([
      200,
      { Owner: me.address.toLowerCase(), Links: 'one' },
    ]);
    expect((await put(one, 'x')).status).toBe(410);
    // By a clock that is as fast as one may be.
    const fast = await uploadLinkOf(me, 'fast', {
      issuedAt: nowSeconds() + 299,
      until: nowSeconds() + 900,
    });
    const all = await takeBack('');
    expect(all.status).toBe(200);
    const { IssuedUntil: until } = all.json as { IssuedUntil: number };
    for (const link of [two, fast]) expect((await put(link, 'x')).status).toBe(410);
    const later = await uploadLinkOf(me, 'later', { issuedAt: until + 1, until: until + 600 });
    // It may be five minutes ahead, and no more.
    expect((await unless(401, () => put(later, 'x'))).status).toBe(200);
  });

  it('are taken back also of an owner who has stored nothing, one or all', async () => {
    const owner = newAccount();
    const [one, two] = [await uploadLinkOf(owner, 'one'), await uploadLinkOf(owner, 'two')];
    expect((await takeBack(`?link=${one}`, owner)).status).toBe(200);
    expect((await put(one, 'x')).status).toBe(410);
    const all = await takeBack('', owner);
    expect([all.status, all.json]).toEqual([200, expect.objectContaining({ Links: 'all' })]);
    expect((await put(two, 'x')).status).toBe(410);
  });

  it('are taken back by families, also of an owner who has stored nothing', async () => {
    const owner = newAccount();
    const family = `0x${'ab'.repeat(16)}`;
    const inFamily = (last: string): Promise<string> =>
      uploadLinkOf(owner, 'new', { nonce: `${family}${last.repeat(32)}` as Hex });
    const early = await inFamily('1');
    const cousin = await uploadLinkOf(owner, 'new', {
      nonce: `0x${'ab'.repeat(8)}${'cd'.repeat(24)}`,
    });
    expect((await takeBack('?family=0xab', owner)).status).toBe(400);
    const answer = await takeBack(`?family=${family}`, owner);
    expect([answer.status, answer.json]).toEqual([
      200,
      { Owner: owner.address.toLowerCase(), Links: 'family' },
    ]);
    for (const link of [early, await inFamily('2')])
      expect((await put(link, 'x')).status).toBe(410);
    expect((await put(cousin, 'x')).status).toBe(200);
    expect((await takeBack(`?family=0x${'ab'.repeat(8)}`, owner)).status).toBe(200);
    const late = await uploadLinkOf(owner, 'new', {
      nonce: `0x${'ab'.repeat(8)}${'ef'.repeat(24)}`,
    });
    expect((await put(late, 'x')).status).toBe(410);
    expect((await put(await uploadLinkOf(owner, 'other'), 'x')).status).toBe(200);
  });

  it('from before Redis lost everything are refused, as nobody knows which were used', async () => {
    const link = await uploadLinkOf(me, 'old', { issuedAt: nowSeconds() - 5 });
    const redis = new Redis(world.redis.url);
    await redis.flushall();
    redis.disconnect();
    // The index is rebuilt from the journal; until then it is 503.
    const answer = await unless(503, () => put(link, 'x'));
    expect([answer.status, messageOf(answer)]).toEqual([
      410,
      expect.stringContaining('is too old for this hub'),
    ]);
  });
});

/** The first answer of another status. */
async function unless(status: number, ask: () => Promise<HubAnswer>): Promise<HubAnswer> {
  let answer = await ask();
  await eventually(`an answer other than ${status}`, async () => {
    if (answer.status === status) answer = await ask();
    return answer.status !== status;
  });
  return answer;
}

function nonceIn(link: string): string {
  return (JSON.parse(Buffer.from(link, 'base64url').toString()) as { nonce: string }).nonce;
}
