import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../sandbox/processes.js';
import { newAccount } from '../support/payments.js';
import { HOSTED_CLIENTS, type HostedClient } from './hosted-clients.js';
import { Browser, proofKey } from './oauth-visitors.js';
import { WalletWorld } from './wallet-world.js';

type Json = Record<string, unknown>;

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'hosted', version: '1' },
  },
};

describe('a hosted client, by what is published of it', () => {
  let wallets: WalletWorld;
  let issuer: string;

  beforeAll(async () => {
    const port = await freePort();
    issuer = `http://127.0.0.1:${port}`;
    const settings = { WALLET_OAUTH: 'true', WALLET_PUBLIC_URL: issuer };
    wallets = await WalletWorld.start(settings, undefined, port);
  });
  afterAll(() => wallets.stop());

  const firstOf = async (paths: readonly string[], headers: HostedClient['headers']) => {
    for (const path of paths) {
      const response = await fetch(`${issuer}${path}`, { headers });
      if (response.ok) return (await response.json()) as Json;
    }
    throw new Error(`nothing at ${paths.join(', ')}`);
  };
  const callMcp = (message: object, headers: Readonly<Record<string, string>>) =>
    fetch(`${issuer}/mcp`, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(message),
    });

  it.each(HOSTED_CLIENTS)('$name: is let in, works and refreshes', async (hosted) => {
    const { registration, discovery, headers } = hosted;
    const [redirect] = registration.redirect_uris;
    const isSecret = registration.token_endpoint_auth_method === 'client_secret_post';

    const refused = await callMcp(INITIALIZE, headers);
    expect(refused.status).toBe(401);
    const challenge = refused.headers.get('www-authenticate') ?? '';
    expect(challenge).toContain(`resource_metadata="${issuer}${String(discovery.resource[0])}`);
    const resource = await firstOf(discovery.resource, headers);
    const server = await firstOf(discovery.server, headers);
    expect(server['token_endpoint_auth_methods_supported']).toContain(
      registration.token_endpoint_auth_method,
    );

    let client: Json = {};
    for (let round = 0; round < hosted.registrations; round += 1) {
      const registered = await fetch(String(server['registration_endpoint']), {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(registration),
      });
      expect(registered.status).toBe(201);
      client = (await registered.json()) as Json;
    }
    expect(typeof client['client_secret']).toBe(isSecret ? 'string' : 'undefined');
    const credentials: Record<string, string> = {
      client_id: String(client['client_id']),
      ...(isSecret && { client_secret: String(client['client_secret']) }),
    };

    const { verifier, challenge: proof } = proofKey();
    const link = new URL(String(server['authorization_endpoint']));
    const asked = {
      response_type: 'code',
      client_id: String(client['client_id']),
      redirect_uri: redirect,
      state: 'oauth_s_1',
      resource: String(resource['resource']),
      code_challenge: proof,
      code_challenge_method: 'S256',
      ...(hosted.hasScope && { scope: (resource['scopes_supported'] as string[]).join(' ') }),
    };
    for (const [name, value] of Object.entries(asked)) link.searchParams.set(name, value);
    const browser = new Browser();
    const page = await browser.open(link);
    const request = await browser.ask(`${page}/request`);
    expect(request.body).toMatchObject({
      client: { name: registration['client_name'] },
      host: new URL(redirect).host,
      scopes: [{ name: 'wallet:read' }, { name: 'wallet:pay' }],
    });
    const callback = new URL(await browser.approve(page, newAccount()));
    expect(`${callback.origin}${callback.pathname}`).toBe(redirect);
    expect(callback.searchParams.get('state')).toBe('oauth_s_1');

    const askToken = async (fields: Record<string, string>) => {
      const response = await fetch(String(server['token_endpoint']), {
        method: 'POST',
        headers,
        body: new URLSearchParams({ ...credentials, ...fields }),
      });
      return { status: response.status, body: (await response.json()) as Json };
    };
    const code = callback.searchParams.get('code') ?? '';
    const given = await askToken({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirect,
      code_verifier: verifier,
      resource: String(resource['resource']),
    });
    expect([given.status, given.body['token_type']]).toEqual([200, 'Bearer']);
    const fresh = await askToken({
      grant_type: 'refresh_token',
      refresh_token: String(given.body['refresh_token']),
      resource: String(resource['resource']),
    });
    expect(fresh.status).toBe(200);
    const authorization = `Bearer ${String(fresh.body['access_token'])}`;
    expect((await callMcp(INITIALIZE, { ...headers, authorization })).status).toBe(200);
  });

  it.each(
    HOSTED_CLIENTS.filter(
      ({ registration }) => 'client_secret_post' === registration.token_endpoint_auth_method,
    ),
  )('$name: gives no token for a code without its secret', async ({ registration }) => {
    const registered = await fetch(`${issuer}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(registration),
    });
    const clientId = String(((await registered.json()) as Json)['client_id']);
    const response = await fetch(`${issuer}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: 'x'.repeat(43),
        client_id: clientId,
        code_verifier: proofKey().verifier,
      }),
    });
    expect([response.status, ((await response.json()) as Json)['error']]).toEqual([
      401,
      'invalid_client',
    ]);
  });
});
