import proxyAddr from 'proxy-addr';
import type { Address } from 'viem';
import { z } from 'zod';
import {
  type AccessConfig,
  accessConfig,
  accessProblems,
  accessSettings,
  isOpenFor,
} from './access-settings.js';
import { ADMISSION_SETTINGS, type AdmissionLists, admissionListsOf } from './admission-settings.js';
import { DOCTOR_SETTINGS, type DoctorConfig, doctorConfigOf } from './doctor-settings.js';
import { readFileSettings, withoutBlanks } from './given-settings.js';
import {
  HISTORY_SETTINGS,
  type HistoryConfig,
  historyConfigOf,
  historyProblems,
  readsChains,
} from './history-settings.js';
import { HUB_SALES_FILE_SETTINGS } from './hub-sales-settings.js';
import { HUB_SETTINGS, type HubConfig, hubConfigOf, hubProblems } from './hub-settings.js';
import { LANE_SETTINGS, type LaneConfig, laneConfigOf } from './lane-settings.js';
import {
  ChainSettings,
  checkWorkerHasKeys,
  type NetworkConfig,
  readNetwork,
} from './network-settings.js';
import { OPS_SETTINGS, type OpsConfig, opsConfigOf, opsProblems } from './ops-settings.js';
import {
  RECEIPT_FILE_SETTINGS,
  RECEIPT_SETTINGS,
  type ReceiptConfig,
  receiptConfigOf,
  receiptProblems,
} from './receipt-settings.js';
import { REDIS_SETTINGS, type RedisUrls, redisUrlsOf } from './redis-settings.js';
import { isRemovedSetting, removedSettings } from './removed-settings.js';
import {
  builderCodeSetting,
  chainIdSetting,
  describeIssues,
  factoriesSetting,
  flagSetting,
  integerSetting,
  listOf,
} from './settings.js';
import { signerKeySetting } from './signer-settings.js';
import { TRACES_SETTINGS, type TracesConfig, tracesConfigOf } from './traces-settings.js';
import { type KnownNames, settingsWithoutEffect, unknownSettings } from './unknown-settings.js';
import {
  ownWalletUrl,
  readWallet,
  WALLET_FILE_SETTINGS,
  WALLET_SETTINGS,
  type WalletConfig,
} from './wallet-settings.js';

export type { NetworkConfig } from './network-settings.js';

export const ROLES = ['api', 'worker', 'hub', 'wallet', 'history'] as const;
type Role = (typeof ROLES)[number];
/** Roles that settle payments. */
const SETTLING_ROLES: readonly Role[] = ['api', 'worker'];

/**
 * The settings of a process, read once from the environment. All problems are reported together. A test compares
 * `.env.example` and `docs/settings.md` with this schema.
 */
