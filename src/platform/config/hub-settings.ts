import { type Address, getAddress, zeroAddress } from 'viem';
import { z } from 'zod';
import { isBelow, isUrl } from '../http/urls.js';
import {
  HUB_SALES_SETTINGS,
  type HubSalesConfig,
  hubSalesConfigOf,
  hubSalesProblems,
} from './hub-sales-settings.js';
import { Secret } from './secret.js';
import { addressSetting, HTTP_URL, integerSetting } from './settings.js';

/** Settings of the file hub. */
export const HUB_SETTINGS = {
  HUB_MODE: z.enum(['public', 'private']).default('public'),
  HUB_AUTH: z.enum(['compatible', 'strict']).default('strict'),
  /** Public URL of the hub; sign-in messages must name it. */
  HUB_PUBLIC_URL: HTTP_URL.optional(),
  /**
   * Seconds by which the time of a compatible signature may differ. The original hub used 600, and 604800 in
   * production.
   */
  HUB_AUTH_WINDOW_SECONDS: integerSetting(1, 604_800).default(600),
  HUB_PRIVATE_READS: z.enum(['owner', 'public']).default('owner'),
  HUB_LEGACY_STATUS: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .default(false),
  HUB_ADDRESS: addressSetting.optional(),
  HUB_MAX_JSON_BYTES: integerSetting(1024, 67_108_864).default(4_194_304),
  HUB_MAX_MULTIPART_BYTES: integerSetting(1024, 1_073_741_824).default(67_108_864),
  /** Maximum bytes of all files of an owner; 0 is no limit. */
  HUB_QUOTA_BYTES: integerSetting(0).default(1_073_741_824),
  /** Maximum files of all owners: the index needs up to 4 KiB of Redis for each. 0 is no limit. */
  HUB_MAX_OBJECTS: integerSetting(0).default(200_000),
  /** Readable earlier versions of a file; each needs up to 2 KiB of Redis. */
  HUB_VERSIONS: integerSetting(0, 100).default(0),
  /** Seconds after which unreferenced payloads are freed; 0 never frees them. */
  HUB_COMPACT_AFTER_SECONDS: integerSetting(0, 315_360_000).default(0),
  /** Bytes to keep free for other users of the file system; 0 for none. */
  HUB_MIN_FREE_BYTES: integerSetting(0).default(268_435_456),
  HUB_STORAGE: z.enum(['fs', 's3', 'memory']).default('fs'),
  HUB_DATA_DIR: z.string().default('./data/hub'),
  HUB_S3_BUCKET: z.string().optional(),
  HUB_S3_REGION: z.string().default('us-east-1'),
  HUB_S3_ENDPOINT: HTTP_URL.optional(),
  HUB_S3_PREFIX: z
    .string()
    .regex(/^[\w./-]{0,200}$/, 'must be letters, digits, and any of . _ - /')
    .default(''),
  HUB_S3_FORCE_PATH_STYLE: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .default(false),
  HUB_S3_ACCESS_KEY_ID: z.string().optional(),
  HUB_S3_SECRET_ACCESS_KEY: z.string().optional(),
  /** Requests per second of one address and of one signer; 0 is off. */
  RATE_LIMIT_HUB: integerSetting(0, 1_000_000).default(20),
  ...HUB_SALES_SETTINGS,
};

type HubSettings = z.infer<z.ZodObject<typeof HUB_SETTINGS>>;

export interface S3Config {
  readonly bucket: string;
  readonly region: string;
  /** Endpoint of an S3-compatible service; AWS if absent. */
  readonly endpoint: string | undefined;
  /** Prefix of every key, with a trailing slash unless empty. */
  readonly prefix: string;
  readonly forcePathStyle: boolean;
  /** The credential chain of the AWS SDK if absent. */
  readonly credentials: Secret<S3Credentials> | undefined;
}

interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

type HubStorageConfig =
  | { readonly kind: 'fs'; readonly dir: string }
  | ({ readonly kind: 's3' } & S3Config)
  | { readonly kind: 'memory' };

export interface HubConfig {
  readonly isPrivate: boolean;
  /** Whether only strict signatures are accepted. */
  readonly isStrict: boolean;
  readonly authWindowSeconds: number;
  /** Public URL of the hub. Without it no sign-in messages are accepted. */
  readonly site: URL | undefined;
  /** In a private hub: whether single files can be read without a signature. */
  readonly hasPublicReads: boolean;
  /** Whether application errors have status 599, as in the original hub. */
  readonly usesLegacyStatus: boolean;
  /** With its EIP-55 checksum, because first volume numbers and strict signatures depend on the spelling. */
  readonly address: Address;
  readonly maxJsonBytes: number;
  readonly maxMultipartBytes: number;
  /** Maximum bytes of all files of an owner; unlimited if absent. */
  readonly quotaBytes: number | undefined;
  /** Maximum payloads of all owners; unlimited if absent. */
  readonly maxObjects: number | undefined;
  /** Readable earlier versions of a file; 0 for none. */
  readonly versions: number;
  /** Seconds after which unreferenced payloads are freed; never if absent. */
  readonly compactAfterSeconds: number | undefined;
  /** Bytes that an upload must leave free on the file system; 0 if absent. */
  readonly minFreeBytes: number | undefined;
  readonly storage: HubStorageConfig;
  /** Requests per second of one address, and of one signer; unlimited if absent. */
  readonly ratePerSecond: number | undefined;
  /** `undefined` if the hub sells nothing. */
  readonly sales: HubSalesConfig | undefined;
}

