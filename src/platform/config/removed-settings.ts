import type { GivenSettings } from './settings.js';

/** Settings of earlier versions, without the suffix of a chain, and the advice for each. */
const REMOVED: Readonly<Record<string, string>> = {
  LEDGER_PARTITIONS:
    'the ledger of a chain is always in one slot of a Redis Cluster. Remove the setting',
  DISCOVERY_SOURCES:
    'the service reads no other catalogue any more. Remove the setting; to give an agent wallet another catalogue, set WALLET_CATALOGUE_URL',
  CATALOGUE_PROBE:
    'the service does not ask sellers any more whether they still sell. Remove the setting; an entry ends after CATALOGUE_DAYS without a payment',
  CATALOGUE_ENTRIES_PER_PAYEE: 'a payee can always have 500 entries on a chain. Remove the setting',
  HUB_RETENTION_MIN_DAYS: 'owners can always choose 1 to 3650 days. Remove the setting',
  HUB_RETENTION_MAX_DAYS: 'owners can always choose 1 to 3650 days. Remove the setting',
  WALLET_SAVE_TIMEOUT_MS:
    'one call always saves for at most 120 seconds; the next call continues. Remove the setting',
  DISCOVERY_SOURCES_ALLOW: 'the service reads no other catalogue any more. Remove the setting',
};

/**
 * Removed settings that are still set. They stop the start, because they have no effect.
 *
 * @returns one problem for each.
 */
export function removedSettings(given: GivenSettings): string[] {
  return Object.keys(given).flatMap((name) => {
    const advice = adviceFor(name);
    return advice === undefined ? [] : [`${name}: was removed; ${advice}`];
  });
}

export const isRemovedSetting = (name: string): boolean => adviceFor(name) !== undefined;

function adviceFor(name: string): string | undefined {
  return REMOVED[name.replace(/_\d+$/, '')];
}
