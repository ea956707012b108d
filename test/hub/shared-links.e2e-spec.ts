import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Hex } from 'viem';
import { eventually } from '../support/http.js';
import { type Hub, type HubAnswer, HubWorld } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { shareLinkOf } from '../support/share-link.js';
import { strictHeaders } from '../support/strict-signature.js';

const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const sha256 = (text: string): Hex => `0x${createHash('sha256').update(text).digest('hex')}`;

const messageOf = ({ json }: HubAnswer): unknown => (json as { Message?: unknown }).Message;

describe('share links', () => {
  const PRIVATE = { HUB_MODE: 'private', HUB_AUTH: 'strict' };
  let world: HubWorld;
  let hub: Hub;
  const me = newAccount();
  const stranger = newAccount();

  const store = async (id: string, message: string, account = me): Promise<void> => {
    const body = JSON.stringify({ owner: account.address, id, message });
    const headers = await strictHeaders(account, { method: 'POST', path: '/api/upload', body });
    expect((await hub.post('/api/upload', body, headers)).status).toBe(200);
  };
  const read = (link: string, headers: Record<string, string> = {}): Promise<HubAnswer> =>
    hub.get(`/api/shared?link=${link}`, headers);
  const takeBack = async (query: string, account = me): Promise<HubAnswer> => {
    const path = `/api/shared${query}`;
    const headers = await strictHeaders(account, { method: 'DELETE', path });
    return hub.ask(path, { method: 'DELETE', headers });
  };

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub(PRIVATE);
    await store('note', 'for whoever I say');
  });
  afterAll(() => world.stop());

  it('opens one file to whoever has the link, and nothing else of its owner', async () => {
    expect((await hub.get(`/api/download?owner=${me.address}&name=note`)).status).toBe(401);
    const link = await shareLinkOf(me, 'note');
    const answer = await read(link);
    expect([answer.status, answer.text]).toEqual([200, 'for whoever I say']);
    expect(answer.headers.get('content-disposition')).toContain('attachment');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    const part = await read(link, { range: 'bytes=4-11' });
    expect([part.status, part.text]).toEqual([206, 'whoever ']);
    const etag = answer.headers.get('etag') ?? '';
    expect((await read(link, { 'if-none-match': etag })).status).toBe(304);
    expect((await read(await shareLinkOf(me, 'other'))).status).toBe(404);
  });

  it('refuses what its owner has not signed for this hub and this time', async () => {
    await store('note', 'mine, not yours', stranger);
    const theirs = await shareLinkOf(stranger, 'note', { owner: me.address });
    expect([(await read(theirs)).status]).toEqual([401]);
    const elsewhere = await shareLinkOf(me, 'note', { hub: `0x${'22'.repeat(20)}` });
    expect((await read(elsewhere)).status).toBe(401);
    const now = nowSeconds();
    const over = await read(await shareLinkOf(me, 'note', { issuedAt: now - 60, until: now - 1 }));
    expect([over.status, messageOf(over)]).toEqual([410, 'the link has expired']);
    const long = await shareLinkOf(me, 'note', { until: now + 31 * 86_400 });
    expect((await read(long)).status).toBe(401);
    expect((await read('nonsense')).status).toBe(400);
    expect((await read('A'.repeat(5000))).status).toBe(400);
    expect((await hub.get('/api/shared')).status).toBe(400);
  });

  it('of a hundred readers at once gives a link for one answer to one, whole', async () => {
    const link = await shareLinkOf(me, 'note', { once: true });
    const head = await hub.ask(`/api/shared?link=${link}`, { method: 'HEAD' });
    expect([head.status, head.headers.get('accept-ranges')]).toEqual([200, 'none']);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => read(link, { range: 'bytes=0-2' })),
    );
    const good = answers.filter(({ status }) => status === 200);
    expect(good.map(({ text }) => text)).toEqual(['for whoever I say']);
    const others = answers.filter(({ status }) => status !== 200);
    expect(others).toHaveLength(99);
    for (const { status } of others) expect([410, 429]).toContain(status);
    const late = await read(link);
    expect([late.status, messageOf(late)]).toEqual([410, 'the link was used or revoked']);
  });

  it('of a file that is not there yet, or damaged, uses no link up', async () => {
    const link = await shareLinkOf(me, 'later', { once: true });
    expect((await read(link)).status).toBe(404);
    await store('later', 'here now');
    const shown = await read(await shareLinkOf(me, 'later'));
    expect(shown.text).toBe('here now');
    const volumes = join(world.dir, 'volumes', me.address.toLowerCase());
    const [damaged] = readdirSync(volumes).filter((file) =>
      readFileSync(join(volumes, file)).includes('here now'),
    );
    const path = join(volumes, damaged ?? '');
    const whole = readFileSync(path);
    writeFileSync(path, Buffer.from(whole.toString('latin1').replace('here', 'HERE'), 'latin1'));
    expect((await read(link)).status).toBe(500);
    writeFileSync(path, whole);
    const answer = await read(link);
    expect([answer.status, answer.text]).toEqual([200, 'here now']);
    expect((await read(link)).status).toBe(410);
  });

  it('for one content is over when the name has another', async () => {
    await store('report', 'first');
    const link = await shareLinkOf(me, 'report', { sha256: sha256('first') });
    const newest = await shareLinkOf(me, 'report');
    expect((await read(link)).text).toBe('first');
    await store('report', 'second');
    expect((await read(link)).status).toBe(410);
    expect((await read(newest)).text).toBe('second');
  });

  it('are taken back by their owner alone, one or all, those of a clock that is five minutes fast too', async () => {
    const [one, two] = [await shareLinkOf(me, 'note'), await shareLinkOf(me, 'note')];
    expect((await takeBack(`?link=${one}`, stranger)).status).toBe(403);
    expect((await hub.ask(`/api/shared?link=${one}`, { method: 'DELETE' })).status).toBe(401);
    expect((await read(one)).status).toBe(200);
    const answer = await takeBack(`?link=${one}`);
    expect([answer.status, answer.json]).toEqual([
      200,
      { Owner: me.address.toLowerCase(), Links: 'one' },
    ]);
    expect((await takeBack(`?link=${one}`)).status).toBe(200);
    expect([(await read(one)).status, (await read(two)).status]).toEqual([410, 200]);
    // By a clock that is as fast as one may be.
    const fast = await shareLinkOf(me, 'note', { issuedAt: nowSeconds() + 299 });
    const all = await takeBack('');
    expect([all.status, (await read(two)).status, (await read(fast)).status]).toEqual([
      200, 410, 410,
    ]);
    const { IssuedUntil: until } = all.json as { IssuedUntil: number };
    const later = await shareLinkOf(me, 'note', { issuedAt: until + 1, until: until + 600 });
    // It may be five minutes ahead, and no more.
    await eventually('a later link is open', async () => (await read(later)).status === 200);
  });

  it('are taken back also of an owner who has stored nothing yet, one or all', async () => {
    const owner = newAccount();
    const [one, two] = [await shareLinkOf(owner, 'note'), await shareLinkOf(owner, 'note')];
    expect((await takeBack(`?link=${one}`, owner)).status).toBe(200);
    await store('note', 'later', owner);
    expect([(await read(one)).status, (await read(two)).status]).toEqual([410, 200]);
    const other = newAccount();
    const early = await shareLinkOf(other, 'note');
    expect((await takeBack('', other)).status).toBe(200);
    await store('note', 'later', other);
    expect((await read(early)).status).toBe(410);
  });

  it('are taken back by families, also those that are made later', async () => {
    const owner = newAccount();
    const family = `0x${'ab'.repeat(16)}`;
    const inFamily = (last: string, once = false): Promise<string> =>
      shareLinkOf(owner, 'note', { once, nonce: `${family}${last.repeat(32)}` as Hex });
    const cousin = await shareLinkOf(owner, 'note', {
      nonce: `0x${'ab'.repeat(8)}${'cd'.repeat(24)}`,
    });
    // Before there is anything to share: its owner need not have stored anything.
    const early = await inFamily('1');
    expect((await takeBack(`?family=${family.slice(0, -1)}`, owner)).status).toBe(400);
    const answer = await takeBack(`?family=${family}`, owner);
    expect([answer.status, answer.json]).toEqual([
      200,
      { Owner: owner.address.toLowerCase(), Links: 'family' },
    ]);
    await store('note', 'of a family', owner);
    for (const link of [early, await inFamily('2'), await inFamily('3', true)]) {
      const refused = await read(link);
      expect([refused.status, messageOf(refused)]).toEqual([
        410,
        expect.stringContaining('the link was revoked'),
      ]);
    }
    expect((await read(cousin)).status).toBe(200);
    // Eight bytes name a larger one; of another owner's links none is meant.
    expect((await takeBack(`?family=0x${'ab'.repeat(8)}`, owner)).status).toBe(200);
    expect((await read(cousin)).status).toBe(410);
    expect((await takeBack(`?family=${family}`, owner)).status).toBe(200);
    const theirs = await shareLinkOf(stranger, 'note', {
      nonce: `${family}${'1'.repeat(32)}` as Hex,
    });
    expect((await read(theirs)).status).toBe(200);
    expect((await hub.ask(`/api/shared?family=${family}`, { method: 'DELETE' })).status).toBe(401);
  });

  it('from before Redis lost everything are refused, as nobody knows which were used up', async () => {
    const issuedAt = nowSeconds() + 10;
    const link = await shareLinkOf(me, 'note', { once: true, issuedAt: nowSeconds() - 5 });
    const redis = new Redis(world.redis.url);
    await redis.flushall();
    redis.disconnect();
    // The index is rebuilt from the journal; until then it is 503.
    const deadline = Date.now() + 20_000;
    let answer = await read(link);
    while (answer.status === 503 && Date.now() < deadline) answer = await read(link);
    expect([answer.status, messageOf(answer)]).toEqual([
      410,
      expect.stringContaining('is too old for this hub'),
    ]);
    expect((await read(await shareLinkOf(me, 'note', { issuedAt }))).status).toBe(200);
  });

  it('are none where there is nothing to keep from anybody', async () => {
    const open = await world.hub({ HUB_MODE: 'public' });
    const answer = await open.get(`/api/shared?link=${await shareLinkOf(me, 'note')}`);
    expect([answer.status, messageOf(answer)]).toEqual([
      403,
      'a public hub has no share links, because all its files are public',
    ]);
  });
});
