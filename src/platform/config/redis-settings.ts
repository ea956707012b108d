import { z } from 'zod';
import { readRedisAddress } from './redis-address.js';
import { Secret } from './secret.js';
import { flagSetting, type GivenSettings } from './settings.js';

const redisUrl = z.string().superRefine((text, context) => {
  for (const message of readRedisAddress(text).problems) {
    context.addIssue({ code: 'custom', message });
  }
});

const ONE_PRIMARY = 'one primary, or Sentinels that know it';

/** Their scripts touch keys in many slots. */
const onePrimaryUrl = redisUrl.superRefine((text, context) => {
  if (!isCluster(text)) return;
  context.addIssue({ code: 'custom', message: `must name ${ONE_PRIMARY}, not a Redis Cluster` });
});

/** Each kind of work may have a Redis of its own: a full one does not stop the others. */
export const REDIS_SETTINGS = {
  REDIS_URL: redisUrl.optional(),
  QUEUE_REDIS_URL: redisUrl.optional(),
  HUB_REDIS_URL: onePrimaryUrl.optional(),
  WALLET_REDIS_URL: onePrimaryUrl.optional(),
  REDIS_UNSAFE: flagSetting.default('false'),
};

const isCluster = (url: string): boolean => readRedisAddress(url).address?.kind === 'cluster';

/** Which Redis is used for what; two that are equal are one. */
export interface RedisUrls {
  /** Of the ledger. A process that does not settle has none, and reports itself in its own. */
  readonly ledger: Secret<string>;
  /** Of the queues of jobs. Nothing is lost with it: jobs are made again from the ledger and the database. */
  readonly queue: Secret<string>;
  readonly hub: Secret<string>;
  readonly wallet: Secret<string>;
  /** Whether the ledger may be in a Redis that loses or evicts it. */
  readonly mayBeUnsafe: boolean;
}

/**
 * The URLs for the roles of a process: a hub or a wallet without one of its own shares the ledger's.
 *
 * @param usesLedger - whether a role needs the ledger.
 * @param problems - takes what is missing.
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
