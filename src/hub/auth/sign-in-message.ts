import type { Address } from 'viem';
import { isBelow, isUrl } from '../../platform/http/urls.js';
import { isEvmAddress } from '../../protocol/payment/wire-values.js';

/** The parts of a sign-in message (ERC-4361) that name its site, its signer and its time. */
interface SignInMessage {
  /** Host, with its port if it names one; in lower case. */
  readonly domain: string;
  /** Lower case. */
  readonly address: Address;
  readonly uri: URL;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** Unix seconds; the message is invalid from then on. */
  readonly expiresAt: number | undefined;
  /** Unix seconds; the message is invalid before. */
  readonly notBefore: number | undefined;
}

const FIRST_LINE =
  /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^\s/?#@]{1,255}) wants you to sign in with your Ethereum account:$/i;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** The required fields of a message, in order, and the optional ones. */
const REQUIRED = ['URI', 'Version', 'Chain ID', 'Nonce', 'Issued At'] as const;
const OPTIONAL = ['Expiration Time', 'Not Before', 'Request ID'] as const;

/**
 * Reads a message by the grammar of ERC-4361, line by line: each part has its fixed place, so that no other part, such
 * as the statement, can pass for it.
 *
 * @returns `undefined` for any other text.
 */
export function readSignInMessage(text: string): SignInMessage | undefined {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  const domain = FIRST_LINE.exec(lines[0] ?? '')?.[1];
  const address = lines[1] ?? '';
  if (domain === undefined || !isEvmAddress(address) || lines[2] !== '') return undefined;
  // An empty line without a statement; or a statement followed by an empty line.
  const start = lines[3] === '' ? 4 : 5;
  if (lines[start - 1] !== '') return undefined;
  const fields = readFields(lines.slice(start));
  const uri = fields?.get('URI');
  const issuedAt = secondsOf(fields?.get('Issued At'));
  const expiresAt = secondsOf(fields?.get('Expiration Time'));
  const notBefore = secondsOf(fields?.get('Not Before'));
  const isWhole = [issuedAt, expiresAt, notBefore].every((time) => !Number.isNaN(time));
  if (uri === undefined || !isUrl(uri) || issuedAt === undefined || !isWhole) {
    return undefined;
  }
  return {
    domain: domain.toLowerCase(),
    address: address.toLowerCase() as Address,
    uri: new URL(uri),
    issuedAt,
    expiresAt,
    notBefore,
  };
}

/**
 * Whether a message is for this site: the domain is its host, and the URI is its URL or lies below it.
 *
 * @param site - the URL of the hub, `HUB_PUBLIC_URL`.
 */
export function isFor({ domain, uri }: SignInMessage, site: URL): boolean {
  return domain === site.host && isBelow(uri, site);
}

/** `Name: value` lines in their order; resources may follow them. */
function readFields(lines: readonly string[]): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>();
  let at = 0;
  const take = (name: string): boolean => {
    const line = lines[at] ?? '';
    if (!line.startsWith(`${name}: `)) return false;
    fields.set(name, line.slice(name.length + 2));
    at += 1;
    return true;
  };
  if (!REQUIRED.every(take)) return undefined;
  for (const name of OPTIONAL) take(name);
  const rest = lines.slice(at);
  const areResources =
    rest[0] === 'Resources:' && rest.slice(1).every((line) => line.startsWith('- '));
  return rest.length === 0 || areResources ? fields : undefined;
}

/** Unix seconds; `undefined` for a missing field, NaN for an invalid time. */
function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return RFC_3339.test(text) ? Math.floor(Date.parse(text) / 1000) : Number.NaN;
}
