import { readFileSync } from 'node:fs';
import type { Address, Hex } from 'viem';
import { z } from 'zod';
import { EXACT_PERMIT2_PROXY } from '../core/exact/contracts.js';
import { caip2Of } from '../core/payment/network.js';
import { type AccessConfig, accessConfig, accessSettings } from './access-settings.js';
import { BUILT_IN_NETWORKS, type BuiltInToken } from './built-in-networks.js';
import { HUB_SETTINGS, type HubConfig, hubConfigOf, hubProblems } from './hub-settings.js';
import { Secret } from './secret.js';
import {
  addressSetting,
  amountsByAssetSetting,
  assetSetting,
  chainIdSetting,
  decimalSetting,
  flagSetting,
  integerSetting,
  listOf,
  privateKeySetting,
  rpcUrlSetting,
} from './settings.js';
import {
  readWallet,
  WALLET_FILE_SETTINGS,
  WALLET_SETTINGS,
  type WalletConfig,
} from './wallet-settings.js';

export const ROLES = ['api', 'worker', 'hub', 'wallet'] as const;
export type Role = (typeof ROLES)[number];
/** Roles that settle payments. */
const SETTLING_ROLES: readonly Role[] = ['api', 'worker'];

/**
 * The settings of a process. Environment only, read once at boot; all problems are reported
 * together. `.env.example` and the table in the README are compared with this by a test.
 */
const Settings = z.object({
  PORT: integerSetting(0, 65_535).default(4022),
  HOST: z.string().default('0.0.0.0'),
  ROLES: z
    .string()
    .transform((text) => (text === 'all' ? ROLES.join(',') : text))
    .pipe(listOf(z.enum(ROLES, { error: `must be all, or a list of ${ROLES.join(', ')}` })))
    .refine((roles) => roles.length > 0, 'must name at least one role')
    .default([...ROLES]),
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// URL' }),
  NETWORKS: listOf(chainIdSetting)
    .refine((chainIds) => chainIds.length > 0, 'must name at least one network')
    .default([56, 97]),
  SIGNER_KEYS: listOf(privateKeySetting).default([]),
  /** Milliseconds from the first byte of a settle request until it is answered. */
  SETTLE_WAIT_MS: integerSetting(1000, 120_000).default(20_000),
  SETTLE_FINALITY: z.enum(['included', 'finalized']).default('included'),
  SETTLE_REPLAY: z.enum(['once', 'always']).default('once'),
  /** Gas units. */
  MAX_GAS_PER_SETTLE: integerSetting(50_000, 16_000_000).default(300_000),
  MIN_AMOUNTS: amountsByAssetSetting.default(new Map()),
  ASSETS_ALLOW: listOf(assetSetting).optional(),
  ASSETS_DENY: listOf(assetSetting).default([]),
  PAYEES_ALLOW: listOf(addressSetting).optional(),
  PAYEES_DENY: listOf(addressSetting).default([]),
  /** Beyond 32 a batch saves little gas and loses more when it reverts. */
  BATCH_MAX_ITEMS: integerSetting(1, 100).default(32),
  BATCH_SAFE_ASSETS: listOf(assetSetting).optional(),
  BATCH_OPT_OUT: listOf(addressSetting).default([]),
  QUEUE_MAX: integerSetting(1, 1_000_000).default(10_000),
  /** Transactions in flight per signer. BNB nodes keep 200 of one account and drop what is beyond. */
  LANE_WINDOW_MAX: integerSetting(1, 190).default(100),
  LANE_LEASE_MS: integerSetting(1000, 60_000).default(3000),
  /** A chain whose newest block is older than this many milliseconds is not settled on. */
  HEAD_MAX_AGE_MS: integerSetting(0).default(30_000),
  /** Signatures are checked beside the event loop; of no use to a process with a single core. */
  RECOVERY_THREAD: flagSetting.default('true'),
  RETENTION_DAYS: integerSetting(1, 36_500).default(30),
  TOMBSTONE_DAYS: integerSetting(1, 36_500).default(3650),
  SHUTDOWN_GRACE_MS: integerSetting(0, 600_000).default(20_000),
  BODY_MAX_BYTES: integerSetting(1024, 67_108_864).default(1_048_576),
  TRUST_PROXY: z
    .string()
    .regex(/^(off|\d{1,2}|[0-9a-fA-F.:/, ]+)$/, 'must be off, a count of proxies or a list of them')
    .default('off'),
  ...WALLET_SETTINGS,
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  ...accessSettings,
  ...HUB_SETTINGS,
});