const Settings = z.object({
  PORT: integerSetting(0, 65_535).default(4022),
  HOST: z.string().default('0.0.0.0'),
  ROLES: z
    .string()
    .transform((text) => (text === 'all' ? ROLES.join(',') : text))
    .pipe(listOf(z.enum(ROLES, { error: `must be all, or a list of ${ROLES.join(', ')}` })))
    .refine((roles) => roles.length > 0, 'must name at least one role')
    // Features that need a volume, or that hold keys of other people, are off by default.
    .default([...SETTLING_ROLES]),
  ...REDIS_SETTINGS,
  NETWORKS: listOf(chainIdSetting)
    .refine((chainIds) => chainIds.length > 0, 'must name at least one network')
    .default([56, 97]),
  SIGNER_KEYS: listOf(signerKeySetting).default([]),
  /** Milliseconds from the first byte of a settle request to its answer. */
  SETTLE_WAIT_MS: integerSetting(1000, 120_000).default(20_000),
  SETTLE_FINALITY: z.enum(['included', 'finalized']).default('included'),
  SALE_GRACE_MS: integerSetting(0, 86_400_000).default(60_000),
  /** Milliseconds after which operators and sellers are notified of a final payment without a sale. */
  UNCLAIMED_AFTER_MS: integerSetting(1000, 86_400_000).default(60_000),
  /** Gas units. */
  MAX_GAS_PER_SETTLE: integerSetting(50_000, 16_000_000).default(300_000),
  ERC6492_FACTORIES: factoriesSetting.default(new Set()),
  BUILDER_CODE: builderCodeSetting.optional(),
  ...ADMISSION_SETTINGS,
  ...LANE_SETTINGS,
  QUEUE_MAX: integerSetting(1, 1_000_000).default(10_000),
  /** Settling on a chain stops when its newest block is older than this many milliseconds. */
  HEAD_MAX_AGE_MS: integerSetting(0).default(30_000),
  /** Checks signatures in a worker thread; useless on a single core. */
  RECOVERY_THREAD: flagSetting.default('true'),
  RETENTION_DAYS: integerSetting(1, 36_500).default(30),
  TOMBSTONE_DAYS: integerSetting(1, 36_500).default(3650),
  SHUTDOWN_GRACE_MS: integerSetting(0, 600_000).default(20_000),
  BODY_MAX_BYTES: integerSetting(1024, 67_108_864).default(1_048_576),
  TRUST_PROXY: z
    .string()
    .refine(
      isTrustSetting,
      'must be off, a count of proxies, or their addresses and networks, such as 10.0.0.0/8',
    )
    .default('off'),
  ...WALLET_SETTINGS,
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  ...OPS_SETTINGS,
  ...accessSettings,
  ...DOCTOR_SETTINGS,
  ...HUB_SETTINGS,
  ...HISTORY_SETTINGS,
  ...RECEIPT_SETTINGS,
  ...TRACES_SETTINGS,
});

/** Settings that may be given as a path to a mounted file instead: `NAME_FILE`. */
const FILE_SETTINGS = [
  'SIGNER_KEYS',
  'TREASURY_KEY',
  'RPC_URLS',
  'HUB_S3_ACCESS_KEY_ID',
  'HUB_S3_SECRET_ACCESS_KEY',
  ...WALLET_FILE_SETTINGS,
  ...RECEIPT_FILE_SETTINGS,
  ...HUB_SALES_FILE_SETTINGS,
  'REDIS_URL',
  'QUEUE_REDIS_URL',
  'HUB_REDIS_URL',
  'WALLET_REDIS_URL',
  'DATABASE_URL',
  'WEBHOOK_KEY',
];

export const KNOWN_NAMES: KnownNames = {
  plain: new Set(Object.keys(Settings.shape)),
  ofChains: new Set(Object.keys(ChainSettings.shape)),
  asFiles: new Set(FILE_SETTINGS),
};

function isTrustSetting(text: string): boolean {
  if (text === 'off') return true;
  if (/^\d+$/.test(text)) return text.length <= 2;
  if (!/^[\da-fA-F.:/, ]+$/.test(text)) return false;
  try {
    proxyAddr.compile(text.split(',').map((one) => one.trim()));
    return true;
  } catch {
    return false;
  }
}

type Shape = Readonly<Record<string, z.ZodType>>;

/** Every setting, for `--help`. The first group holds settings without their own group. */
export const SETTING_GROUPS: readonly (readonly [title: string, settings: Shape])[] = (() => {
  const groups: readonly (readonly [string, Shape])[] = [
    ['Redis', REDIS_SETTINGS],
    ['Which payments are taken', ADMISSION_SETTINGS],
    ['Lanes and batches', LANE_SETTINGS],
    ['Operators and traces', { ...OPS_SETTINGS, ...TRACES_SETTINGS }],
    ['API keys and rates', accessSettings],
    ['History, webhooks and catalogue', HISTORY_SETTINGS],
    ['Receipts', RECEIPT_SETTINGS],
    ['Check of sellers', DOCTOR_SETTINGS],
    ['File hub', HUB_SETTINGS],
    ['Agent wallet', WALLET_SETTINGS],
  ];
  const named = new Set(groups.flatMap(([, shape]) => Object.keys(shape)));
  const rest = Object.entries(Settings.shape).filter(([name]) => !named.has(name));
  return [
    ['Process and payments', Object.fromEntries(rest)],
    ...groups,
    [
      'For each chain, as in RPC_URLS_56',
      Object.fromEntries(
        Object.entries(ChainSettings.shape).map(([name, schema]) => [`${name}_<chainId>`, schema]),
      ),
    ],
  ];
})();

