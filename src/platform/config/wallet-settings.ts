import { createPrivateKey } from 'node:crypto';
import type { Address } from 'viem';
import { z } from 'zod';
import { caip2Of, isCaip2 } from '../../protocol/payment/network.js';
import { isEvmAddress } from '../../protocol/payment/wire-values.js';
import { LOOPBACK } from '../http/urls.js';
import { Secret } from './secret.js';
import {
  decimalSetting,
  flagSetting,
  hostNameSetting,
  hostsSetting,
  HTTP_URL,
  integerSetting,
  isPlainBase,
  listOf,
} from './settings.js';
import { builtInAssets, type NetworkTokens, type WalletAsset } from './wallet-assets.js';
import { readWalletHub, WALLET_HUB_SETTINGS, type WalletHubConfig } from './wallet-hub-settings.js';
import { ownerProblems, WALLET_OWNER_SETTINGS } from './wallet-owner-settings.js';

/** Settings of the agent wallet. They are read with any roles, and used by the role `wallet`. */

const secretText = (name: string) =>
  z.string().min(32, `must be at least 32 characters; for example: openssl rand -hex 32 (${name})`);

/** `eip155:56/0x…=SYMBOL:18`, and for EIP-3009 `:name:version` of its EIP-712 domain. */
const WALLET_ASSET = /^([^/=]+)\/([^/=]+)=(\w{1,12}):(\d|1[0-8])(?::([^:,]{1,64}):([^:,]{1,16}))?$/;

const walletAssetSetting: z.ZodType<WalletAsset, string> = z.string().transform((text, context) => {
  const [, network, address, symbol, decimals, name, version] = WALLET_ASSET.exec(text) ?? [];
  if (!isCaip2(network) || !isEvmAddress(address) || symbol === undefined) {
    context.addIssue(
      'must be assets such as eip155:56/0x…=USDX:18 or eip155:56/0x…=USDX:18:USD X:1',
    );
    return z.NEVER;
  }
  const domain = name === undefined || version === undefined ? undefined : { name, version };
  return {
    chainId: Number(network.slice('eip155:'.length)),
    address: address.toLowerCase() as Address,
    symbol,
    decimals: Number(decimals),
    methods: domain === undefined ? ['permit2'] : ['eip3009', 'permit2'],
    eip712: domain,
  };
});

/** Credentials are sent to this URL, so http is allowed only for this machine. */
const privyUrlSetting = z
  .url({ protocol: /^https?$/, error: 'must be an https URL' })
  .refine(
    (text) => text.startsWith('https:') || LOOPBACK.has(new URL(text).hostname),
    'must be an https URL',
  )
  .transform((text) => text.replace(/\/+$/, ''));

/** A P-256 key (PKCS #8, base64). The dashboard of Privy adds `wallet-auth:` in front of it. */
const authorizationKeySetting = z
  .string()
  .transform((text) => text.replace(/^wallet-(auth|api):/, ''))
  .refine(isP256Key, 'must be a P-256 private key, PKCS #8 in base64');