/** Settings that exist once per chain: `NAME_<chainId>`. */
const ChainSettings = z.object({
  RPC_URLS: listOf(rpcUrlSetting).optional(),
  SIGNER_KEYS: listOf(privateKeySetting).optional(),
  EXACT_PERMIT2_PROXY: addressSetting.default(EXACT_PERMIT2_PROXY),
  /** Gwei; here in wei. */
  MAX_GAS_PRICE_GWEI: decimalSetting(9).default(5_000_000_000n),
  /** Whole native coins a day (UTC); here in wei. */
  GAS_BUDGET_DAILY: decimalSetting(18).optional(),
  GAS_BUDGET_PAYEE_DAILY: decimalSetting(18).optional(),
});

/** Settings that may be given as a path to a mounted file instead: `NAME_FILE`. */
const FILE_SETTINGS = [
  'SIGNER_KEYS',
  'RPC_URLS',
  'REDIS_URL',
  'HUB_S3_SECRET_ACCESS_KEY',
  ...WALLET_FILE_SETTINGS,
];

/** Names of every setting; those of a chain end in `_<chainId>`. */
export const SETTING_NAMES: readonly string[] = [
  ...Object.keys(Settings.shape),
  ...Object.keys(ChainSettings.shape).map((name) => `${name}_<chainId>`),
];

export interface NetworkConfig {
  readonly chainId: number;
  /** CAIP-2. */
  readonly network: string;
  readonly rpcUrls: readonly Secret<string>[];
  /** Whether the endpoints are the built-in public ones, which are for trying out. */
  readonly usesPublicEndpoints: boolean;
  /** One lane each. */
  readonly signerKeys: readonly Secret<Hex>[];
  readonly permit2Proxy: Address;
  readonly maxGasPriceWei: bigint;
  /** Wei a day and lane, and wei a day and payee; unlimited when absent. */
  readonly dailyGasBudgetWei: bigint | undefined;
  readonly dailyPayeeGasBudgetWei: bigint | undefined;
  readonly knownTokens: readonly BuiltInToken[];
}

/** Which payments this deployment takes; checked before anything is read from the chain. */
export interface AdmissionLists {
  readonly assetsAllow: ReadonlySet<string> | undefined;
  readonly assetsDeny: ReadonlySet<string>;
  readonly payeesAllow: ReadonlySet<string> | undefined;
  readonly payeesDeny: ReadonlySet<string>;
  /** Least amount by asset, atomic units. */
  readonly minAmounts: ReadonlyMap<string, bigint>;
}