/** Names of every setting; those of a chain end with `_<chainId>`. */
export const SETTING_NAMES: readonly string[] = SETTING_GROUPS.flatMap(([, settings]) =>
  Object.keys(settings),
);

export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The settings are not usable:\n${problems.map((line) => `  - ${line}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** Settings outside the schema. */
interface Parts {
  readonly networks: readonly NetworkConfig[];
  readonly wallet: WalletConfig | undefined;
  readonly redis: RedisUrls;
  readonly chainIds: readonly number[];
  readonly withoutEffect: readonly string[];
}

export class AppConfig {
  readonly port: number;
  readonly host: string;
  readonly roles: ReadonlySet<Role>;
  readonly redis: RedisUrls;
  readonly ops: OpsConfig | undefined;
  readonly networks: readonly NetworkConfig[];
  /** The chains whose ledgers this process uses. */
  readonly ledgerChainIds: readonly number[];
  readonly settleWaitMs: number;
  readonly settleFinality: 'included' | 'finalized';
  readonly saleGraceMs: number;
  readonly unclaimedAfterMs: number;
  readonly maxGasPerSettle: bigint;
  /** Contracts that may deploy wallets of payers. Lower case. */
  readonly walletFactories: ReadonlySet<Address>;
  /** The builder code of this service in its transactions (ERC-8021); `undefined` without one. */
  readonly builderCode: string | undefined;
  readonly admission: AdmissionLists;
  readonly lanes: LaneConfig;
  readonly queueMax: number;
  readonly headMaxAgeMs: number;
  readonly hasRecoveryThread: boolean;
  readonly retentionSeconds: number;
  readonly tombstoneSeconds: number;
  readonly shutdownGraceMs: number;
  readonly bodyMaxBytes: number;
  readonly trustProxy: string;
  /** `undefined` without the role `wallet`, or if the wallet is off. */
  readonly wallet: WalletConfig | undefined;
  readonly logLevel: z.infer<typeof Settings>['LOG_LEVEL'];
  readonly access: AccessConfig;
  readonly doctor: DoctorConfig | undefined;
  readonly hub: HubConfig;
  /** `undefined` without a database. */
  readonly history: HistoryConfig | undefined;
  /** See `PUBLIC_STATS`. */
  readonly hasPublicStats: boolean;
  /** `undefined` if receipts are off. */
  readonly receipts: ReceiptConfig | undefined;
  /** `undefined` if traces are off. */
  readonly traces: TracesConfig | undefined;
  /** Names of settings for chains that `NETWORKS` does not name. */
  readonly withoutEffect: readonly string[];

  private constructor(settings: z.infer<typeof Settings>, parts: Parts) {
    const { networks, wallet, redis } = parts;
    this.port = settings.PORT;
    this.host = settings.HOST;
    this.history = historyConfigOf(settings);
    this.roles = new Set(
      settings.ROLES.filter((role) => role !== 'history' || this.history !== undefined),
    );
    this.redis = redis;
    this.ops = opsConfigOf(settings);
    this.networks = networks;
    this.ledgerChainIds = parts.chainIds;
    this.settleWaitMs = settings.SETTLE_WAIT_MS;
    this.settleFinality = settings.SETTLE_FINALITY;
    this.saleGraceMs = settings.SALE_GRACE_MS;
    this.unclaimedAfterMs = settings.UNCLAIMED_AFTER_MS;
    this.maxGasPerSettle = BigInt(settings.MAX_GAS_PER_SETTLE);
    this.walletFactories = settings.ERC6492_FACTORIES;
    this.builderCode = settings.BUILDER_CODE;
    this.admission = admissionListsOf(settings);
    this.lanes = laneConfigOf(settings);
    this.queueMax = settings.QUEUE_MAX;
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
    this.hasPublicStats =
      settings.PUBLIC_STATS === undefined
        ? isOpenFor('settle', this.access) && this.admission.payeesAllow === undefined
        : settings.PUBLIC_STATS === 'true';
    this.doctor = doctorConfigOf(settings);
    this.hub = hubConfigOf(settings);
    this.receipts = receiptConfigOf(settings);
    this.traces = tracesConfigOf(settings);
    this.withoutEffect = parts.withoutEffect;
  }

  hasRole(role: Role): boolean {
    return this.roles.has(role);
  }

  /** `undefined` if webhooks are off. */
  get webhooks(): HistoryConfig['webhooks'] | undefined {
    return this.history?.webhooks;
  }

  get deliversWebhooks(): boolean {
    return this.webhooks !== undefined && this.hasRole('history');
  }

  /** Whether this process takes part in settling payments. */
  get settles(): boolean {
    return SETTLING_ROLES.some((role) => this.roles.has(role));
  }

  /** Whether this process reads or writes the ledger. */
  get usesLedger(): boolean {
    return this.settles || this.roles.has('history');
  }

  /** Whether this process uses chains. Otherwise it needs no network, endpoint or key. */
  get usesChains(): boolean {
    return this.settles || this.wallet !== undefined;
  }

  /** @throws ConfigError with all problems. */
  static fromEnv(env: NodeJS.ProcessEnv): AppConfig {
    const problems: string[] = [];
    const given = readFileSettings(withoutBlanks(env), FILE_SETTINGS, problems);
    problems.push(...removedSettings(given));
    const settings = Settings.safeParse(given);
    if (!settings.success) problems.push(...describeIssues(settings.error));
    // Read separately, so that other problems do not hide the problems of a network.
    const { NETWORKS, SIGNER_KEYS, ROLES: RolesSetting } = Settings.shape;
    const roles = RolesSetting.safeParse(given['ROLES']).data ?? [];
    const hasWallet = roles.includes('wallet') && (given['WALLET_PROVIDER'] ?? 'off') !== 'off';
    const settles = roles.length === 0 || roles.some((role) => SETTLING_ROLES.includes(role));
    const usesChains = settles || hasWallet || readsChains(given, roles);
    const usesLedger = settles || roles.includes('history');
    const chains = NETWORKS.safeParse(given['NETWORKS']);
    const namedChains = chains.data ?? [];
    const names = Object.keys(withoutBlanks(env)).filter((name) => !isRemovedSetting(name));
    problems.push(...unknownSettings(names, KNOWN_NAMES, namedChains));
    const sharedKeys = SIGNER_KEYS.safeParse(given['SIGNER_KEYS']);
    const networks = [...new Set(usesChains ? namedChains : [])].map((chainId) =>
      readNetwork(chainId, given, sharedKeys.data ?? [], problems),
    );
    if (sharedKeys.success && chains.success && roles.includes('worker')) {
      checkWorkerHasKeys(networks, problems);
    }
    if (roles.includes('hub')) {
      const { PORT } = Settings.shape;
      const ownUrl = hasWallet ? ownWalletUrl(PORT.safeParse(given['PORT']).data ?? 0) : undefined;
      const walletUrl = given['WALLET_PUBLIC_URL'] ?? ownUrl;
      problems.push(...hubProblems(given, roles.includes('api'), walletUrl));
    }
    const wallet = settings.data?.ROLES.includes('wallet')
      ? readWallet(settings.data, networks, settings.data.PORT, problems)
      : undefined;
    const chainIds = [...new Set(usesLedger ? namedChains : [])];
    const redis = redisUrlsOf(given, roles, usesLedger, problems);
    problems.push(...accessProblems(given), ...opsProblems(given));
    problems.push(...historyProblems(given, roles));
    if (settings.success) problems.push(...receiptProblems(settings.data, networks));
    if (!settings.success || problems.length > 0) throw new ConfigError(problems);
    const withoutEffect = settingsWithoutEffect(names, KNOWN_NAMES, namedChains);
    return new AppConfig(settings.data, { networks, wallet, redis, chainIds, withoutEffect });
  }
}

const SECONDS_A_DAY = 86_400;
