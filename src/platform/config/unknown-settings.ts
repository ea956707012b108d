/** All known names. */
export interface KnownNames {
  /** Set once for the process. */
  readonly plain: ReadonlySet<string>;
  /** Set per chain, as `NAME_<chainId>`. */
  readonly ofChains: ReadonlySet<string>;
  /** May be set as `NAME_FILE`. */
  readonly asFiles: ReadonlySet<string>;
}

/** First words that only this service uses, so an unknown name with such a word is a mistake. */
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

/** Kubernetes and container links set these variables for each service. */
const OF_SERVICE_LINKS = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)$/;

/** A name this short may also be a word of other programs. */
const SHORT_NAME = 4;
/** Letters by which a misspelt name may differ; a short name may differ by one. */
const TYPO_LETTERS = 2;
const TYPO_LETTERS_SHORT = 1;
const LONG_NAME = 9;

/**
 * Unknown names in the environment that look like settings. They stop the start, because a limit under a wrong name
 * has no effect.
 *
 * @param given - names of the environment with a value.
 * @param chainIds - of `NETWORKS`, for an example.
 * @returns one problem for each name, with the right name if there is one.
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

/**
 * Names of settings for chains that are not in `NETWORKS`. They are allowed, so that a network can be removed for a
 * while.
 */
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
    return `is a setting for each chain; set ${base}_${chainIds[0] ?? 56}${isFile ? '_FILE' : ''}`;
  }
  if (known.plain.has(base)) return `is one setting for all chains; set ${base}`;
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

/** The setting that differs by a typing mistake, or the only one that starts with this name. */
function nearestOf(name: string, names: readonly string[]): string | undefined {
  const most = name.length < LONG_NAME ? TYPO_LETTERS_SHORT : TYPO_LETTERS;
  let found: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of names) {
    // "POST" is not a mistyped "PORT", but "ROLE" is a mistyped "ROLES".
    const isShort = Math.min(name.length, candidate.length) <= SHORT_NAME;
    if (isShort && name.length === candidate.length) continue;
    const distance = distanceOf(name, candidate, most);
    if (distance <= most && distance < (found?.distance ?? Infinity)) {
      found = { name: candidate, distance };
    }
  }
  return found?.name ?? longerOf(name, names);
}

/** `SETTLE_WAIT` means `SETTLE_WAIT_MS`: the unit was forgotten. A single word may belong to other programs. */
function longerOf(name: string, names: readonly string[]): string | undefined {
  const longer = name.includes('_') ? names.filter((one) => one.startsWith(`${name}_`)) : [];
  return longer.length === 1 ? longer[0] : undefined;
}

/** The number of letters to insert, remove, replace or swap with a neighbour; above `most` it need not be exact. */
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
