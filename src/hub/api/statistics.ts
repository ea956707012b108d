import type { DayCounts } from '../index/hub-listing.js';

/** A day as the original shows it. */
export interface StatRow {
  /** The start of the day in UTC, RFC 3339. */
  readonly Day: string;
  readonly DailyAccounts: number;
  readonly DailyBuckets: number;
  readonly DailyNeedles: number;
  readonly DailyVolumes: number;
  readonly TotalAccounts: number;
  readonly TotalBuckets: number;
  readonly TotalNeedles: number;
  readonly TotalVolumes: number;
}

const DAY_MS = 86_400_000;
const NOTHING = { owners: 0, buckets: 0, objects: 0, volumes: 0 };

/**
 * The last days, newest first, back to the first day with an upload.
 *
 * @param days - oldest first.
 * @param now - milliseconds since 1970.
 */
export function statRows(days: readonly DayCounts[], count: number, now: number): StatRow[] {
  const [first] = days;
  const today = Math.floor(now / DAY_MS);
  if (first === undefined) return [];
  const known = new Map(days.map((one) => [one.day, one]));
  const from = Math.max(first.day, today - count + 1);
  const total = { ...NOTHING };
  const add = (counts: typeof NOTHING): void => {
    total.owners += counts.owners;
    total.buckets += counts.buckets;
    total.objects += counts.objects;
    total.volumes += counts.volumes;
  };
  for (const one of days) if (one.day < from) add(one);
  const rows: StatRow[] = [];
  for (let day = from; day <= today; day += 1) {
    const counts = known.get(day) ?? NOTHING;
    add(counts);
    rows.push({
      Day: new Date(day * DAY_MS).toISOString().replace('.000', ''),
      DailyAccounts: counts.owners,
      DailyBuckets: counts.buckets,
      DailyNeedles: counts.objects,
      DailyVolumes: counts.volumes,
      TotalAccounts: total.owners,
      TotalBuckets: total.buckets,
      TotalNeedles: total.objects,
      TotalVolumes: total.volumes,
    });
  }
  return rows.reverse();
}
