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

/** How a client shows who it is: not at all, for it has PKCE, or by the secret it was given. */
export const CLIENT_AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;

/** The one resource tokens are good for (RFC 8707), below the public URL. */
export const RESOURCE_PATH = '/mcp';

/** What a client may ask for, and what the owner reads before signing. */
export const SCOPES = {
  'wallet:read': 'read balance, rules, prices and payments',
  'wallet:pay': 'pay within the rules, and use any other tool',
} as const;
export type Scope = keyof typeof SCOPES;
export const SCOPE_NAMES = Object.keys(SCOPES) as readonly Scope[];

/** Tools that spend nothing. Any other needs the larger scope, one that is added later too. */
const READING_TOOLS: ReadonlySet<string> = new Set([
  'wallet_get',
  'wallet_balance',
  'wallet_fund',
  'service_search',
  'service_details',
  'payment_quote',
  'payment_status',
  'payment_history',
  'policy_get',
]);

export function resourceOf(publicUrl: string): string {
  return `${publicUrl}${RESOURCE_PATH}`;
}

/** The scope a message of MCP needs: calls of tools by the tool, all else by being let in at all. */
export function scopeNeeded(message: unknown): Scope | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { method, params } = message as { readonly method?: unknown; readonly params?: unknown };
  if (method !== 'tools/call') return undefined;
  const name = (params as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && READING_TOOLS.has(name) ? 'wallet:read' : 'wallet:pay';
}

/**
 * The `WWW-Authenticate` of the resource (RFC 6750, RFC 9728): it leads a client to whoever gives tokens.
 *
 * @param scopes - what is missing, or what a client starts with.
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
