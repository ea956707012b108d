/** Cuts a page. One result beyond the page shows that there is a next page, which begins after the last result. */
export function cut<T>(
  found: readonly T[],
  limit: number,
): { readonly shown: readonly T[]; readonly last: T | undefined } {
  const shown = found.slice(0, limit);
  return { shown, last: found.length > limit ? shown.at(-1) : undefined };
}
