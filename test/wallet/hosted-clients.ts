/**
 * What two hosted clients send while they are let in, as their vendors, and people who looked at their own
 * server's log, have published it. None of it was recorded by us: the products only reach public addresses.
 */
export interface HostedClient {
  readonly name: string;
  /** Sent to the registration endpoint, as JSON. */
  readonly registration: Readonly<Record<string, unknown>> & {
    readonly redirect_uris: readonly [string];
    readonly token_endpoint_auth_method: 'none' | 'client_secret_post';
  };
  /** How often it registers for one sign-in; the last one is used. */
  readonly registrations: number;
  /** Paths it looks for metadata at, in its order; the first that answers is taken. */
  readonly discovery: { readonly resource: readonly string[]; readonly server: readonly string[] };
  /** What it names in a first authorization request besides `client_id`, PKCE and `state`. */
  readonly hasScope: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

const RESOURCE = '/.well-known/oauth-protected-resource';
const SERVER = '/.well-known/oauth-authorization-server';
const COMMON = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
};

export const HOSTED_CLIENTS: readonly HostedClient[] = [
  {
    // The body: github.com/PostHog/posthog/pull/48397, read off the wire. A secret, and not PKCE alone:
    // anthropics/claude-ai-mcp#1043; twice within seconds: #966; headers and discovery: #764.
    name: 'Claude, by dynamic registration',
    registration: {
      ...COMMON,
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      token_endpoint_auth_method: 'client_secret_post',
    },
    registrations: 2,
    discovery: { resource: [`${RESOURCE}/mcp`], server: [SERVER] },
    hasScope: true,
    headers: { 'user-agent': 'python-httpx/0.28.1', 'mcp-protocol-version': '2025-11-25' },
  },
  {
    // Redirects of a connector's own: developers.openai.com/apps-sdk/build/auth, makeplane/plane-mcp-server#165.
    // Requests, `resource` among them: community.openai.com/t/oauth-missing-scopes-after-reconnect/1366784.
    name: 'ChatGPT, by dynamic registration',
    registration: {
      ...COMMON,
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'],
      token_endpoint_auth_method: 'none',
    },
    registrations: 1,
    discovery: { resource: [`${RESOURCE}/mcp`, RESOURCE], server: [SERVER] },
    hasScope: true,
    headers: { 'user-agent': 'openai-mcp/1.0.0' },
  },
  {
    // The same when its user connects again: it names no scope (same thread). The older redirect of all.
    name: 'ChatGPT, connected again',
    registration: {
      ...COMMON,
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      token_endpoint_auth_method: 'none',
    },
    registrations: 1,
    discovery: { resource: [RESOURCE], server: [SERVER] },
    hasScope: false,
    headers: { 'user-agent': 'openai-mcp/1.0.0' },
  },
];
