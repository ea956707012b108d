import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WalletPagesController } from '../../src/wallet/http/wallet-pages.controller.js';
import { PageServer, showPage } from '../support/page-server.js';
import { newAccount } from '../support/payments.js';
import { OwnerInBrowser } from './owner-in-browser.js';
import { WalletWorld } from './wallet-world.js';

type Json = Record<string, unknown>;

describe('the page of an owner, in a browser', () => {
  let wallets: WalletWorld;
  let person: OwnerInBrowser;

  beforeAll(async () => {
    wallets = await WalletWorld.start();
    person = await OwnerInBrowser.start(newAccount());
  });
  afterAll(async () => {
    await person.stop();
    await wallets.stop();
  });

  const statusOf = async (token: string): Promise<number> =>
    (await wallets.send('GET', '/v1/wallets/me', token)).status;

  it('lists who is let in, by the code the owner compared, and ends one of them', async () => {
    const { owner } = person;
    const { body } = await wallets.post('/v1/init', 'true');
    const userCode = String(body['user_code']);
    await wallets.approve(userCode, owner);
    const collected = await wallets.post('/v1/status', { code: body['code'] });
    const [first, second] = [String(collected.body['token']), await wallets.agentOf(owner)];
    expect(await statusOf(first)).toBe(200);

    await person.signIn(wallets.url);
    const rows = await person.rows('access');
    expect(rows).toHaveLength(3);
    const line = rows.find((row) => row.includes(userCode));
    // One of the two was used, the other never.
    expect(line).toMatch(/^Agent approved by the code .* \| pay within the limits \| .*\d{4}/);
    expect(line).not.toContain('never');
    expect(rows.filter((row) => row.includes('never'))).toHaveLength(1);
    expect(rows.filter((row) => row.startsWith('This page | everything'))).toHaveLength(1);

    await person.end(userCode);
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200]);
    expect((await person.rows('access')).join('\n')).not.toContain(userCode);
    expect(person.browser.complaints).toEqual([]);
  });

  it('shows rules, what is left of them and balances, and stops and starts the wallet', async () => {
    const agent = await wallets.agentOf(person.owner);
    const { body } = await wallets.send('GET', '/v1/wallets/me', agent);
    await wallets.world.fund(body['ethereum'] as `0x${string}`, 25n * 10n ** 17n);
    await person.signIn(wallets.url);
    expect((await person.rows('rules-in-force'))[0]).toMatch(
      /^SUSD .* \| 1 \| never \| 10 \| 0 \| 10$/,
    );
    expect((await person.rows('balances'))[0]).toMatch(/^2\.5 \| SUSD/);
    const active = async () => (await wallets.send('GET', '/v1/wallets/me', agent)).body['active'];
    await person.click('stop');
    await person.untilShown('start');
    expect(await active()).toBe(false);
    await person.click('start');
    await person.untilShown('stop');
    expect(await active()).toBe(true);
  });

  it('forgets its token with the page, and keeps it nowhere', async () => {
    await person.signIn(wallets.url);
    const kept = `localStorage.length + sessionStorage.length + document.cookie.length`;
    expect(await person.browser.evaluate(kept)).toBe(0);
    await person.open(`${wallets.url}/wallet`);
    await person.untilShown('connect');
    expect(await person.browser.evaluate(`document.getElementById('wallet') === null`)).toBe(true);
  });

  it('sends everybody away, itself too', async () => {
    const agent = await wallets.agentOf(person.owner);
    await person.signIn(wallets.url);
    await person.click('end-all');
    await person.browser.until(`document.querySelector('dialog')?.open === true`);
    await person.browser.evaluate(`document.querySelector('dialog form').requestSubmit()`);
    await person.untilShown('connect');
    expect(await statusOf(agent)).toBe(401);
    expect(await person.rows('access')).toEqual([]);
  });
});