/**
 * Problems between settings, for the report at the start.
 *
 * @param isFacilitator - whether the process itself verifies and settles.
 * @param walletUrl - public URL of the wallet, if known.
 */
export function hubProblems(
  given: Readonly<Record<string, string>>,
  isFacilitator: boolean,
  walletUrl: string | undefined,
): string[] {
  const problems = hubSalesProblems(given, isFacilitator);
  if (given['HUB_STORAGE'] === 's3' && given['HUB_S3_BUCKET'] === undefined) {
    problems.push('HUB_S3_BUCKET: is required with HUB_STORAGE=s3');
  }
  if (given['HUB_S3_BUCKET'] === 'change-me') {
    problems.push('HUB_S3_BUCKET: change-me is a placeholder; name your bucket');
  }
  const [id, secret] = ['HUB_S3_ACCESS_KEY_ID', 'HUB_S3_SECRET_ACCESS_KEY'];
  if ((given[id] === undefined) !== (given[secret] === undefined)) {
    problems.push(`${id}, ${secret}: set both or neither`);
  }
  const isStrict = given['HUB_AUTH'] !== 'compatible';
  if (given['HUB_MODE'] === 'private' && isStrict && given['HUB_ADDRESS'] === undefined) {
    problems.push('HUB_ADDRESS: is required with HUB_AUTH=strict, whose signatures name it');
  }
  if (isWalletWithinHub(given['HUB_PUBLIC_URL'], walletUrl)) {
    problems.push(
      'HUB_PUBLIC_URL: must not hold WALLET_PUBLIC_URL (by default http://127.0.0.1:PORT), or a sign-in to the wallet would be one to the hub; name its /api',
    );
  }
  return problems;
}

/**
 * Whether the site of the wallet would include a part of the site of the hub, so that a sign-in message could be used
 * for both.
 */
function isWalletWithinHub(hub = '', wallet = ''): boolean {
  return isUrl(hub) && isUrl(wallet) && isBelow(new URL(wallet), new URL(hub));
}

export function hubConfigOf(settings: HubSettings): HubConfig {
  return {
    isPrivate: settings.HUB_MODE === 'private',
    isStrict: settings.HUB_AUTH === 'strict',
    authWindowSeconds: settings.HUB_AUTH_WINDOW_SECONDS,
    site: settings.HUB_PUBLIC_URL === undefined ? undefined : new URL(settings.HUB_PUBLIC_URL),
    hasPublicReads: settings.HUB_PRIVATE_READS === 'public',
    usesLegacyStatus: settings.HUB_LEGACY_STATUS,
    address: getAddress(settings.HUB_ADDRESS ?? zeroAddress),
    maxJsonBytes: settings.HUB_MAX_JSON_BYTES,
    maxMultipartBytes: settings.HUB_MAX_MULTIPART_BYTES,
    quotaBytes: settings.HUB_QUOTA_BYTES || undefined,
    maxObjects: settings.HUB_MAX_OBJECTS || undefined,
    versions: settings.HUB_VERSIONS,
    compactAfterSeconds: settings.HUB_COMPACT_AFTER_SECONDS || undefined,
    minFreeBytes: settings.HUB_MIN_FREE_BYTES || undefined,
    storage: storageOf(settings),
    ratePerSecond: settings.RATE_LIMIT_HUB || undefined,
    sales: hubSalesConfigOf(settings),
  };
}

function storageOf(settings: HubSettings): HubStorageConfig {
  switch (settings.HUB_STORAGE) {
    case 'fs':
      return { kind: 'fs', dir: settings.HUB_DATA_DIR };
    case 'memory':
      return { kind: 'memory' };
    case 's3': {
      const { HUB_S3_ACCESS_KEY_ID: accessKeyId, HUB_S3_SECRET_ACCESS_KEY: secretAccessKey } =
        settings;
      const prefix = settings.HUB_S3_PREFIX.replace(/^\/+|\/+$/g, '');
      return {
        kind: 's3',
        bucket: settings.HUB_S3_BUCKET ?? '',
        region: settings.HUB_S3_REGION,
        endpoint: settings.HUB_S3_ENDPOINT,
        prefix: prefix === '' ? '' : `${prefix}/`,
        forcePathStyle: settings.HUB_S3_FORCE_PATH_STYLE,
        credentials:
          accessKeyId === undefined || secretAccessKey === undefined
            ? undefined
            : new Secret({ accessKeyId, secretAccessKey }),
      };
    }
  }
}
