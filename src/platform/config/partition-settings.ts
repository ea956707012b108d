import { z } from 'zod';
import type { GivenSettings } from './settings.js';

/** How many partitions the ledger of a chain may have: a settlement's id says its own in one character. */
export const PARTITION_COUNTS = [1, 2, 4, 8, 16] as const;

/** `LEDGER_PARTITIONS_<chainId>` */
export const partitionsSetting = z
  .string()
  .refine(
    (text) => PARTITION_COUNTS.some((count) => `${count}` === text),
    `must be one of ${PARTITION_COUNTS.join(', ')}`,
  )
  .transform(Number)
  .default(1);

/**
 * Into how many partitions the ledgers of these chains are split. A process may use the ledger of a chain whose other
 * settings it does not need.
 *
 * @param problems - takes what is wrong.
 */
export function readPartitionCounts(
  chainIds: readonly number[],
  given: GivenSettings,
  problems: string[],
): ReadonlyMap<number, number> {
  const counts = chainIds.map((chainId) => {
    const name = `LEDGER_PARTITIONS_${chainId}`;
    const parsed = partitionsSetting.safeParse(given[name]);
    if (!parsed.success) {
      const described = parsed.error.issues.map(({ message }) => `${name}: ${message}`);
      problems.push(...described.filter((problem) => !problems.includes(problem)));
    }
    return [chainId, parsed.data ?? 1] as const;
  });
  return new Map(counts);
}
