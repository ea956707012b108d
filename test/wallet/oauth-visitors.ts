import { createHash, randomBytes } from 'node:crypto';
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { PrivateKeyAccount } from 'viem/accounts';
import { signed } from './wallet-world.js';

export const REDIRECT = 'http://127.0.0.1:33418/callback';
export const METADATA = {
  client_name: 'Test client',
  redirect_uris: [REDIRECT],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

type Saved = Parameters<NonNullable<OAuthClientProvider['saveClientInformation']>>[0];
type Tokens = Parameters<OAuthClientProvider['saveTokens']>[0];

/** What an MCP client keeps between its visits, in memory; the official clients do all the rest. */
export class RememberingClient implements OAuthClientProvider {
  readonly clientMetadata: typeof METADATA;
  /** Where the owner's browser is sent. */
  asked: URL | undefined;
  client: Saved | undefined;
  given: Tokens | undefined;
  #verifier = '';

  /** @param redirectUrl - where it gets the owner's answer. */
  constructor(readonly redirectUrl = REDIRECT) {
    this.clientMetadata = { ...METADATA, redirect_uris: [redirectUrl] };
  }

  clientInformation(): Saved | undefined {
    return this.client;
  }
  saveClientInformation(client: Saved): void {
    this.client = client;
  }
  tokens(): Tokens | undefined {
    return this.given;
  }
  saveTokens(tokens: Tokens): void {
    this.given = tokens;
  }
  /** What it shows is no token any more, and it does not know. */
  spoil(): void {
    if (this.given !== undefined) this.given = { ...this.given, access_token: 'x'.repeat(43) };
  }
  redirectToAuthorization(url: URL): void {
    this.asked = url;
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier(): string {
    return this.#verifier;
  }
}

/** The official clients, by the generation of the protocol they speak first. */
type Generation = 'the client of 2026' | 'the client of 2025';
export const GENERATIONS = [
  'the client of 2026',
  'the client of 2025',
] as const satisfies readonly Generation[];

interface Connection {
  readonly client: Client | OldClient;
  /** Connects; rejects while its owner has not let it in. */
  begin(): Promise<void>;
  /** Goes on with what the owner's browser brought. */
  finish(callback: URLSearchParams): Promise<void>;
}

export function connectionOf(
  generation: Generation,
  resource: string,
  known: RememberingClient,
): Connection {
  const authProvider = known as never;
  const url = new URL(resource);
  if (generation === 'the client of 2026') {
    const transport = new StreamableHTTPClientTransport(url, { authProvider });
    const client = new Client({ name: 'test', version: '1' });
    const finish = (callback: URLSearchParams) => transport.finishAuth(callback);
    return { client, finish, begin: () => client.connect(transport) };
  }
  const transport = new OldHttp(url, { authProvider });
  const client = new OldClient({ name: 'test', version: '1' });
  const finish = (callback: URLSearchParams) => transport.finishAuth(callback.get('code') ?? '');
  return { client, finish, begin: () => client.connect(transport) };
}

/** A browser, as far as it matters here: cookies by path, redirects one at a time. */
export class Browser {
  readonly #cookies = new Map<string, { readonly value: string; readonly path: string }>();

  async visit(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const { pathname } = new URL(url);
    const cookie = [...this.#cookies]
      .filter(([, { path }]) => pathname === path || pathname.startsWith(path.replace(/\/?$/, '/')))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
    const headers = { accept: 'text/html', ...(init.headers as object), cookie };
    const response = await fetch(url, { redirect: 'manual', ...init, headers });
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    return response;
  }

  async ask(
    url: string,
    body?: object,
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await this.visit(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Opens a client's link. @returns the page where the owner answers, or where else it leads. */
  async open(link: string | URL): Promise<string> {
    const response = await this.visit(link);
    return response.headers.get('location') ?? `${response.status} ${await response.text()}`;
  }

  /** The owner signs on the page. @returns where the client gets the answer. */
  async approve(page: string, owner: PrivateKeyAccount): Promise<string> {
    const asked = await this.ask(`${page}/nonce`, { address: owner.address });
    const approval = await signed(owner, String(asked.body['message']));
    const { body } = await this.ask(`${page}/approve`, approval);
    return this.open(String(body['location']));
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(/; */);
    const at = pair.indexOf('=');
    const path = attributes.find((one) => /^path=/i.test(one))?.slice(5) ?? '/';
    this.#cookies.set(pair.slice(0, at), { value: pair.slice(at + 1), path });
  }
}

/** A proof key (RFC 7636). */
export function proofKey(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
