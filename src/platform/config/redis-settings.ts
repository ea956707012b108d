import { z } from 'zod';
import { readRedisAddress } from './redis-address.js';
import { Secret } from './secret.js';
import { flagSetting, type GivenSettings } from './settings.js';

const redisUrl = z.string().superRefine((text, context) => {
  for (const message of readRedisAddress(text).problems) {
    context.addIssue({ code: 'custom', message });
  }
});

const ONE_PRIMARY = 'one primary, or the Sentinels of one primary';

/** Scripts of hub and wallet use keys in many slots. */
const onePrimaryUrl = redisUrl.superRefine((text, context) => {
  if (!isCluster(text)) return;
  context.addIssue({ code: 'custom', message: `must name ${ONE_PRIMARY}, not a Redis Cluster` });
});

/** Each kind of work may have its own Redis, so that a full one does not stop the others. */
export const REDIS_SETTINGS = {
  REDIS_URL: redisUrl.optional(),
  QUEUE_REDIS_URL: redisUrl.optional(),
  HUB_REDIS_URL: onePrimaryUrl.optional(),
  WALLET_REDIS_URL: onePrimaryUrl.optional(),
  REDIS_UNSAFE: flagSetting.default('false'),
};

const isCluster = (url: string): boolean => readRedisAddress(url).address?.kind === 'cluster';

/** The Redis URL for each use. Equal URLs share a server. */
export interface RedisUrls {
  /** The ledger. A process that does not settle uses its own Redis here for its reports. */
  readonly ledger: Secret<string>;
  /** The queues of jobs. Lost jobs are recreated from the ledger and the database. */
  readonly queue: Secret<string>;
  readonly hub: Secret<string>;
  readonly wallet: Secret<string>;
  /** Whether the ledger may be in a Redis that can lose or evict it. */
  readonly mayBeUnsafe: boolean;
}

/**
 * The URLs for the roles of a process. A hub or a wallet without its own URL shares the Redis of the ledger.
 *
 * @param usesLedger - whether a role needs the ledger.
 * @param problems - collects missing settings.
 */
export function redisUrlsOf(
  given: GivenSettings,
  roles: readonly string[],
  usesLedger: boolean,
  problems: string[],
): RedisUrls {
  const own = { hub: given['HUB_REDIS_URL'], wallet: given['WALLET_REDIS_URL'] };
  const needed = (['hub', 'wallet'] as const).filter((role) => roles.includes(role));
  const url = given['REDIS_URL'];
  if (url === undefined && (usesLedger || needed.some((role) => own[role] === undefined))) {
    problems.push('REDIS_URL: is required');
  }
  if (url !== undefined && isCluster(url)) {
    for (const role of needed.filter((one) => own[one] === undefined)) {
      problems.push(
        `${role.toUpperCase()}_REDIS_URL: is required where REDIS_URL names a Redis Cluster: the ${role} needs ${ONE_PRIMARY}`,
      );
    }
  }
  const ledger = url ?? needed.map((role) => own[role]).find((one) => one !== undefined) ?? '';
  return {
    ledger: new Secret(ledger),
    queue: new Secret(given['QUEUE_REDIS_URL'] ?? ledger),
    hub: new Secret(own.hub ?? ledger),
    wallet: new Secret(own.wallet ?? ledger),
    mayBeUnsafe: given['REDIS_UNSAFE'] === 'true',
  };
}
