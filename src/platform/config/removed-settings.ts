import type { GivenSettings } from './settings.js';

/** Settings of earlier versions, without the suffix of a chain: what to do now that they are gone. */
const REMOVED: Readonly<Record<string, string>> = {
  LEDGER_PARTITIONS: 'the ledger of a chain is in one slot of a Redis Cluster. Remove the setting',
  DISCOVERY_SOURCES:
    'no other catalogue is read. Remove the setting; an agent wallet is given another catalogue by WALLET_CATALOGUE_URL',
  CATALOGUE_PROBE:
    'no seller is asked whether it still sells. Remove the setting; an entry ends when nothing was paid for it in CATALOGUE_DAYS',
  CATALOGUE_ENTRIES_PER_PAYEE: 'a payee has 500 entries on a chain. Remove the setting',
  HUB_RETENTION_MIN_DAYS: 'owners choose 1 to 3650 days. Remove the setting',
  HUB_RETENTION_MAX_DAYS: 'owners choose 1 to 3650 days. Remove the setting',
  WALLET_SAVE_TIMEOUT_MS:
    'one call saves for 120 seconds, and goes on when it is asked again. Remove the setting',
  DISCOVERY_SOURCES_ALLOW: 'no other catalogue is read. Remove the setting',
};

/**
 * Settings that this version does not have any more. They are refused, because they have no effect
 * any more.
 *
 * @returns one problem for each that is given.
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