function isP256Key(text: string): boolean {
  try {
    const der = Buffer.from(text, 'base64');
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

const PRIVY_METHODS = ['personal_sign', 'eth_signTransaction'] as const;

export const WALLET_SETTINGS = {
  WALLET_PROVIDER: z.enum(['off', 'local', 'privy']).default('off'),
  /** Public URL of the wallet for owners and MCP clients. */
  WALLET_PUBLIC_URL: HTTP_URL.optional(),
  WALLET_TOKEN_SECRET: secretText('WALLET_TOKEN_SECRET').optional(),
  /** Tokens signed by this earlier secret stay valid. */
  WALLET_TOKEN_SECRET_PREVIOUS: secretText('WALLET_TOKEN_SECRET_PREVIOUS').optional(),
  /** Secret that seals the journal, and the data of wallet processes in Redis. */
  WALLET_SEAL_SECRET: secretText('WALLET_SEAL_SECRET').optional(),
  WALLET_SEAL_SECRET_PREVIOUS: secretText('WALLET_SEAL_SECRET_PREVIOUS').optional(),
  /** Lifetime of a token of an agent. */
  WALLET_TOKEN_TTL_SECONDS: integerSetting(60, 604_800).default(28_800),
  WALLET_LEGACY_LOGIN: flagSetting.default('false'),
  ...WALLET_OWNER_SETTINGS,
  WALLET_ADMIN_KEYS: listOf(secretText('WALLET_ADMIN_KEYS')).default([]),
  WALLET_ASSETS: listOf(walletAssetSetting).default([]),
  /** Whole tokens in the setting; units of 10^-18 here. The limits of a new wallet per asset. */
  WALLET_MAX_PER_PAYMENT: decimalSetting(18).default(10n ** 18n),
  WALLET_BUDGET: decimalSetting(18).default(10n * 10n ** 18n),
  WALLET_BUDGET_WINDOW_HOURS: integerSetting(1, 720).default(24),
  WALLET_KEYSTORE_DIR: z.string().default('./data/wallet/keys'),
  WALLET_KEYSTORE_SECRET: secretText('WALLET_KEYSTORE_SECRET').optional(),
  /** Keys encrypted with this earlier secret are re-encrypted with the present one. */
  WALLET_KEYSTORE_SECRET_PREVIOUS: secretText('WALLET_KEYSTORE_SECRET_PREVIOUS').optional(),
  WALLET_PRIVY_APP_ID: z.string().optional(),
  WALLET_PRIVY_APP_SECRET: z.string().optional(),
  WALLET_PRIVY_AUTHORIZATION_KEY: authorizationKeySetting.optional(),
  WALLET_PRIVY_API_URL: privyUrlSetting.default('https://api.privy.io'),
  /** Time limit of one request to Privy, and the time after the first request in which it is retried. */
  WALLET_PRIVY_TIMEOUT_MS: integerSetting(100, 60_000).default(10_000),
  /** Methods besides payments that the policy at Privy allows for a new wallet. */
  WALLET_PRIVY_METHODS: listOf(
    z.enum(PRIVY_METHODS, { error: `must be a list of ${PRIVY_METHODS.join(', ')}` }),
  ).default([]),
  WALLET_AUDIT_DIR: z.string().default('./data/wallet/audit'),
  /** Hosts, or host:port, that may be fetched although they are not public. */
  WALLET_FETCH_ALLOW: hostsSetting,
  WALLET_FETCH_MAX_BYTES: integerSetting(1024, 4_194_304).default(262_144),
  /** Time limit of one purchase, from its first request to its answer. */
  WALLET_FETCH_TIMEOUT_MS: integerSetting(1000, 120_000).default(30_000),
  /** The catalogue for agents; by default `CATALOGUE_URL` of this deployment. */
  WALLET_CATALOGUE_URL: HTTP_URL.refine(
    isPlainBase,
    'must be a URL without user, query and fragment',
  ).optional(),
  /** Validity of a request to the owner for a payment above `askAbove`, and of the approval. */
  WALLET_ASK_SECONDS: integerSetting(1, 86_400).default(3600),
  /** Requests per minute: of one address before sign-in, and of one wallet after it. */
  WALLET_RATE_LIMIT: integerSetting(1, 100_000).default(120),
  /** Lets MCP clients sign in by OAuth, with an authorization server for `/mcp`. */
  WALLET_OAUTH: flagSetting.default('false'),
  /** Like `WALLET_FETCH_ALLOW`, for documents of OAuth clients. */
  WALLET_OAUTH_FETCH_ALLOW: hostsSetting,
  /** Host names of `/mcp`, besides the public URL and this machine. */
  WALLET_MCP_HOSTS: listOf(hostNameSetting).default([]),
  /** Origins of web pages whose scripts may call `/mcp`, besides the public URL. */
  WALLET_MCP_ORIGINS: listOf(hostNameSetting).default([]),
  ...WALLET_HUB_SETTINGS,
};

/** Settings that may be a mounted file: `NAME_FILE`. */
export const WALLET_FILE_SETTINGS = [
  'WALLET_TOKEN_SECRET',
  'WALLET_TOKEN_SECRET_PREVIOUS',
  'WALLET_SEAL_SECRET',
  'WALLET_SEAL_SECRET_PREVIOUS',
  'WALLET_ADMIN_KEYS',
  'WALLET_KEYSTORE_SECRET',
  'WALLET_KEYSTORE_SECRET_PREVIOUS',
  'WALLET_PRIVY_APP_SECRET',
  'WALLET_PRIVY_AUTHORIZATION_KEY',
];

type ProviderConfig =
  { readonly kind: 'local'; readonly dir: string; readonly secret: RotatingSecret } | PrivyConfig;

/** A secret, and its predecessor during a rotation. */
export interface RotatingSecret {
  readonly current: Secret<string>;
  readonly previous: Secret<string> | undefined;
}

export interface PrivyConfig {
  readonly kind: 'privy';
  readonly appId: Secret<string>;
  readonly appSecret: Secret<string>;
  /** Owns the wallets and signs each request about them. PKCS #8, base64. */
  readonly authorizationKey: Secret<string>;
  /** Without a trailing slash. */
  readonly apiUrl: string;
  readonly timeoutMs: number;
  readonly extraMethods: readonly (typeof PRIVY_METHODS)[number][];
}

export interface WalletConfig {
  readonly provider: ProviderConfig;
  /** Without a trailing slash. */
  readonly publicUrl: string;
  readonly tokenSecret: RotatingSecret;
  readonly sealSecret: RotatingSecret;
  readonly tokenTtlSeconds: number;
  readonly hasLegacyLogin: boolean;
  /** Owners that may have a wallet; all if absent. */
  readonly owners: ReadonlySet<Address> | undefined;
  /** The chain whose contracts may be owners; `undefined` for none. */
  readonly contractOwnersOn: number | undefined;
  /** Whether owners may use passkeys. */
  readonly hasPasskeys: boolean;
  readonly adminKeys: readonly Secret<string>[];
  readonly assets: readonly WalletAsset[];
  /** For a new wallet, in units of 10^-18 of each token. */
  readonly maxPerPayment: bigint;
  readonly budget: bigint;
  readonly windowHours: number;
  readonly auditDir: string;
  readonly fetchAllow: ReadonlySet<string>;
  readonly fetchMaxBytes: number;
  readonly fetchTimeoutMs: number;
  /** Without a trailing slash; `undefined` if agents have no search. */
  readonly catalogueUrl: string | undefined;
  readonly askSeconds: number;
  readonly requestsPerMinute: number;
  /** Whether `/mcp` is an OAuth resource, with this service as its authorization server. */
  readonly hasOAuth: boolean;
  readonly oauthFetchAllow: ReadonlySet<string>;
  /** Host names, without port, that requests to `/mcp` may use in `Host` and `Origin`. */
  readonly mcpHosts: readonly string[];
  readonly mcpOrigins: readonly string[];
  /** `undefined` if agents have no files. */
  readonly hub: WalletHubConfig | undefined;
}

type WalletSettings = z.infer<z.ZodObject<typeof WALLET_SETTINGS>>;

/** The URL of the wallet without a setting. */
export function ownWalletUrl(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/**
 * The settings of the wallet; `undefined` if it is off.
 *
 * @param problems - collects missing settings of the provider.
 */
export function readWallet(
  settings: WalletSettings & {
    readonly CATALOGUE_URL?: string | undefined;
    readonly HUB_ADDRESS?: Address | undefined;
  },
  networks: readonly NetworkTokens[],
  port: number,
  problems: string[],
): WalletConfig | undefined {
  const required = (name: keyof WalletSettings): string => {
    const value = settings[name];
    if (typeof value === 'string') return value;
    problems.push(`${name}: is required by WALLET_PROVIDER=${settings.WALLET_PROVIDER}`);
    return '';
  };
  const rotating = (
    name: 'WALLET_TOKEN_SECRET' | 'WALLET_SEAL_SECRET' | 'WALLET_KEYSTORE_SECRET',
  ): RotatingSecret => {
    const previous = settings[`${name}_PREVIOUS`];
    return {
      current: new Secret(required(name)),
      previous: previous === undefined ? undefined : new Secret(previous),
    };
  };
  if (settings.WALLET_PROVIDER === 'off') return undefined;
  for (const { chainId } of settings.WALLET_ASSETS) {
    if (networks.some((network) => network.chainId === chainId)) continue;
    problems.push(`WALLET_ASSETS: ${caip2Of(chainId)} is not one of NETWORKS`);
  }
  const publicUrl = settings.WALLET_PUBLIC_URL ?? ownWalletUrl(port);
  problems.push(...ownerProblems(settings, networks, publicUrl));
  const publicHost = new URL(publicUrl).hostname;
  if (settings.WALLET_OAUTH === 'true' && !isIssuer(publicUrl)) {
    problems.push('WALLET_OAUTH: requires a WALLET_PUBLIC_URL with https and without a path');
  }
  const assets = [...settings.WALLET_ASSETS, ...networks.flatMap(builtInAssets)];
  return {
    provider:
      settings.WALLET_PROVIDER === 'privy'
        ? {
            kind: 'privy',
            appId: new Secret(required('WALLET_PRIVY_APP_ID')),
            appSecret: new Secret(required('WALLET_PRIVY_APP_SECRET')),
            authorizationKey: new Secret(required('WALLET_PRIVY_AUTHORIZATION_KEY')),
            apiUrl: settings.WALLET_PRIVY_API_URL,
            timeoutMs: settings.WALLET_PRIVY_TIMEOUT_MS,
            extraMethods: settings.WALLET_PRIVY_METHODS,
          }
        : {
            kind: 'local',
            dir: settings.WALLET_KEYSTORE_DIR,
            secret: rotating('WALLET_KEYSTORE_SECRET'),
          },
    publicUrl: publicUrl.replace(/\/+$/, ''),
    tokenSecret: rotating('WALLET_TOKEN_SECRET'),
    sealSecret: rotating('WALLET_SEAL_SECRET'),
    tokenTtlSeconds: settings.WALLET_TOKEN_TTL_SECONDS,
    hasLegacyLogin: settings.WALLET_LEGACY_LOGIN === 'true',
    owners: settings.WALLET_OWNERS && new Set(settings.WALLET_OWNERS),
    contractOwnersOn: settings.WALLET_CONTRACT_OWNERS,
    hasPasskeys: settings.WALLET_PASSKEYS === 'true',
    adminKeys: settings.WALLET_ADMIN_KEYS.map((key) => new Secret(key)),
    assets,
    maxPerPayment: settings.WALLET_MAX_PER_PAYMENT,
    budget: settings.WALLET_BUDGET,
    windowHours: settings.WALLET_BUDGET_WINDOW_HOURS,
    auditDir: settings.WALLET_AUDIT_DIR,
    fetchAllow: new Set(settings.WALLET_FETCH_ALLOW),
    fetchMaxBytes: settings.WALLET_FETCH_MAX_BYTES,
    fetchTimeoutMs: settings.WALLET_FETCH_TIMEOUT_MS,
    catalogueUrl: (settings.WALLET_CATALOGUE_URL ?? settings.CATALOGUE_URL)?.replace(/\/+$/, ''),
    askSeconds: settings.WALLET_ASK_SECONDS,
    requestsPerMinute: settings.WALLET_RATE_LIMIT,
    hasOAuth: settings.WALLET_OAUTH === 'true',
    oauthFetchAllow: new Set(settings.WALLET_OAUTH_FETCH_ALLOW),
    mcpHosts: [publicHost, 'localhost', '127.0.0.1', '[::1]', ...settings.WALLET_MCP_HOSTS],
    mcpOrigins: [publicHost, ...settings.WALLET_MCP_ORIGINS],
    hub: readWalletHub(settings, assets, problems),
  };
}

/** Whether a URL can be an OAuth issuer at the root of its host (RFC 8414, section 2). */
function isIssuer(text: string): boolean {
  const { protocol, hostname, href, origin } = new URL(text);
  return href === `${origin}/` && (protocol === 'https:' || LOOPBACK.has(hostname));
}
