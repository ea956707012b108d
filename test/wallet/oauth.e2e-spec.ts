import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import type { PrivateKeyAccount } from 'viem/accounts';
import { freePort } from '../../sandbox/processes.js';
import { deep, it } from '../support/part.js';
import { newAccount } from '../support/payments.js';
import {
  Browser,
  connectionOf,
  GENERATIONS,
  METADATA,
  proofKey,
  REDIRECT,
  RememberingClient,
} from './oauth-visitors.js';
import { signed, WalletWorld } from './wallet-world.js';

type Json = Record<string, unknown>;

interface Answer {
  readonly status: number;
  readonly body: Json;
}

interface LetIn {
  readonly clientId: string;
  readonly access: string;
  readonly refresh: string;
}

/** Of this machine, for an hour of trust. */
function selfSigned(dir: string): { key: string; cert: string; certFile: string } {
  const [keyFile, certFile] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=127.0.0.1',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-keyout',
      keyFile,
      '-out',
      certFile,
    ],
    { stdio: 'ignore' },
  );
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8'), certFile };
}

const BOTH = 'wallet:read wallet:pay';
const call = (name: string): Json => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: {} },
});

describe('the wallet over OAuth', () => {
  let wallets: WalletWorld;
  let issuer: string;
  let resource: string;
  const dir = mkdtempSync(join(tmpdir(), 'oauth-'));
  const certificate = selfSigned(dir);

  beforeAll(async () => {
    const port = await freePort();
    issuer = `http://127.0.0.1:${port}`;
    resource = `${issuer}/mcp`;
    const trust = { NODE_EXTRA_CA_CERTS: certificate.certFile };
    const own = { WALLET_OAUTH: 'true', WALLET_OAUTH_FETCH_ALLOW: '127.0.0.1' };
    const settings = { ...own, WALLET_PUBLIC_URL: issuer, TRUST_PROXY: '1', ...trust };
    wallets = await WalletWorld.start(settings, undefined, port);
  });
  afterAll(async () => {
    await wallets.stop();
    rmSync(dir, { recursive: true });
  });

  const json = async (path: string): Promise<Json> =>
    (await (await fetch(`${issuer}${path}`)).json()) as Json;
  const register = async (more: object = {}): Promise<Answer> => {
    const response = await fetch(`${issuer}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...METADATA, ...more }),
    });
    return { status: response.status, body: (await response.json()) as Json };
  };
  const newClient = async (): Promise<string> => String((await register()).body['client_id']);
  const linkOf = (clientId: string, challenge: string, more: Record<string, string> = {}): URL => {
    const link = new URL(`${issuer}/oauth/authorize`);
    const asked = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: REDIRECT,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      scope: BOTH,
      state: 'as sent',
      resource,
      ...more,
    };
    for (const [name, value] of Object.entries(asked)) {
      if (value !== '') link.searchParams.set(name, value);
    }
    return link;
  };
  const form = async (path: string, fields: Record<string, string>): Promise<Answer> => {
    const response = await fetch(`${issuer}${path}`, {
      method: 'POST',
      body: new URLSearchParams(fields),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Json) };
  };
  const exchange = (code: string, client: string, verifier: string, more: object = {}) =>
    form('/oauth/token', {
      grant_type: 'authorization_code',
      code,
      client_id: client,
      code_verifier: verifier,
      redirect_uri: REDIRECT,
      resource,
      ...more,
    });
  const refresh = ({ clientId, refresh: token }: LetIn, more: object = {}) =>
    form('/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: token,
      client_id: clientId,
      ...more,
    });
  /** A code that an owner has signed for. */
  const codeOf = async (owner: PrivateKeyAccount, more: Record<string, string> = {}) => {
    const clientId = await newClient();
    const { verifier, challenge } = proofKey();
    const browser = new Browser();
    const page = await browser.open(linkOf(clientId, challenge, more));
    const callback = new URL(await browser.approve(page, owner));
    return { clientId, verifier, code: callback.searchParams.get('code') ?? '' };
  };
  const letIn = async (owner = newAccount(), more: Record<string, string> = {}): Promise<LetIn> => {
    const { clientId, verifier, code } = await codeOf(owner, more);
    const { body } = await exchange(code, clientId, verifier);
    return {
      clientId,
      access: String(body['access_token']),
      refresh: String(body['refresh_token']),
    };
  };
  const ask = (token: string, message: object = call('wallet_get'), path = '/mcp') =>
    fetch(`${issuer}${path}`, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(token !== '' && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(message),
    });

  /** `fetch` names a form by itself; clients that name none do not use it. */
  const callAccepting = async (token: string, accept: string | undefined) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(accept !== undefined && { accept }),
    };
    const asking = request(resource, { method: 'POST', headers });
    asking.end(JSON.stringify(call('wallet_get')));
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    const chunks = await answer.toArray();
    return {
      status: answer.statusCode,
      type: answer.headers['content-type'],
      text: Buffer.concat(chunks as Buffer[]).toString(),
    };
  };

  describe('tells clients where to sign in', () => {
    it('by metadata of the resource and of the server that gives tokens for it', async () => {
      const found = await json('/.well-known/oauth-protected-resource/mcp');
      expect(found).toMatchObject({
        resource,
        authorization_servers: [issuer],
        scopes_supported: ['wallet:read', 'wallet:pay'],
      });
      expect(await json('/.well-known/oauth-protected-resource')).toEqual(found);
      expect(await json('/.well-known/oauth-authorization-server')).toMatchObject({
        issuer,
        code_challenge_methods_supported: ['S256'],
        token_endpoint: `${issuer}/oauth/token`,
        authorization_response_iss_parameter_supported: true,
      });
    });

    it('with each refusal at /mcp, and never at /mcp/token', async () => {
      const metadata = `resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp"`;
      for (const [token, error] of [
        ['', ''],
        ['x'.repeat(43), 'error="invalid_token", '],
      ] as const) {
        const open = await ask(token);
        expect(open.status).toBe(401);
        const challenge = `Bearer ${error}${metadata}, scope="${BOTH}"`;
        expect(open.headers.get('www-authenticate')).toBe(challenge);
        const pasted = await ask(token, call('wallet_get'), '/mcp/token');
        expect([pasted.status, pasted.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      }
    });

    it('while tokens that were pasted are good at both', async () => {
      const token = await wallets.agentOf(newAccount());
      for (const path of ['/mcp', '/mcp/token']) {
        expect((await ask(token, call('wallet_get'), path)).status).toBe(200);
      }
    });
  });

  describe.each(GENERATIONS)('serves %s', (generation) => {
    it('from the first refusal to a tool, a refreshed token and the end of it', async () => {
      const owner = newAccount();
      const known = new RememberingClient();
      const connect = () => connectionOf(generation, resource, known);
      const first = connect();
      await expect(first.begin()).rejects.toThrow();
      expect(known.client?.client_id).toEqual(expect.any(String));
      const browser = new Browser();
      const page = await browser.open(known.asked ?? '');
      const callback = new URL(await browser.approve(page, owner));
      expect(`${callback.origin}${callback.pathname}`).toBe(REDIRECT);
      expect(callback.searchParams.get('iss')).toBe(issuer);
      await first.finish(callback.searchParams);

      const second = connect();
      await second.begin();
      const tool = async () => {
        const result = await second.client.callTool({ name: 'wallet_get', arguments: {} });
        return (result as { structuredContent?: unknown }).structuredContent;
      };
      const ownerToken = await wallets.signIn(owner);
      const { body } = await wallets.send('GET', '/v1/wallets/me', ownerToken);
      expect(await tool()).toMatchObject({
        address: String(body['ethereum']).toLowerCase(),
        custody: 'local',
      });

      // A token that is no good any more: the client refreshes it by itself.
      const before = known.given?.refresh_token;
      known.spoil();
      expect(await tool()).toMatchObject({ custody: 'local' });
      expect(known.given?.refresh_token).not.toBe(before);

      const { status } = await form('/oauth/revoke', {
        token: known.given?.refresh_token ?? '',
        client_id: known.client?.client_id ?? '',
      });
      expect(status).toBe(200);
      expect((await ask(known.given?.access_token ?? '')).status).toBe(401);
      await second.client.close();
    });
  });

  describe('asks the owner', () => {
    it('with the client, where its answer goes, what for, and the rules, in what is signed', async () => {
      const { body } = await register({ client_name: 'Evil"\nURI: x\u202e' });
      const browser = new Browser();
      const page = await browser.open(linkOf(String(body['client_id']), proofKey().challenge));
      const asked = await browser.ask(`${page}/request`);
      expect(asked.body).toMatchObject({
        client: { name: 'EvilURI x' },
        host: 'a program on your own machine',
        scopes: [{ name: 'wallet:read' }, { name: 'wallet:pay' }],
      });
      const nonce = await browser.ask(`${page}/nonce`, { address: newAccount().address });
      const statement = String(nonce.body['message']).split('\n')[3];
      expect(statement).toMatch(
        /^Let the application "EvilURI x", answered at a program on your own machine, into my wallet for wallet:read \(.*\), wallet:pay \(.*\)\. Request [\w-]{12}\. Rules: SUSD/,
      );
    });

    it('in the browser that came with the request, and once', async () => {
      const owner = newAccount();
      const { challenge } = proofKey();
      const browser = new Browser();
      const page = await browser.open(linkOf(await newClient(), challenge));
      for (const path of ['nonce', 'approve', 'deny']) {
        const body = path === 'nonce' ? { address: owner.address } : await signed(owner, 'x');
        const sent = path === 'deny' ? {} : body;
        expect((await new Browser().ask(`${page}/${path}`, sent)).status).toBe(404);
      }
      const asked = await browser.ask(`${page}/nonce`, { address: owner.address });
      const approval = await signed(owner, String(asked.body['message']));
      expect((await browser.ask(`${page}/approve`, approval)).status).toBe(200);
      expect((await browser.ask(`${page}/approve`, approval)).status).toBe(409);
    });

    it('for each request anew: a signature for one opens no other', async () => {
      const owner = newAccount();
      const clientId = await newClient();
      const [one, other] = [new Browser(), new Browser()];
      const page = await one.open(linkOf(clientId, proofKey().challenge));
      const second = await other.open(linkOf(clientId, proofKey().challenge));
      const asked = await one.ask(`${page}/nonce`, { address: owner.address });
      const approval = await signed(owner, String(asked.body['message']));
      expect((await other.ask(`${second}/approve`, approval)).status).toBe(401);
      // The same browser comes again, and is not signed in.
      await one.approve(page, owner);
      const again = await one.open(linkOf(clientId, proofKey().challenge));
      expect(again).toContain(`${issuer}/oauth/consent/`);
    });

    it('and gives the code to that browser alone, wherever the links of it are seen', async () => {
      const owner = newAccount();
      const browser = new Browser();
      const page = await browser.open(linkOf(await newClient(), proofKey().challenge));
      const asked = await browser.ask(`${page}/nonce`, { address: owner.address });
      const approval = await signed(owner, String(asked.body['message']));
      const { body } = await browser.ask(`${page}/approve`, approval);
      const next = String(body['location']);
      const uid = page.split('/').at(-1) ?? '';
      for (const link of [next, `${issuer}/oauth/authorize/${uid}`, page]) {
        expect(await new Browser().open(link)).not.toContain('code=');
      }
      expect(await browser.open(next)).toContain('code=');
    });

    it('and hands a no on to the client', async () => {
      const browser = new Browser();
      const page = await browser.open(linkOf(await newClient(), proofKey().challenge));
      const { body } = await browser.ask(`${page}/deny`, {});
      const callback = new URL(await browser.open(String(body['location'])));
      expect(Object.fromEntries(callback.searchParams)).toEqual({
        error: 'access_denied',
        state: 'as sent',
        iss: issuer,
      });
    });
  });

  describe('takes clients as they are:', () => {
    it.each([
      [
        'Cursor, which has a redirect of its own scheme',
        {
          client_name: 'Cursor',
          redirect_uris: [
            'cursor://anysphere.cursor-mcp/oauth/callback',
            'https://www.cursor.com/agents/mcp/oauth/callback',
            'http://localhost:8787/callback',
          ],
        },
      ],
      ['one that names scopes of OpenID', { scope: 'openid email profile' }],
      ['one that names a scope for refresh tokens', { scope: 'wallet:read offline_access' }],
      [
        'one that names a grant more',
        { grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'] },
      ],
      ['one with empty URLs', { tos_uri: '', policy_uri: '', client_uri: '', logo_uri: '' }],
    ])('%s', async (_, more) => {
      const { status, body } = await register(more);
      expect(status).toBe(201);
      // Registered for what is here, and told so.
      for (const one of (body['grant_types'] as string[] | undefined) ?? []) {
        expect(['authorization_code', 'refresh_token']).toContain(one);
      }
      expect(JSON.stringify(body['scope'] ?? '')).not.toMatch(/openid|offline/);
    });

    it('a redirect of its own scheme gets the code, exactly as registered', async () => {
      const redirect = 'cursor://anysphere.cursor-mcp/oauth/callback';
      const { body } = await register({ redirect_uris: [redirect, REDIRECT] });
      const clientId = String(body['client_id']);
      const { verifier, challenge } = proofKey();
      for (const other of [`${redirect}/more`, 'cursor://other/oauth/callback']) {
        const link = linkOf(clientId, challenge, { redirect_uri: other });
        expect(await new Browser().open(link)).toMatch(/^400 invalid_redirect_uri/);
      }
      const browser = new Browser();
      const page = await browser.open(linkOf(clientId, challenge, { redirect_uri: redirect }));
      const asked = await browser.ask(`${page}/request`);
      expect(asked.body['host']).toBe('a program on your own machine');
      const callback = await browser.approve(page, newAccount());
      expect(callback.startsWith(`${redirect}?`)).toBe(true);
      const code = new URL(callback).searchParams.get('code') ?? '';
      const given = await exchange(code, clientId, verifier, { redirect_uri: redirect });
      expect((await ask(String(given.body['access_token']))).status).toBe(200);
    });

    it.each(['', '/', '/mcp/', '/mcp'])(
      'one that names this server and %j as the resource, with its code and its refresh too',
      async (end) => {
        const named = end === '' ? '' : `${issuer}${end}`;
        const { clientId, verifier, code } = await codeOf(newAccount(), { resource: named });
        const { body } = await exchange(code, clientId, verifier, { resource: named });
        const tokens = {
          clientId,
          access: String(body['access_token']),
          refresh: String(body['refresh_token']),
        };
        expect((await ask(tokens.access)).status).toBe(200);
        const again = await refresh(tokens, { resource: named });
        expect((await ask(String(again.body['access_token']))).status).toBe(200);
      },
    );

    it('one that asks for scopes that are not here, and tells it which it has', async () => {
      const scope = 'openid wallet:read profile';
      const { clientId, verifier, code } = await codeOf(newAccount(), { scope });
      const { body } = await exchange(code, clientId, verifier);
      expect(body['scope']).toBe('wallet:read');
      const unknown = await codeOf(newAccount(), { scope: 'openid email profile' });
      const given = await exchange(unknown.code, unknown.clientId, unknown.verifier);
      expect(given.body['scope']).toBe(BOTH);
    });

    it.each([undefined, '*/*', 'application/json', 'application/json, text/event-stream'])(
      'one that accepts %s at /mcp, in the form it reads',
      async (accept) => {
        const { access } = await letIn();
        const answer = await callAccepting(access, accept);
        expect(answer.status).toBe(200);
        const isStream = accept?.includes('text/event-stream') === true;
        expect(answer.type).toMatch(isStream ? /^text\/event-stream/ : /^application\/json/);
        const [, data = answer.text] = isStream ? (/^data: (.*)$/m.exec(answer.text) ?? []) : [];
        const message = JSON.parse(data) as { result: { structuredContent: object } };
        expect(message.result.structuredContent).toMatchObject({ custody: 'local' });
      },
    );

    it('but none that reads no form there is', async () => {
      const { access } = await letIn();
      expect((await callAccepting(access, 'text/html')).status).toBe(406);
    });
  });

  describe('refuses', () => {
    it('a redirect URI that was not registered, without going there', async () => {
      const elsewhere = { redirect_uri: 'https://evil.example/callback' };
      const answer = await new Browser().open(
        linkOf(await newClient(), proofKey().challenge, elsewhere),
      );
      expect(answer).toMatch(/^400 invalid_redirect_uri/);
    });

    it.each([
      ['a longer path', `${REDIRECT}/more`],
      ['a path that climbs', `${REDIRECT}/../callback`],
      ['a query', `${REDIRECT}?next=https://evil.example`],
      ['a fragment', `${REDIRECT}#at`],
      ['another case', REDIRECT.toUpperCase()],
      ['a name before it', REDIRECT.replace('://', '://evil.example@')],
      ['a longer host', REDIRECT.replace(/^(https?:\/\/[^/:]+)/, '$1.evil.example')],
      ['a script', 'javascript:alert(1)'],
      ['none', ''],
    ])('the redirect URI that was registered with %s, without going there', async (_, uri) => {
      // Of two that are registered one has to be named.
      const redirects = { redirect_uris: [REDIRECT, `${REDIRECT}-other`] };
      const clientId = String((await register(redirects)).body['client_id']);
      const link = linkOf(clientId, proofKey().challenge, { redirect_uri: uri });
      expect(await new Browser().open(link)).toMatch(/^400 invalid_re(direct_uri|quest)/);
    });

    it.each([
      ['no proof key', { code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
      ['a plain proof key', { code_challenge_method: 'plain' }, 'invalid_request'],
      ['another resource', { resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
      ['tokens in a URL', { response_type: 'token' }, 'unsupported_response_type'],
    ])('%s', async (_, more, error) => {
      const link = linkOf(await newClient(), proofKey().challenge, more);
      const callback = new URL(await new Browser().open(link));
      expect(`${callback.origin}${callback.pathname}`).toBe(REDIRECT);
      const { searchParams, hash } = callback;
      const heard = searchParams.get('error') ?? new URLSearchParams(hash.slice(1)).get('error');
      expect(heard).toBe(error);
      // Who asked two servers has to know which of them says no (RFC 9207), as with a yes.
      const given = searchParams.get('iss') ?? new URLSearchParams(hash.slice(1)).get('iss');
      expect(given).toBe(issuer);
    });

    // Each with a code of its own, which nothing has been tried with: no attack hides behind another.
    it.each([
      ['another proof', { code_verifier: proofKey().verifier }, 'invalid_grant'],
      ['an empty proof', { code_verifier: '' }, 'invalid_grant'],
      ['no proof', { code_verifier: undefined }, 'invalid_grant'],
      ['its proof key in place of a proof', { code_verifier: 'challenge' }, 'invalid_grant'],
      ['another redirect', { redirect_uri: 'http://127.0.0.1:1/x' }, 'invalid_grant'],
      ['another client', { client_id: 'another' }, 'invalid_grant'],
      ['another resource', { resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
    ])('a code with %s', async (_, more: Readonly<Record<string, string | undefined>>, error) => {
      const { clientId, verifier, code } = await codeOf(newAccount());
      const asked = {
        grant_type: 'authorization_code',
        code,
        client_id: clientId,
        code_verifier: verifier,
        redirect_uri: REDIRECT,
        resource,
        ...more,
      };
      if (more['client_id'] !== undefined) asked.client_id = await newClient();
      if (more['code_verifier'] === 'challenge') {
        asked.code_verifier = createHash('sha256').update(verifier).digest('base64url');
      }
      const fields = Object.entries(asked).flatMap(([name, value]) =>
        (value as string | undefined) === undefined ? [] : [[name, value] as const],
      );
      const { status, body } = await form('/oauth/token', Object.fromEntries(fields));
      expect([status, body['error'], body['access_token']]).toEqual([400, error, undefined]);
    });

    it('a code twice, and ends what the first use gave', async () => {
      const { clientId, verifier, code } = await codeOf(newAccount());
      const first = await exchange(code, clientId, verifier);
      expect((await ask(String(first.body['access_token']))).status).toBe(200);
      const again = await exchange(code, clientId, verifier);
      expect([again.status, again.body['error']]).toEqual([400, 'invalid_grant']);
      expect((await ask(String(first.body['access_token']))).status).toBe(401);
    });

    it('all but one of those who bring a code at the same time', async () => {
      const { clientId, verifier, code } = await codeOf(newAccount());
      const answers = await Promise.all([1, 2, 3, 4].map(() => exchange(code, clientId, verifier)));
      expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    });

    it('a refresh token that was used, and ends the grant for whoever has the new one', async () => {
      const first = await letIn();
      const { body } = await refresh(first);
      const second = { ...first, refresh: String(body['refresh_token']) };
      expect(second.refresh).not.toBe(first.refresh);
      expect((await ask(String(body['access_token']))).status).toBe(200);
      expect((await refresh(first)).body['error']).toBe('invalid_grant');
      expect((await refresh(second)).body['error']).toBe('invalid_grant');
      expect((await ask(String(body['access_token']))).status).toBe(401);
    });

    it('a refresh for more than was given, or of another client', async () => {
      const small = await letIn(newAccount(), { scope: 'wallet:read' });
      expect((await refresh(small, { scope: BOTH })).body['error']).toBe('invalid_scope');
      const other = { ...small, clientId: await newClient() };
      expect((await refresh(other)).body['error']).toBe('invalid_grant');
      expect((await refresh(small)).status).toBe(200);
    });

    it('a refresh for another resource', async () => {
      const given = await letIn();
      const elsewhere = { resource: 'https://elsewhere.example/mcp' };
      expect((await refresh(given, elsewhere)).body['error']).toBe('invalid_target');
      expect((await refresh(await letIn(), { resource })).status).toBe(200);
    });

    deep('a token of another site, though it has the same secrets and the same Redis', async () => {
      const { access } = await letIn();
      expect((await ask(access)).status).toBe(200);
      const other = await wallets.another({ WALLET_PUBLIC_URL: 'http://127.0.0.1:1' });
      const response = await fetch(`${other.url}/mcp`, {
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${access}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(call('wallet_get')),
      });
      await other.stop();
      expect(response.status).toBe(401);
      expect((await ask(access)).status).toBe(200);
    });

    it('a tool beyond the scope, and says which one is missing', async () => {
      const { access } = await letIn(newAccount(), { scope: 'wallet:read' });
      expect((await ask(access)).status).toBe(200);
      for (const name of ['payment_pay', 'unheard_of']) {
        const refused = await ask(access, call(name));
        expect(refused.status).toBe(403);
        const challenge = refused.headers.get('www-authenticate') ?? '';
        expect(challenge).toContain('error="insufficient_scope"');
        expect(challenge).toContain('scope="wallet:pay"');
      }
    });

    it('its tokens anywhere but at the resource they are for', async () => {
      const { access, refresh: refreshToken } = await letIn();
      expect((await ask(access)).status).toBe(200);
      expect((await ask(access, call('wallet_get'), '/mcp/token')).status).toBe(401);
      expect((await wallets.send('GET', '/v1/wallets/me', access)).status).toBe(401);
      expect((await ask(refreshToken)).status).toBe(401);
    });

    it.each([
      ['plain http elsewhere', { redirect_uris: ['http://evil.example/x'] }],
      ['a script', { redirect_uris: ['javascript://x/%0aalert(1)'], application_type: 'native' }],
      ['none', { redirect_uris: [] }],
      ['eleven', { redirect_uris: Array.from({ length: 11 }, (_, i) => `https://a.example/${i}`) }],
      ['a long one', { redirect_uris: [`https://a.example/${'x'.repeat(600)}`] }],
      ['large metadata', { client_name: 'x'.repeat(9000) }],
    ])('to register a client with %s for its redirects', async (_, more) => {
      const { status, body } = await register(more);
      expect(status).toBe(400);
      expect(String(body['error'])).toMatch(/^invalid_(client_metadata|redirect_uri)$/);
    });
  });

  describe('takes a client that is named by a document', () => {
    let site: Server;
    let at: string;
    let documents: Record<string, object>;
    const fetched: string[] = [];

    beforeAll(async () => {
      const { key, cert } = certificate;
      site = createServer({ key, cert }, (request, response) => {
        fetched.push(request.url ?? '');
        response.end(JSON.stringify(documents[request.url ?? ''] ?? 'none'));
      });
      await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
      at = `https://127.0.0.1:${(site.address() as AddressInfo).port}`;
      const loopback = { ...METADATA, redirect_uris: ['http://127.0.0.1/callback'] };
      documents = {
        '/client': { ...loopback, client_id: `${at}/client` },
        '/liar': { ...loopback, client_id: `${at}/client` },
        '/scheme': { ...METADATA, client_id: `${at}/scheme`, redirect_uris: ['data://x'] },
      };
    });
    afterAll(() => {
      site.close();
      site.closeAllConnections();
    });

    deep('and tells the owner which host says so', async () => {
      const { verifier, challenge } = proofKey();
      const browser = new Browser();
      const page = await browser.open(linkOf(`${at}/client`, challenge));
      const { body } = await browser.ask(`${page}/request`);
      expect(body['client']).toMatchObject({ name: 'Test client', site: new URL(at).host });
      const callback = new URL(await browser.approve(page, newAccount()));
      const code = callback.searchParams.get('code') ?? '';
      const given = await exchange(code, `${at}/client`, verifier);
      expect((await ask(String(given.body['access_token']))).status).toBe(200);
    });

    it.each(['liar', 'scheme', 'none'])('but not %s', async (path) => {
      const answer = await new Browser().open(linkOf(`${at}/${path}`, proofKey().challenge));
      expect(answer).toMatch(/^40[01] invalid_(client|redirect_uri)/);
    });

    deep('but not with URLs in it that would be fetched, too', async () => {
      documents['/sector'] = {
        ...METADATA,
        client_id: `${at}/sector`,
        sector_identifier_uri: `${at}/inside`,
      };
      const page = await new Browser().open(linkOf(`${at}/sector`, proofKey().challenge));
      expect(page).toContain('/oauth/consent/');
      const registered = await register({ sector_identifier_uri: `${at}/inside` });
      expect([registered.status, registered.body['sector_identifier_uri']]).toEqual([
        201,
        undefined,
      ]);
      expect(fetched).toContain('/sector');
      expect(fetched).not.toContain('/inside');
    });

    deep('but not from where agents may buy', async () => {
      const other = await wallets.another({ WALLET_OAUTH_FETCH_ALLOW: '' });
      const link = new URL(linkOf(`${at}/client`, proofKey().challenge));
      link.port = new URL(other.url).port;
      const before = fetched.length;
      expect(await new Browser().open(link)).toMatch(/^40[01] invalid_client/);
      expect(fetched.length).toBe(before);
      await other.stop();
    });

    deep('but not from inside', async () => {
      for (const inside of ['https://169.254.169.254/client', 'https://[::1]/client']) {
        const answer = await new Browser().open(linkOf(inside, proofKey().challenge));
        expect(answer).toMatch(/^40[01] invalid_client/);
      }
    });
  });

  describe('lets the owner', () => {
    it('see whom it let in, and end that', async () => {
      const owner = newAccount();
      const { clientId, access, refresh: token } = await letIn(owner);
      const ownerToken = await wallets.signIn(owner);
      const list = async () =>
        (await wallets.send('GET', '/v1/wallets/me/grants', ownerToken)).body['grants'] as Json[];
      const [grant] = await list();
      expect(grant).toMatchObject({
        client: { id: clientId, name: 'Test client' },
        scopes: ['wallet:read', 'wallet:pay'],
      });
      const path = `/v1/wallets/me/grants/${String(grant?.['id'])}`;
      const stranger = await wallets.signIn(newAccount());
      expect((await wallets.send('DELETE', path, stranger)).status).toBe(404);
      const agent = await wallets.agentOf(owner);
      expect((await wallets.send('DELETE', path, agent)).status).toBe(403);
      expect((await ask(access)).status).toBe(200);
      expect((await wallets.send('DELETE', path, ownerToken)).body).toEqual({ status: 'revoked' });
      expect((await ask(access)).status).toBe(401);
      expect((await refresh({ clientId, access, refresh: token })).body['error']).toBe(
        'invalid_grant',
      );
      expect(await list()).toEqual([]);
    });

    it('send everybody away at once', async () => {
      const owner = newAccount();
      const client = await letIn(owner);
      const waiting = await codeOf(owner);
      await wallets.post('/v1/logout/all', {}, await wallets.signIn(owner));
      expect((await ask(client.access)).status).toBe(401);
      expect((await refresh(client)).body['error']).toBe('invalid_grant');
      const late = await exchange(waiting.code, waiting.clientId, waiting.verifier);
      expect(late.body['error']).toBe('invalid_grant');
      expect((await ask((await letIn(owner)).access)).status).toBe(200);
    });
  });

  it.each([
    ['from a network', 'x402:wl:own:203.0.113.0/24', 100, 429],
    ['by anybody', 'x402:wl:ow', 10_000, 503],
  ])('registers no more clients %s than it keeps, and says so', async (_, key, most, status) => {
    const redis = new Redis(wallets.world.redis.url);
    const needed = Math.ceil(Date.now() / 1000) + 600;
    // Clients of the tests before, whose places may be taken by now.
    await redis.zremrangebyscore(key, '-inf', needed - 1);
    const others = Array.from({ length: most }, (__, at) => [needed, `other ${at}`]);
    await redis.zadd(key, ...others.flat());
    const response = await fetch(`${issuer}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' },
      body: JSON.stringify(METADATA),
    });
    await redis.zrem(key, ...others.map(([, name]) => String(name)));
    redis.disconnect();
    expect([response.status, response.headers.get('retry-after')]).toEqual([status, '60']);
    expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' });
  });

  describe('has little room for what strangers have stored:', () => {
    let redis: Redis;
    beforeAll(() => {
      redis = new Redis(wallets.world.redis.url);
    });
    afterAll(() => {
      redis.disconnect();
    });
    const limitMemory = async (bytes: number) => {
      await redis.config('SET', 'maxmemory', String(bytes));
      // For as long as a measure serves.
      await new Promise((resolve) => setTimeout(resolve, 1100));
    };
    const openFrom = async (address: string, link: URL) => {
      const headers = { 'x-forwarded-for': address };
      const response = await new Browser().visit(link, { headers });
      const location = new URL(response.headers.get('location') ?? issuer);
      return { status: response.status, error: location.searchParams.get('error') };
    };

    deep('a request is refused for what is too long in it', async () => {
      const link = linkOf(await newClient(), proofKey().challenge, { state: 'x'.repeat(2049) });
      expect(await new Browser().open(link)).toMatch(/^400 invalid_request: state must be/);
    });

    deep('a network that has used its own up is told so, and nobody else', async () => {
      const link = linkOf(await newClient(), proofKey().challenge);
      const full = String((Date.now() + 16_000_000) * 1000);
      await redis.set('x402:rl:wallet-room:oauth:198.51.100.0/24', full, 'PX', 60_000);
      expect(await openFrom('198.51.100.1', link)).toEqual({
        status: 303,
        error: 'temporarily_unavailable',
      });
      expect(await openFrom('198.51.101.1', link)).toEqual({ status: 303, error: null });
    });

    deep('none where Redis is nearly full, while owners answer and agents work', async () => {
      const owner = newAccount();
      const { access } = await letIn(owner);
      const link = linkOf(await newClient(), proofKey().challenge);
      const browser = new Browser();
      const page = await browser.open(link);
      const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
      await limitMemory(Math.ceil(used * 1.15));
      const [refused, begun, approved, tool, known, unknown] = [
        await openFrom('198.51.102.1', link),
        await wallets.post('/v1/init', {}),
        await browser.approve(page, owner),
        await ask(access),
        await wallets.post('/v1/login/nonce', { address: owner.address }),
        await wallets.post('/v1/login/nonce', { address: newAccount().address }),
      ];
      await limitMemory(0);
      expect(refused).toEqual({ status: 303, error: 'temporarily_unavailable' });
      expect([begun.status, begun.headers.get('retry-after')]).toEqual([503, '60']);
      expect(approved).toContain('code=');
      expect(tool.status).toBe(200);
      expect([known.status, unknown.status]).toEqual([200, 503]);
    });
  });

  it('keeps no code, token or signature where somebody else reads it', async () => {
    const { access, refresh: token } = await letIn();
    expect((await ask(access)).status).toBe(200);
    for (const secret of [access, token]) {
      expect(secret).toMatch(/^[\w-]{43}$/);
      expect(wallets.service.log().includes(secret)).toBe(false);
      expect(await wallets.holdsInRedis(secret)).toBe(false);
    }
  });
});
