import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { type GivenHeaders, type Hub, HubWorld } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { personalSignature } from '../support/personal-signature.js';
import { strictHeaders } from '../support/strict-signature.js';

const VECTOR_KEY = '0x0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20';
const OTHER_HUB: Address = `0x${'22'.repeat(20)}`;
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** Where clients reach the hub of these tests; what they sign may say so or not. */
const SITE = 'https://files.example/api';

/** A sign-in as people sign it in a browser (ERC-4361). */
async function signIn(
  account: PrivateKeyAccount,
  host: string,
  uri: string,
): Promise<GivenHeaders> {
  const Msg = [
    `${host} wants you to sign in with your Ethereum account:`,
    account.address,
    '',
    'Sign in as the owner of this wallet.',
    '',
    `URI: ${uri}`,
    'Version: 1',
    'Chain ID: 1',
    `Nonce: ${randomBytes(16).toString('hex')}`,
    `Issued At: ${new Date().toISOString()}`,
    `Expiration Time: ${new Date(Date.now() + 600_000).toISOString()}`,
  ].join('\n');
  const Sign = await account.signMessage({ message: Msg });
  const header = { Type: '', Addr: account.address, Time: 0, Hash: '0x', Sign, Msg };
  return { authorization: JSON.stringify(header) };
}

const bodyOf = (owner: string, id: string, message: string): string =>
  JSON.stringify({ owner, id, message });
const messageOf = (json: unknown): unknown => (json as { Message?: unknown } | undefined)?.Message;

describe('a private hub', () => {
  let world: HubWorld;
  let hub: Hub;
  const me = privateKeyToAccount(VECTOR_KEY);
  const stranger = newAccount();

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub({
      HUB_MODE: 'private',
      HUB_AUTH: 'compatible',
      HUB_PUBLIC_URL: SITE,
      LOG_LEVEL: 'debug',
    });
  });
  afterAll(() => world.stop());

  it('wants a signature, and says what is wrong with it', async () => {
    const body = bodyOf(me.address, 'x', 'y');
    const old = await personalSignature(me, nowSeconds() - 700);
    for (const [headers, message] of [
      [{}, 'missing Authorization header'],
      [{ authorization: 'zzz' }, expect.stringMatching(/^decode auth/)],
      [{ authorization: 'deadbeef' }, expect.stringMatching(/^decode auth/)],
      [old, expect.stringMatching(/^auth timestamp out of window/)],
      [await personalSignature(stranger), expect.stringMatching(/^owner .* does not match signer/)],
    ] as const) {
      const answer = await hub.post('/api/upload', body, headers);
      expect([answer.status, messageOf(answer.json)]).toEqual([401, message]);
    }
    const named = await hub.post(
      '/api/upload',
      bodyOf('0xabcd', 'x', 'y'),
      await personalSignature(me),
    );
    expect([named.status, messageOf(named.json)]).toEqual([
      401,
      'owner must be a 0x-prefixed Ethereum address',
    ]);
  });

  it('lets an owner write and read, in either case of its address', async () => {
    const headers = await personalSignature(me);
    for (const [index, owner] of [me.address, me.address.toLowerCase()].entries()) {
      const body = bodyOf(owner, `mine${index}`, 'for my eyes');
      expect((await hub.post('/api/upload', body, headers)).status).toBe(200);
    }
    const read = await hub.get('/api/download?name=mine0', headers);
    expect([read.status, read.text]).toEqual([200, 'for my eyes']);
    const other = await hub.download(me.address, 'mine0', await personalSignature(stranger));
    expect(other.status).toBe(401);
    expect((await hub.download(me.address, 'mine0')).status).toBe(401);
    expect((await hub.get('/api/info')).status).toBe(200);
  });

  it('lists to each owner its own', async () => {
    expect((await hub.get('/api/listAccount')).status).toBe(401);
    const { json } = await hub.get('/api/listAccount', await personalSignature(me));
    expect(json).toMatchObject([{ Name: me.address.toLowerCase() }]);
    expect((await hub.get('/api/listNeedle', await personalSignature(stranger))).json).toEqual([]);
  });

  it('lets only its owner remove a file, for good', async () => {
    await hub.post('/api/upload', bodyOf(me.address, 'gone', 'soon'), await personalSignature(me));
    const path = `/api/object?owner=${me.address}&name=gone`;
    const remove = async (account: PrivateKeyAccount) =>
      (await hub.ask(path, { method: 'DELETE', headers: await personalSignature(account) })).status;
    expect(await remove(stranger)).toBe(401);
    expect(await remove(me)).toBe(200);
    expect(await remove(me)).toBe(404);
    expect((await hub.download(me.address, 'gone', await personalSignature(me))).status).toBe(404);
  });

  it.each([
    ['another site', 'shop.example', 'https://shop.example'],
    ['another site that names us', 'shop.example', SITE],
    ['the wallet at the same host', 'files.example', 'https://files.example'],
  ])('takes no sign-in message for %s', async (_what, host, uri) => {
    await hub.post('/api/upload', bodyOf(me.address, 'kept', 'mine'), await personalSignature(me));
    const stolen = await signIn(me, host, uri);
    const answers = [
      await hub.post('/api/upload', bodyOf(me.address, 'stolen', 'x'), stolen),
      await hub.get('/api/listNeedle', stolen),
      await hub.get('/api/download?name=kept', stolen),
      await hub.ask('/api/object?name=kept', { method: 'DELETE', headers: stolen }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    expect(messageOf(answers[0]?.json)).toBe(
      'verify auth: the sign-in message is for another site',
    );
    expect((await hub.get('/api/download?name=kept', await personalSignature(me))).text).toBe(
      'mine',
    );
  });

  it('takes a sign-in message for itself', async () => {
    const headers = await signIn(me, 'files.example', SITE);
    const body = bodyOf(me.address, 'signed-in', 'mine');
    expect((await hub.post('/api/upload', body, headers)).status).toBe(200);
  });

  it('takes the strict form, too', async () => {
    const body = bodyOf(me.address, 'bound', 'as signed');
    const headers = await strictHeaders(me, { method: 'POST', path: '/api/upload', body });
    expect((await hub.post('/api/upload', body, headers)).status).toBe(200);
  });

  it('refuses a body over the limit', async () => {
    const body = bodyOf(me.address, 'big', 'x'.repeat(5_242_880));
    expect((await hub.post('/api/upload', body, await personalSignature(me))).status).toBe(413);
  });

  it('writes no signature to its log', async () => {
    const headers = await personalSignature(me);
    await hub.post('/api/upload', 'no body', headers);
    await hub.get('/api/nothing-here', headers);
    const signature = /0x[0-9a-f]{130}/;
    expect(hub.service.log()).not.toMatch(signature);
    expect(hub.service.log().toLowerCase()).not.toContain('authorization');
  });
});