export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The settings are not usable:\n${problems.map((line) => `  - ${line}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

export class AppConfig {
  readonly port: number;
  readonly host: string;
  readonly roles: ReadonlySet<Role>;
  readonly redisUrl: Secret<string>;
  readonly networks: readonly NetworkConfig[];
  readonly settleWaitMs: number;
  readonly settleFinality: 'included' | 'finalized';
  readonly settleReplay: 'once' | 'always';
  readonly maxGasPerSettle: bigint;
  readonly admission: AdmissionLists;
  readonly batchMaxItems: number;
  /** Assets (`eip155:56/0x…`) whose payments may share a transaction. */
  readonly batchSafeAssets: ReadonlySet<string>;
  readonly batchOptOut: ReadonlySet<Address>;
  readonly queueMax: number;
  readonly laneWindowMax: number;
  readonly laneLeaseMs: number;
  readonly headMaxAgeMs: number;
  readonly hasRecoveryThread: boolean;
  readonly retentionSeconds: number;
  readonly tombstoneSeconds: number;
  readonly shutdownGraceMs: number;
  readonly bodyMaxBytes: number;
  readonly trustProxy: string;
  /** `undefined` when it is off, or not a role of this process. */
  readonly wallet: WalletConfig | undefined;
  readonly logLevel: z.infer<typeof Settings>['LOG_LEVEL'];
  readonly access: AccessConfig;
  readonly hub: HubConfig;

  private constructor(
    settings: z.infer<typeof Settings>,
    networks: readonly NetworkConfig[],
    wallet: WalletConfig | undefined,
  ) {
    this.port = settings.PORT;
    this.host = settings.HOST;
    this.roles = new Set(settings.ROLES);
    this.redisUrl = new Secret(settings.REDIS_URL);
    this.networks = networks;
    this.settleWaitMs = settings.SETTLE_WAIT_MS;
    this.settleFinality = settings.SETTLE_FINALITY;
    this.settleReplay = settings.SETTLE_REPLAY;
    this.maxGasPerSettle = BigInt(settings.MAX_GAS_PER_SETTLE);
    this.admission = {
      assetsAllow: settings.ASSETS_ALLOW && new Set(settings.ASSETS_ALLOW),
      assetsDeny: new Set(settings.ASSETS_DENY),
      payeesAllow: settings.PAYEES_ALLOW && new Set(settings.PAYEES_ALLOW),
      payeesDeny: new Set(settings.PAYEES_DENY),
      minAmounts: settings.MIN_AMOUNTS,
    };
    this.batchMaxItems = settings.BATCH_MAX_ITEMS;
    this.batchSafeAssets = new Set(settings.BATCH_SAFE_ASSETS ?? builtInBatchSafeAssets());
    this.batchOptOut = new Set(settings.BATCH_OPT_OUT);
    this.queueMax = settings.QUEUE_MAX;
    this.laneWindowMax = settings.LANE_WINDOW_MAX;
    this.laneLeaseMs = settings.LANE_LEASE_MS;
    this.headMaxAgeMs = settings.HEAD_MAX_AGE_MS;
    this.hasRecoveryThread = settings.RECOVERY_THREAD === 'true';
    this.retentionSeconds = settings.RETENTION_DAYS * SECONDS_A_DAY;
    this.tombstoneSeconds = settings.TOMBSTONE_DAYS * SECONDS_A_DAY;
    this.shutdownGraceMs = settings.SHUTDOWN_GRACE_MS;
    this.bodyMaxBytes = settings.BODY_MAX_BYTES;
    this.trustProxy = settings.TRUST_PROXY;
    this.wallet = wallet;
    this.logLevel = settings.LOG_LEVEL;
    this.access = accessConfig(settings);
    this.hub = hubConfigOf(settings);
  }

  hasRole(role: Role): boolean {
    return this.roles.has(role);
  }

  /** Whether this process has a part in settling payments. */
  get settles(): boolean {
    return SETTLING_ROLES.some((role) => this.roles.has(role));
  }

  /** Whether this process has anything to do with chains; else it needs no network, endpoint or key. */
  get usesChains(): boolean {
    return this.settles || this.wallet !== undefined;
  }

  /** @throws ConfigError naming every problem at once. */
  static fromEnv(env: NodeJS.ProcessEnv): AppConfig {
    const problems: string[] = [];
    const given = readFileSettings(withoutBlanks(env), problems);
    const settings = Settings.safeParse(given);
    if (!settings.success) problems.push(...describeIssues(settings.error));
    // Read apart, so that a problem elsewhere does not hide the problems of a network.
    const { NETWORKS, SIGNER_KEYS, ROLES: RolesSetting } = Settings.shape;
    const roles = RolesSetting.safeParse(given['ROLES']).data ?? [];
    const hasWallet = roles.includes('wallet') && (given['WALLET_PROVIDER'] ?? 'off') !== 'off';
    const settles = roles.length === 0 || roles.some((role) => SETTLING_ROLES.includes(role));
    const usesChains = settles || hasWallet;
    const chainIds = new Set(usesChains ? NETWORKS.safeParse(given['NETWORKS']).data : []);
    const sharedKeys = SIGNER_KEYS.safeParse(given['SIGNER_KEYS']);
    const networks = [...chainIds].map((chainId) =>
      readNetwork(chainId, given, sharedKeys.data ?? [], problems),
    );
    if (sharedKeys.success) checkWorkerHasKeys(roles, networks, problems);
    if (roles.includes('hub')) problems.push(...hubProblems(given));
    const wallet = settings.data?.ROLES.includes('wallet')
      ? readWallet(settings.data, networks, settings.data.PORT, problems)
      : undefined;
    if (!settings.success || problems.length > 0) throw new ConfigError(problems);
    return new AppConfig(settings.data, networks, wallet);
  }
}

const SECONDS_A_DAY = 86_400;

type GivenSettings = Readonly<Record<string, string>>;

/** An empty value means "not set", as container tools write it. */
function withoutBlanks(env: NodeJS.ProcessEnv): GivenSettings {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]?.trim())),
  );
}

function readFileSettings(env: GivenSettings, problems: string[]): GivenSettings {
  const settings: Record<string, string> = { ...env };
  const pattern = new RegExp(`^(${FILE_SETTINGS.join('|')})(_\\d+)?_FILE$`);
  for (const [name, path] of Object.entries(env)) {
    if (!pattern.test(name)) continue;
    const target = name.slice(0, -'_FILE'.length);
    if (target in env) {
      problems.push(`${target}, ${name}: only one of the two may be set`);
      continue;
    }
    try {
      settings[target] = readFileSync(path, 'utf8')
        .trim()
        .replaceAll(/\s*\n\s*/g, ',');
    } catch {
      problems.push(`${name}: the file cannot be read`);
    }
  }
  return settings;
}

function describeIssues(error: z.ZodError, suffix = ''): string[] {
  return error.issues.map((issue) => {
    const name = String(issue.path[0] ?? '');
    const isMissing = issue.code === 'invalid_type' && issue.input === undefined;
    return `${name}${suffix}: ${isMissing ? 'is required' : issue.message}`;
  });
}

function readNetwork(
  chainId: number,
  given: GivenSettings,
  sharedKeys: readonly Hex[],
  problems: string[],
): NetworkConfig {
  const suffix = `_${chainId}`;
  const own = Object.fromEntries(
    Object.keys(ChainSettings.shape).map((name) => [name, given[name + suffix]]),
  );
  const parsed = ChainSettings.safeParse(own);
  if (!parsed.success) problems.push(...describeIssues(parsed.error, suffix));
  const settings = parsed.success ? parsed.data : ChainSettings.parse({});
  const builtIn = BUILT_IN_NETWORKS.find((network) => network.chainId === chainId);
  const rpcUrls = settings.RPC_URLS ?? builtIn?.publicRpcUrls ?? [];
  if (rpcUrls.length === 0 && parsed.success) {
    problems.push(`RPC_URLS${suffix}: is required, for ${caip2Of(chainId)} has no built-in one`);
  }
  const keys = settings.SIGNER_KEYS ?? sharedKeys;
  if (new Set(keys).size < keys.length) problems.push(`SIGNER_KEYS${suffix}: a key is given twice`);
  return {
    chainId,
    network: caip2Of(chainId),
    rpcUrls: rpcUrls.map((url) => new Secret(url)),
    usesPublicEndpoints: settings.RPC_URLS === undefined,
    signerKeys: keys.map((key) => new Secret(key)),
    permit2Proxy: settings.EXACT_PERMIT2_PROXY,
    maxGasPriceWei: settings.MAX_GAS_PRICE_GWEI,
    dailyGasBudgetWei: settings.GAS_BUDGET_DAILY,
    dailyPayeeGasBudgetWei: settings.GAS_BUDGET_PAYEE_DAILY,
    knownTokens: builtIn?.tokens ?? [],
  };
}

function checkWorkerHasKeys(
  roles: readonly Role[],
  networks: readonly NetworkConfig[],
  problems: string[],
): void {
  if (!roles.includes('worker')) return;
  if (networks.some((network) => network.signerKeys.length > 0)) return;
  problems.push('SIGNER_KEYS: the role worker needs a key, here or in SIGNER_KEYS_<chainId>');
}

function builtInBatchSafeAssets(): string[] {
  return BUILT_IN_NETWORKS.flatMap(({ chainId, tokens }) =>
    tokens
      .filter((token) => token.isBatchSafe)
      .map((token) => `${caip2Of(chainId)}/${token.address}`),
  );
}