describe('the tokens of a wallet', () => {
  let wallets: WalletWorld;

  beforeAll(async () => {
    wallets = await WalletWorld.start();
  });
  afterAll(() => wallets.stop());

  const listOf = async (token: string): Promise<readonly Json[]> =>
    (await wallets.send('GET', '/v1/wallets/me/tokens', token)).body['tokens'] as Json[];

  it('are listed again after Redis was lost, but for those that were ended', async () => {
    const owner = newAccount();
    const [one, other] = [await wallets.agentOf(owner), await wallets.agentOf(owner)];
    const ownerToken = await wallets.signIn(owner);
    await wallets.post('/v1/logout', '', one);
    const before = await listOf(ownerToken);
    expect(before.map(({ role }) => role).sort()).toEqual(['agent', 'owner']);
    await wallets.flush();
    // The first request has the wallet restored.
    expect((await wallets.send('GET', '/v1/wallets/me', other)).status).toBe(200);
    const after = await listOf(ownerToken);
    const idsOf = (list: readonly Json[]) => list.map(({ id }) => id).sort();
    expect(idsOf(after)).toEqual(idsOf(before));
  });

  it('are ended by their owner alone', async () => {
    const owner = newAccount();
    const agent = await wallets.agentOf(owner);
    const ownerToken = await wallets.signIn(owner);
    const [token] = (await listOf(ownerToken)).filter(({ role }) => role === 'agent');
    const path = `/v1/wallets/me/tokens/${String(token?.['id'])}`;
    const stranger = await wallets.signIn(newAccount());
    expect((await wallets.send('DELETE', path, stranger)).status).toBe(404);
    expect((await wallets.send('DELETE', path, agent)).status).toBe(403);
    expect((await wallets.send('GET', '/v1/wallets/me/tokens', agent)).status).toBe(403);
    expect((await wallets.send('GET', '/v1/wallets/me', agent)).status).toBe(200);
    expect((await wallets.send('DELETE', path, ownerToken)).body).toEqual({ status: 'revoked' });
    expect((await wallets.send('GET', '/v1/wallets/me', agent)).status).toBe(401);
    await wallets.flush();
    expect((await wallets.send('GET', '/v1/wallets/me', agent)).status).toBe(401);
  });
});

/** What would run, or turn the text around, if it were more than text. */
const HOSTILE = '<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>\u202e';
const AMOUNT = { atomic: HOSTILE, decimal: HOSTILE, symbol: HOSTILE, network: HOSTILE };
const LIMIT = {
  asset: HOSTILE,
  symbol: HOSTILE,
  perPayment: AMOUNT,
  budget: AMOUNT,
  spent: AMOUNT,
  left: AMOUNT,
};
/** Invisible characters are shown by their numbers. */
const SHOWN = HOSTILE.replace('\u202e', '⟨U+202E⟩');
/** Worse than the service lets in: the page trusts none of it. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  '/v1/login/nonce': { message: HOSTILE },
  '/v1/login': { token: 'a.b.c' },
  '/v1/wallets/me': { ethereum: HOSTILE, owner: HOSTILE },
  '/v1/wallets/me/grants': {
    grants: [
      {
        id: HOSTILE,
        client: { id: HOSTILE, name: HOSTILE },
        host: HOSTILE,
        scopes: [HOSTILE],
        createdAt: 1,
        expiresAt: 2,
      },
    ],
  },
  '/v1/wallets/me/tokens': {
    tokens: [
      {
        id: HOSTILE,
        role: HOSTILE,
        by: HOSTILE,
        code: HOSTILE,
        createdAt: 1,
        expiresAt: 2,
        isThis: false,
      },
    ],
  },
  '/v1/wallets/me/policy': {
    limits: [LIMIT],
    otherPayees: true,
    scopes: [HOSTILE],
    windowHours: HOSTILE,
    payeeLists: [{ name: HOSTILE, payees: [HOSTILE], limits: [LIMIT] }],
    active: true,
  },
  '/v1/wallets/me/asks': {
    asks: [
      {
        ask: HOSTILE,
        status: 'awaiting_owner',
        amount: AMOUNT,
        url: HOSTILE,
        payTo: HOSTILE,
        expiresAt: HOSTILE,
      },
    ],
  },
  '/v1/wallets/me/balance': { balances: [AMOUNT], unreadable: [HOSTILE] },
  '/v1/wallets/me/payments': {
    payments: [
      {
        at: HOSTILE,
        status: HOSTILE,
        amount: AMOUNT,
        url: HOSTILE,
        payTo: HOSTILE,
        transaction: HOSTILE,
      },
    ],
  },
};

describe('the page of an owner, told hostile words', () => {
  let person: OwnerInBrowser;
  let server: PageServer;

  beforeAll(async () => {
    const pages = new WalletPagesController();
    server = await PageServer.start((app) => {
      app.use(
        '/v1',
        (request, response) => void response.json(ANSWERS[request.baseUrl + request.path]),
      );
      app.get('/wallet', (request, response) => {
        showPage(request, response, pages.wallet());
      });
    });
    person = await OwnerInBrowser.start(newAccount());
    await person.signIn(server.url);
  });
  afterAll(async () => {
    await person.stop();
    server.stop();
  });

  it('shows them as text in every part, and runs none of them', async () => {
    for (const part of ['access', 'rules-in-force', 'balances', 'payments', 'owner', 'asks']) {
      const text = await person.browser.evaluate(`document.getElementById('${part}').textContent`);
      expect([part, String(text).includes(SHOWN)]).toEqual([part, true]);
    }
    expect(
      await person.browser.evaluate(`document.querySelectorAll('main img, main script').length`),
    ).toBe(0);
    expect(await person.browser.evaluate(`globalThis.hit`)).toBeUndefined();
    expect(person.browser.complaints).toEqual([]);
  });
});