describe('a strict private hub', () => {
  let world: HubWorld;
  let hub: Hub;
  const me = newAccount();

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub({
      HUB_MODE: 'private',
      HUB_PRIVATE_READS: 'public',
    });
  });
  afterAll(() => world.stop());

  it('names no conversation to whoever has not signed, though all may read what they know the name of', async () => {
    const path = '/api/upload';
    const body = bodyOf(me.address, 'talk_1', 'said');
    const headers = await strictHeaders(me, { method: 'POST', path, body });
    expect((await hub.post(path, body, headers)).status).toBe(200);
    const all = `/api/conversation?owner=${me.address}`;
    for (const answer of [
      await hub.get(all),
      await hub.post('/api/conversation', `owner=${me.address}`),
    ]) {
      expect([answer.status, messageOf(answer.json)]).toEqual([
        401,
        'listing requires a signed request (namespace enumeration is not public)',
      ]);
    }
    expect((await hub.get(`${all}&name=talk`)).json).toEqual(['said']);
    const own = await strictHeaders(me, { method: 'GET', path: all });
    expect((await hub.get(all, own)).json).toEqual(['talk']);
  });

  it('takes a signature once, for the request it was made for', async () => {
    const path = '/api/upload';
    const body = bodyOf(me.address, 'bound', 'as signed');
    const headers = await strictHeaders(me, { method: 'POST', path, body });
    const other = bodyOf(me.address, 'bound', 'as not signed');
    expect((await hub.post(path, other, headers)).status).toBe(401);
    const again = await strictHeaders(me, { method: 'POST', path, body });
    expect((await hub.post(path, body, again)).status).toBe(200);
    const replayed = await hub.post(path, body, again);
    expect([replayed.status, messageOf(replayed.json)]).toEqual([
      401,
      'verify auth: the nonce was used before',
    ]);
  });

  it.each([
    ['another method', { method: 'PUT' }],
    ['another path', { path: '/api/uploadData' }],
    ['another hub', { hub: OTHER_HUB }],
    ['the past', { expiry: nowSeconds() - 1 }],
    ['a distant future', { expiry: nowSeconds() + 86_400 }],
  ])('refuses one made for %s', async (_what, change) => {
    const body = bodyOf(me.address, 'no', 'no');
    const headers = await strictHeaders(me, {
      method: 'POST',
      path: '/api/upload',
      body,
      ...change,
    });
    expect((await hub.post('/api/upload', body, headers)).status).toBe(401);
  });

  it('takes no other form', async () => {
    const body = bodyOf(me.address, 'no', 'no');
    const answer = await hub.post('/api/upload', body, await personalSignature(me));
    expect([answer.status, messageOf(answer.json)]).toEqual([
      401,
      'decode auth: this hub accepts only the strict form',
    ]);
  });

  it.each([
    ['nothing', ''],
    ['no JSON', 'x'],
    ['a time in text', Buffer.from('{"expiry":"1795774990"}').toString('base64url')],
  ])('says that a strict form with %s cannot be read', async (_, encoded) => {
    const body = bodyOf(me.address, 'no', 'no');
    const authorization = `Hub-EIP712 ${encoded}`;
    for (const ask of [
      () => hub.post('/api/upload', body, { authorization }),
      () => hub.ask('/api/shared?link=x', { method: 'DELETE', headers: { authorization } }),
    ]) {
      const answer = await ask();
      expect([answer.status, messageOf(answer.json)]).toEqual([
        401,
        expect.stringContaining('cannot be read'),
      ]);
    }
  });

  it('binds a file to its signature, and stores nothing of another', async () => {
    const form = (text: string): string =>
      [
        '--b',
        'Content-Disposition: form-data; name="owner"',
        '',
        me.address,
        '--b',
        'Content-Disposition: form-data; name="file"; filename="f"',
        '',
        text,
        '--b--',
        '',
      ].join('\r\n');
    const path = '/api/uploadData';
    const type = { 'content-type': 'multipart/form-data; boundary=b' };
    const signed = await strictHeaders(me, { method: 'POST', path, body: form('one') });
    expect((await hub.post(path, form('two'), { ...type, ...signed })).status).toBe(401);
    expect((await hub.download(me.address, 'f')).status).toBe(404);
    const again = await strictHeaders(me, { method: 'POST', path, body: form('one') });
    expect((await hub.post(path, form('one'), { ...type, ...again })).status).toBe(200);
    // Reads are public here.
    expect((await hub.download(me.address, 'f')).text).toBe('one');
  });
});
