/** A month of UTC, counted from the year 0: 12 to a year. */
export type Month = number;

export function monthOf(ms: number): Month {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The first moment of a month, as PostgreSQL and `Date` read it. */
export function startOf(month: Month): string {
  const year = String(Math.floor(month / 12)).padStart(4, '0');
  return `${year}-${String((month % 12) + 1).padStart(2, '0')}-01T00:00:00Z`;
}

/** The partition of a month: `settlements_2026_11`. */
export function partitionOf(month: Month): string {
  return `settlements_${startOf(month).slice(0, 7).replace('-', '_')}`;
}

/** @returns `undefined` for any other table. */
export function monthOfPartition(name: string): Month | undefined {
  const [, year, month] = /^settlements_(\d{4})_(0[1-9]|1[0-2])$/.exec(name) ?? [];
  return year === undefined ? undefined : Number(year) * 12 + Number(month) - 1;
}

/** The oldest month that is kept beside the current one. */
export function oldestKept(now: number, months: number | undefined): Month {
  return months === undefined ? -Infinity : monthOf(now) - months;
}
