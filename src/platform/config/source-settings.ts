import { z } from 'zod';
import { type GivenSettings, listOf } from './settings.js';

/** Each of them is asked for every answer. */
const SOURCES_MAX = 8;
const URL_MAX = 2048;
/** It is shown with every entry, and part of every cursor. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Another catalogue, which is asked beside our own. */
export interface CatalogueSource {
  /** What its entries are marked with. */
  readonly name: string;
  /** `/discovery/…` lies below it; no slash at the end. */
  readonly url: string;
}

const sourceSetting: z.ZodType<CatalogueSource, string> = z
  .string()
  .max(URL_MAX, 'must be shorter')
  .transform((text, context) => {
    const source = readSource(text);
    if (source !== undefined) return source;
    context.addIssue('must be URLs of catalogues without a query, or name=URL in lower case');
    return z.NEVER;
  });

/** Catalogues of others: off unless some are named. */
export const SOURCE_SETTINGS = {
  DISCOVERY_SOURCES: listOf(sourceSetting)
    .refine((sources) => sources.length <= SOURCES_MAX, `must be at most ${SOURCES_MAX}`)
    .refine(
      (sources) => new Set(sources.map(({ name }) => name)).size === sources.length,
      'must have different names',
    )
    .default([]),
  /** Hosts, or host:port, that may be asked though their address is not public, and by http too. */
  DISCOVERY_SOURCES_ALLOW: listOf(
    z.string().regex(/^[\w.[\]:-]{1,255}$/, 'must be hosts, such as 127.0.0.1:4022'),
  ).default([]),
};

export interface SourcesConfig {
  /** In the order in which one of equal entries wins; never empty. */
  readonly sources: readonly CatalogueSource[];
  readonly allow: ReadonlySet<string>;
}

/** @returns `undefined` when it is off. */
export function sourcesConfigOf(
  settings: z.infer<z.ZodObject<typeof SOURCE_SETTINGS>>,
): SourcesConfig | undefined {
  const { DISCOVERY_SOURCES: sources, DISCOVERY_SOURCES_ALLOW: allow } = settings;
  return sources.length === 0 ? undefined : { sources, allow: lowerCase(allow) };
}

/** What is read over http may be written by anybody on the way. */
export function sourceProblems(given: GivenSettings): string[] {
  const [sources, allow] = [
    SOURCE_SETTINGS.DISCOVERY_SOURCES.safeParse(given['DISCOVERY_SOURCES']),
    SOURCE_SETTINGS.DISCOVERY_SOURCES_ALLOW.safeParse(given['DISCOVERY_SOURCES_ALLOW']),
  ];
  if (!sources.success || !allow.success) return [];
  const allowed = lowerCase(allow.data);
  const isBare = sources.data.some(({ url }) => {
    const { protocol, hostname, host } = new URL(url);
    return protocol === 'http:' && !allowed.has(hostname) && !allowed.has(host);
  });
  return isBare
    ? ['DISCOVERY_SOURCES: must be https URLs, but of hosts that DISCOVERY_SOURCES_ALLOW names']
    : [];
}

function readSource(text: string): CatalogueSource | undefined {
  const [, said, address = ''] = /^(?:([^=/:]*)=)?(.*)$/s.exec(text) ?? [];
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return undefined;
  }
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  const isPlain = [url.username, url.password, url.search, url.hash].every((part) => part === '');
  const name = said ?? url.hostname;
  if (!isWeb || !isPlain || !NAME.test(name)) return undefined;
  return { name, url: url.href.replace(/\/+$/, '') };
}

function lowerCase(hosts: readonly string[]): ReadonlySet<string> {
  return new Set(hosts.map((host) => host.toLowerCase()));
}
