import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { readOptionalObject } from '../../protocol/payment/wire-values.js';

/** Names that clients, this authorization server and its one resource share. */

/** Paths of the authorization server, and where its metadata is (RFC 8414, RFC 9728). */
export const OAUTH_PATHS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  consent: '/oauth/consent',
  serverMetadata: '/.well-known/oauth-authorization-server',
  resourceMetadata: '/.well-known/oauth-protected-resource',
} as const;

/** How a client authenticates: not at all, because it has PKCE, or with its secret. */
export const CLIENT_AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;

/** The only resource for which tokens are valid (RFC 8707), below the public URL. */
const RESOURCE_PATH = '/mcp';

/** Scopes that a client may ask for, and the text that the owner reads before signing. */
export const SCOPES = {
  'wallet:read': 'read balance, rules, prices and payments',
  'wallet:pay': 'pay within the rules',
  hub: 'store, read, share and delete the files of this wallet',
} as const;
export type Scope = keyof typeof SCOPES;
export const SCOPE_NAMES = Object.keys(SCOPES) as readonly Scope[];

/** The scopes that are useful in a deployment. */
export function scopesOffered({ hub }: Pick<WalletConfig, 'hub'>): readonly Scope[] {
  return SCOPE_NAMES.filter((name) => name !== 'hub' || hub !== undefined);
}

/** The scope that a tool needs. */
const TOOL_SCOPES: ReadonlyMap<string, Scope> = new Map([
  ...named('wallet:read', ['wallet_get', 'wallet_balance', 'wallet_fund', 'policy_get']),
  ...named('wallet:read', ['service_search', 'service_details']),
  ...named('wallet:read', ['payment_quote', 'payment_status', 'payment_history']),
  ...named('wallet:pay', ['payment_pay', 'payment_call_tool']),
  ...named('hub', ['hub_put', 'hub_put_url', 'hub_get', 'hub_list']),
  ...named('hub', ['hub_share', 'hub_unshare', 'hub_delete']),
]);
export const SCOPED_TOOLS: readonly string[] = [...TOOL_SCOPES.keys()];

export function resourceOf(publicUrl: string): string {
  return `${publicUrl}${RESOURCE_PATH}`;
}

/**
 * The scopes that an MCP message needs: calls need those of their tool, other messages need any scope. An unknown tool
 * needs the scope that spends.
 */
export function scopesNeeded(message: unknown): readonly Scope[] {
  if (typeof message !== 'object' || message === null) return [];
  const { method, params } = message as { readonly method?: unknown; readonly params?: unknown };
  if (method !== 'tools/call') return [];
  const name = (params as { readonly name?: unknown } | null | undefined)?.name;
  const scope = (typeof name === 'string' ? TOOL_SCOPES.get(name) : undefined) ?? 'wallet:pay';
  const { saveTo } = readOptionalObject(readOptionalObject(params)?.['arguments']) ?? {};
  // A purchase saved into the files needs both.
  return saveTo === undefined || scope === 'hub' ? [scope] : [scope, 'hub'];
}

function named(scope: Scope, tools: readonly string[]): readonly (readonly [string, Scope])[] {
  return tools.map((name) => [name, scope] as const);
}

/**
 * The `WWW-Authenticate` of the resource (RFC 6750, RFC 9728), which leads a client to the authorization server.
 *
 * @param scopes - the missing ones, or those that a client starts with.
 */
export function challengeOf(
  publicUrl: string,
  scopes: readonly Scope[],
  error?: 'invalid_token' | 'insufficient_scope',
): string {
  const metadata = `${publicUrl}${OAUTH_PATHS.resourceMetadata}${RESOURCE_PATH}`;
  const parts = [`resource_metadata="${metadata}"`, `scope="${scopes.join(' ')}"`];
  if (error !== undefined) parts.unshift(`error="${error}"`);
  return `Bearer ${parts.join(', ')}`;
}
