/** The names that there are. */
export interface KnownNames {
  /** Given once for the process. */
  readonly plain: ReadonlySet<string>;
  /** Given for each chain, as `NAME_<chainId>`. */
  readonly ofChains: ReadonlySet<string>;
  /** May be given as `NAME_FILE`. */
  readonly asFiles: ReadonlySet<string>;
}

/** First words that only this service uses: a name that begins so was meant for it. */
const OWN_WORDS = new Set([
  'APPROVAL',
  'CATALOGUE',
  'GAS',
  'HUB',
  'RECEIPT',
  'RETIRING',
  'RPC',
  'SETTLE',
  'SIGNER',
  'TREASURY',
  'WALLET',
  'WEBHOOK',
]);

/** Kubernetes and container links set these for each service, whatever its name. */
const OF_SERVICE_LINKS = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)$/;

/** A name this short is a word of others, too. */
const SHORT_NAME = 4;
/** A name is taken for a misspelt one up to this many letters off; a short one up to one. */
const TYPO_LETTERS = 2;
const TYPO_LETTERS_SHORT = 1;
const LONG_NAME = 9;

/**
 * Unknown names in the environment that look like settings. They stop the start, because a limit
 * under a wrong name has no effect.
 *
 * @param given - names of the environment that have a value.
 * @param chainIds - of `NETWORKS`, for an example.
 * @returns one problem for each, with the right name where there is one.
 */
export function unknownSettings(
  given: readonly string[],
  known: KnownNames,
  chainIds: readonly number[],
): string[] {
  return given.flatMap((name) => {
    const problem = problemOf(name, known, chainIds);
    return problem === undefined ? [] : [`${name}: ${problem}`];
  });
}

/** Names of settings for chains that `NETWORKS` does not name. They may stay while a network is taken out. */
export function settingsWithoutEffect(
  given: readonly string[],
  { ofChains }: KnownNames,
  chainIds: readonly number[],
): string[] {
  return given.filter((name) => {
    const { base, chainId } = partsOf(name);
    return chainId !== undefined && ofChains.has(base) && !chainIds.includes(chainId);
  });
}

function problemOf(
  name: string,
  known: KnownNames,
  chainIds: readonly number[],
): string | undefined {
  if (known.plain.has(name) || !/^[A-Z][A-Z\d_]*$/.test(name)) return undefined;
  const { base, chainId, isFile } = partsOf(name);
  const isKnown = chainId === undefined ? known.plain.has(base) : known.ofChains.has(base);
  if (isKnown && isFile && !known.asFiles.has(base)) {
    return `cannot be given as a file; set ${name.slice(0, -'_FILE'.length)}`;
  }
  if (isKnown) return undefined;
  if (known.ofChains.has(base)) {
    return `is set for each chain; set ${base}_${chainIds[0] ?? 56}${isFile ? '_FILE' : ''}`;
  }
  if (known.plain.has(base)) return `is not set for a chain; set ${base}`;
  if (OF_SERVICE_LINKS.test(name)) return undefined;
  const nearest = nearestOf(base, [...known.plain, ...known.ofChains]);
  const [word = ''] = name.split('_');
  if (nearest === undefined) {
    const isOwn = OWN_WORDS.has(word) && name !== word;
    return isOwn ? 'is not a setting; docs/settings.md lists all settings' : undefined;
  }
  const isOfChain = chainId !== undefined || !known.plain.has(nearest);
  const suffix = isOfChain ? `_${chainId ?? chainIds[0] ?? 56}` : '';
  return `is not a setting; did you mean ${nearest}${suffix}?`;
}

function partsOf(name: string): {
  readonly base: string;
  readonly chainId: number | undefined;
  readonly isFile: boolean;
} {
  const isFile = name.endsWith('_FILE');
  const plain = isFile ? name.slice(0, -'_FILE'.length) : name;
  const [, base, digits] = /^(.*)_(\d+)$/.exec(plain) ?? [];
  if (base === undefined) return { base: plain, chainId: undefined, isFile };
  return { base, chainId: Number(digits), isFile };
}

/** The name that is a typing mistake away, or the only one that goes on after this one. */
function nearestOf(name: string, names: readonly string[]): string | undefined {
  const most = name.length < LONG_NAME ? TYPO_LETTERS_SHORT : TYPO_LETTERS;
  let found: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of names) {
    // "POST" is no misspelt "PORT", "ROLE" is a misspelt "ROLES".
    const isShort = Math.min(name.length, candidate.length) <= SHORT_NAME;
    if (isShort && name.length === candidate.length) continue;
    const distance = distanceOf(name, candidate, most);
    if (distance <= most && distance < (found?.distance ?? Infinity)) {
      found = { name: candidate, distance };
    }
  }
  return found?.name ?? longerOf(name, names);
}

/** `SETTLE_WAIT` is meant as `SETTLE_WAIT_MS`: the unit is forgotten. One word alone may be of others. */
function longerOf(name: string, names: readonly string[]): string | undefined {
  const longer = name.includes('_') ? names.filter((one) => one.startsWith(`${name}_`)) : [];
  return longer.length === 1 ? longer[0] : undefined;
}

/** Letters to insert, remove, replace or swap with their neighbour; more than `most` need not be exact. */
function distanceOf(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          (row[j - 1] ?? 0) + 1,
          (last[j] ?? 0) + 1,
          (last[j - 1] ?? 0) + cost,
          isSwap ? (beforeLast[j - 2] ?? 0) + 1 : Infinity,
        ),
      );
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? most + 1;
}
