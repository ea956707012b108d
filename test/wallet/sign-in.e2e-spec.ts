import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAccount } from '../support/payments.js';
import { ADMIN_KEY, signed, WalletWorld } from './wallet-world.js';

describe('signing in to the wallet', () => {
  let wallets: WalletWorld;

  beforeAll(async () => {
    wallets = await WalletWorld.start({ WALLET_TOKEN_TTL_SECONDS: '60' });
  });
  afterAll(() => wallets.stop());

  describe('as the owner, with a nonce', () => {
    it('gives a token that names the owner and ends', async () => {
      const owner = newAccount();
      const token = await wallets.signIn(owner);
      const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
      const claims = JSON.parse(payload) as { sub: string; exp: number };
      expect(claims.sub).toBe(owner.address);
      expect(claims.exp).toBeGreaterThan(Date.now() / 1000);
    });

    it('cannot be replayed', async () => {
      const login = await wallets.signedLogin(newAccount());
      const answers = await Promise.all([1, 2, 3, 4].map(() => wallets.post('/v1/login', login)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
      expect((await wallets.post('/v1/login', login)).status).toBe(401);
    });

    it('refuses a changed message, a foreign signature and a message nobody asked for', async () => {
      const login = await wallets.signedLogin(newAccount());
      const other = await newAccount().signMessage({ message: login['message'] ?? '' });
      const changed = { ...login, message: `${login['message'] ?? ''} ` };
      const forged = { ...login, signature: other };
      const invented = await signed(newAccount(), (login['message'] ?? '').replace(/\w{32}/, '0'));
      for (const sent of [changed, forged, invented]) {
        expect((await wallets.post('/v1/login', sent)).status).toBe(401);
      }
    });

    it('does not take an approval for a sign-in', async () => {
      const owner = newAccount();
      const { body } = await wallets.post('/v1/init', 'true');
      const asked = await wallets.post('/v1/approve/nonce', {
        code: body['user_code'],
        address: owner.address,
      });
      const answer = await wallets.post(
        '/v1/login',
        await signed(owner, String(asked.body['message'])),
      );
      expect(answer.status).toBe(401);
    });

    it('does not take the constant message while that is off', async () => {
      const answer = await wallets.post(
        '/v1/login',
        await signed(newAccount(), 'Login to Privy Proxy'),
      );
      expect(answer.status).toBe(401);
    });

    it('says 400 to an unknown property', async () => {
      const login = await wallets.signedLogin(newAccount());
      expect((await wallets.post('/v1/login', { ...login, role: 'owner' })).status).toBe(400);
    });
  });

  describe('as an agent, by the owner’s approval', () => {
    it.each([['true'], ['{"json":true}'], ['']])('begins with the body %p', async (body) => {
      const answer = await wallets.post('/v1/init', body);
      expect(answer.status).toBe(200);
      const { code = '', auth_url: url, authUrl } = answer.body as Record<string, string>;
      expect(url).toBe(authUrl);
      expect(url).toMatch(/\?code=[B-Z]{4}-[B-Z]{4}-[B-Z]{4}$/);
      expect(url).not.toContain(code.split('.')[1]);
    });

    it('is pending before, completed once after, and hands its token out once', async () => {
      const { body } = await wallets.post('/v1/init', 'true');
      const { code, user_code: userCode } = body;
      const status = () => wallets.post('/v1/status', { code });
      expect((await status()).body).toEqual({ status: 'pending' });
      expect((await wallets.approve(String(userCode), newAccount())).body).toEqual({
        status: 'approved',
      });
      const polls = await Promise.all([1, 2, 3, 4].map(status));
      expect(polls.map((poll) => poll.body['status'])).toEqual(Array(4).fill('completed'));
      expect(polls.filter((poll) => 'token' in poll.body)).toHaveLength(1);
      expect((await status()).body).toEqual({ status: 'completed' });
    });

    it('answers an unknown code like one that is over', async () => {
      const unknown = `BCDF-BCDF-BCDF.${'A'.repeat(43)}`;
      const answer = await wallets.send('GET', `/v1/status?code=${unknown}`);
      expect(answer.status).toBe(404);
      // A token comes by this path, and a cache between would give it to the next one.
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const { body } = await wallets.post('/v1/init', 'true');
      const guessed = `${String(body['user_code'])}.${'A'.repeat(43)}`;
      for (const path of ['/v1/status', `/v1/status?code=${guessed}`]) {
        expect((await wallets.send('GET', path)).body).toEqual(answer.body);
      }
    });

    it('hands nothing to whoever has seen the link, the page and the signed message', async () => {
      const owner = newAccount();
      const { body } = await wallets.post('/v1/init', 'true');
      const userCode = String(body['user_code']);
      const [, secret] = String(body['code']).split('.');
      const asked = await wallets.post('/v1/approve/nonce', {
        code: userCode,
        address: owner.address,
      });
      expect(JSON.stringify([body['auth_url'], body['authUrl'], asked.body])).not.toContain(secret);
      const [other] = await Promise.all([wallets.post('/v1/init', 'true')]);
      const otherSecret = String(other.body['code']).split('.')[1] ?? '';
      const guesses = [
        userCode,
        `${userCode}.`,
        `${userCode}.${userCode}`,
        `.${String(secret)}`,
        `${userCode}.${'A'.repeat(43)}`,
        `${userCode}.${otherSecret}`,
        String(asked.body['nonce']),
      ];
      const tryAll = async (): Promise<void> => {
        for (const code of guesses) {
          const query = `/v1/status?code=${encodeURIComponent(code)}`;
          const tries = [wallets.post('/v1/status', { code }), wallets.send('GET', query)];
          for (const { status, body: reply } of await Promise.all(tries)) {
            expect([code, status, 'token' in reply]).toEqual([code, 404, false]);
          }
        }
      };
      await tryAll();
      const approval = await signed(owner, String(asked.body['message']));
      await wallets.post('/v1/approve', { code: userCode, ...approval });
      // Approved, and still waiting for the agent that has the secret.
      await tryAll();
      const collected = await wallets.post('/v1/status', { code: body['code'] });
      expect(collected.body).toMatchObject({ status: 'completed', token: expect.any(String) });
    });

    it('is approved once, and only for the code that was signed', async () => {
      const owner = newAccount();
      const [first, second] = await Promise.all([1, 2].map(() => wallets.post('/v1/init', 'true')));
      const code = String(first?.body['user_code']);
      const asked = await wallets.post('/v1/approve/nonce', { code, address: owner.address });
      const approval = await signed(owner, String(asked.body['message']));
      const moved = { ...approval, code: second?.body['user_code'] };
      expect((await wallets.post('/v1/approve', moved)).status).toBe(401);
      expect((await wallets.post('/v1/approve', { ...approval, code })).status).toBe(200);
      expect((await wallets.approve(code, newAccount())).status).not.toBe(200);
    });

    it('shows the owner a page that loads nothing from elsewhere', async () => {
      const { body } = await wallets.post('/v1/init', 'true');
      const page = await fetch(String(body['auth_url']).replace(/^http:\/\/[^/]+/, wallets.url));
      const html = await page.text();
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '');
      for (const path of files.filter((one) => !one.startsWith('data:'))) {
        const file = await fetch(new URL(path, page.url));
        expect([path, file.status, new URL(file.url).origin]).toEqual([path, 200, wallets.url]);
      }
    });
  });

  describe('a wallet', () => {
    it('is made once, however many ask for it first', async () => {
      const owner = newAccount();
      const logins = await Promise.all(Array.from({ length: 8 }, () => wallets.signIn(owner)));
      const asked = logins.map((token) => wallets.send('GET', '/v1/wallets/me', token));
      const addresses = (await Promise.all(asked)).map(({ body }) => body['ethereum']);
      expect(new Set(addresses).size).toBe(1);
      expect(addresses[0]).toMatch(/^0x[0-9a-fA-F]{40}$/);
      expect(addresses[0]).not.toBe(owner.address);
    });

    it('asks for a token', async () => {
      const answers = await Promise.all([
        wallets.send('GET', '/v1/wallets/me'),
        wallets.send('GET', '/v1/wallets/me', 'a.b.c'),
        wallets.send('GET', '/v1/wallets/me', ADMIN_KEY),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
    });
  });

  describe('rules', () => {
    it('are the owner’s and the operator’s to change, not the agent’s', async () => {
      const owner = newAccount();
      const [ownerToken, agent] = [await wallets.signIn(owner), await wallets.agentOf(owner)];
      const rules = wallets.rules({ windowHours: 7 });
      expect((await wallets.send('PUT', '/v1/wallets/me/policy', agent, rules)).status).toBe(403);
      const changed = await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, rules);
      expect([changed.status, changed.body['windowHours']]).toEqual([200, 7]);
      const path = `/v1/wallets/me/policy?owner=${owner.address}`;
      const byOperator = await wallets.send('PUT', path, ADMIN_KEY, wallets.rules());
      expect([byOperator.status, byOperator.body['windowHours']]).toEqual([200, 24]);
      const seen = await wallets.send('GET', '/v1/wallets/me/policy', agent);
      expect(seen.body).toMatchObject({ windowHours: 24, revision: 3 });
    });

    it('are refused with what is wrong with them', async () => {
      const token = await wallets.signIn(newAccount());
      const rules = wallets.rules({ unlimited: true });
      expect((await wallets.send('PUT', '/v1/wallets/me/policy', token, rules)).status).toBe(400);
    });
  });

  describe('revocation', () => {
    it('ends one token and leaves the others', async () => {
      const owner = newAccount();
      const [first, second] = [await wallets.agentOf(owner), await wallets.agentOf(owner)];
      expect((await wallets.post('/v1/logout', '', first)).status).toBe(200);
      expect((await wallets.send('GET', '/v1/wallets/me', first)).status).toBe(401);
      expect((await wallets.send('GET', '/v1/wallets/me', second)).status).toBe(200);
    });

    it('ends all tokens there are, and none that is made after it', async () => {
      const owner = newAccount();
      for (let round = 0; round < 3; round += 1) {
        const [ownerToken, agent] = [await wallets.signIn(owner), await wallets.agentOf(owner)];
        expect((await wallets.post('/v1/logout/all', '', agent)).status).toBe(403);
        expect((await wallets.post('/v1/logout/all', '', ownerToken)).status).toBe(200);
        for (const token of [ownerToken, agent]) {
          expect((await wallets.send('GET', '/v1/wallets/me', token)).status).toBe(401);
        }
      }
    });

    it('outlives the loss of Redis', async () => {
      const owner = newAccount();
      const [first, second] = [await wallets.agentOf(owner), await wallets.agentOf(owner)];
      await wallets.post('/v1/logout', '', first);
      await wallets.flush();
      expect((await wallets.send('GET', '/v1/wallets/me', first)).status).toBe(401);
      expect((await wallets.send('GET', '/v1/wallets/me', second)).status).toBe(200);
    });
  });

  it('writes no token, key or signature into its log', async () => {
    const login = await wallets.signedLogin(newAccount());
    const { body } = await wallets.post('/v1/login', login);
    await wallets.send('GET', '/v1/wallets/me', `${String(body['token'])}x`);
    const log = wallets.service.log();
    for (const secret of [String(body['token']), login['signature'] ?? '', ADMIN_KEY]) {
      expect(log).not.toContain(secret);
    }
  });
});

describe('a wallet with the constant-message login on and a low rate limit', () => {
  let wallets: WalletWorld;

  beforeAll(async () => {
    wallets = await WalletWorld.start({ WALLET_LEGACY_LOGIN: 'true', WALLET_RATE_LIMIT: '20' });
  });
  afterAll(() => wallets.stop());

  it('signs an agent in, never an owner, and slows down who asks too often', async () => {
    const login = await signed(newAccount(), 'Login to Privy Proxy');
    const { status, body } = await wallets.post('/v1/login', login);
    expect(status).toBe(200);
    const rules = wallets.rules();
    const token = String(body['token']);
    expect((await wallets.send('PUT', '/v1/wallets/me/policy', token, rules)).status).toBe(403);
    const flipped = (login['signature'] ?? '').replace(/^0x./, (start) =>
      start === '0x1' ? '0x2' : '0x1',
    );
    const forged = { ...login, signature: flipped };
    expect((await wallets.post('/v1/login', forged)).status).toBe(401);

    const guesses = Array.from({ length: 45 }, () => wallets.send('GET', '/v1/status?code=guess'));
    const last = (await Promise.all(guesses)).find((answer) => answer.status === 429);
    expect(last?.body['code']).toBe('rate_limited');
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
