import type { Address, Hex } from 'viem';
import { z } from 'zod';
import { contractsOf, DEFAULT_SCHEME_CONTRACTS } from '../../protocol/evm/contracts.js';
import { isBuilderCode } from '../../protocol/payment/builder-code.js';
import { isCaip2 } from '../../protocol/payment/network.js';
import { EVM_ADDRESS, HEX_32_BYTES, isEvmAddress } from '../../protocol/payment/wire-values.js';

/**
 * Parsers of single settings, from text to a typed value. Messages never repeat the text, because it may be a secret.
 */

export const addressSetting: z.ZodType<Address, string> = z
  .string()
  .regex(EVM_ADDRESS, 'must be an address: 0x and 40 hex digits')
  .transform((text) => text.toLowerCase() as Address);

/**
 * Contracts that deploy wallets. A contract that forwards arbitrary calls is refused, because a payment could call
 * anything through it.
 */
export const factoriesSetting: z.ZodType<ReadonlySet<Address>, string> = z
  .string()
  .transform(splitList)
  .pipe(
    z.array(
      addressSetting.refine(
        (address) => !NO_FACTORIES.includes(address),
        'must name factories of smart wallets; this address is a contract of the payments',
      ),
    ),
  )
  .transform((addresses) => new Set(addresses));

const NO_FACTORIES: readonly Address[] = contractsOf(DEFAULT_SCHEME_CONTRACTS).map(
  ([, address]) => address,
);

export const builderCodeSetting: z.ZodType<string, string> = z
  .string()
  .refine(isBuilderCode, 'must be 1 to 32 lower-case letters, digits and underscores');

export const chainIdSetting: z.ZodType<number, string> = z
  .string()
  .refine(isCaip2, 'must be the CAIP-2 name of an EVM chain, such as eip155:56')
  .transform((text) => Number(text.slice('eip155:'.length)));

function isAssetName(text: string): boolean {
  const [network, address, ...rest] = text.split('/');
  return isCaip2(network) && isEvmAddress(address) && rest.length === 0;
}

const ASSET_FORM = /^eip155:[1-9][0-9]{0,15}\/0x[0-9a-fA-F]{40}$/;

/** `eip155:56/0x…`, in lower case. */
export const assetSetting: z.ZodType<string, string> = z
  .string()
  // The description of the wallet's rules contains this pattern.
  .regex(ASSET_FORM, { error: 'must be an asset, such as eip155:56/0x…', abort: true })
  .refine(isAssetName, 'must be an asset, such as eip155:56/0x…')
  .transform((text) => text.toLowerCase());

export const HTTP_URL = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

export const httpUrlSetting: z.ZodType<string, string> = HTTP_URL.refine(
  isDecodable,
  'must have its user and password percent-encoded',
);

/** Also true for invalid URLs, which the schema reports itself. */
function isDecodable(text: string): boolean {
  const { username = '', password = '' } = URL.parse(text) ?? {};
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

export const privateKeySetting: z.ZodType<Hex, string> = z
  .string()
  .regex(HEX_32_BYTES, 'must be a private key: 0x and 64 hex digits')
  .transform((text) => text.toLowerCase() as Hex);

/** Settings as text, by name. */
export type GivenSettings = Readonly<Record<string, string>>;

/**
 * The problems of a schema, one per line.
 *
 * @param suffix - appended to each name.
 */
export function describeIssues(error: z.ZodError, suffix = ''): string[] {
  return error.issues.map((issue) => {
    const name = String(issue.path[0] ?? '');
    return `${name}${suffix}: ${problemOf(issue)}`;
  });
}

function problemOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.input === undefined) return 'is required';
  // Unless the schema has its own message.
  if (issue.code === 'invalid_value' && issue.message.startsWith('Invalid')) {
    return `must be one of ${issue.values.join(', ')}`;
  }
  return issue.message;
}

/** A comma-separated list; blanks and empty items are ignored. */
export function listOf<T>(item: z.ZodType<T, string>): z.ZodType<T[], string> {
  return z.string().transform(splitList).pipe(z.array(item));
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

export function integerSetting(
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): z.ZodType<number, string> {
  return z.string().transform((text, context) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    context.addIssue(
      most === Number.MAX_SAFE_INTEGER
        ? `must be a whole number, at least ${least}`
        : `must be a whole number from ${least} to ${most}`,
    );
    return z.NEVER;
  });
}

/** A decimal number of a unit, converted to its smallest part. */
export function decimalSetting(decimals: number): z.ZodType<bigint, string> {
  return z.string().transform((text, context) => {
    const match = /^(\d{1,18})(?:\.(\d+))?$/.exec(text);
    const [whole = '', fraction = ''] = [match?.[1], match?.[2]];
    if (match !== null && fraction.length <= decimals) {
      return BigInt(whole + fraction.padEnd(decimals, '0'));
    }
    context.addIssue(`must be a decimal number with at most ${decimals} decimals`);
    return z.NEVER;
  });
}

/** `asset=amount` pairs; amounts in atomic units. */
export const amountsByAssetSetting: z.ZodType<ReadonlyMap<string, bigint>, string> = z
  .string()
  .transform(splitList)
  .pipe(
    z.array(
      z
        .string()
        .refine(
          (text) => /=\d{1,78}$/.test(text) && isAssetName(text.slice(0, text.lastIndexOf('='))),
          'must be an asset and an amount in atomic units, such as eip155:56/0x…=1000',
        ),
    ),
  )
  .transform(
    (pairs) =>
      new Map(
        pairs.map((pair): [string, bigint] => {
          const [asset = '', amount = ''] = pair.split('=');
          return [asset.toLowerCase(), BigInt(amount)];
        }),
      ),
  );

export const flagSetting = z.enum(['true', 'false'], { error: 'must be true or false' });

/** The host name in `Host` or `Origin`, without the port. */
export const hostNameSetting: z.ZodType<string, string> = z
  .string()
  .regex(/^([\w.-]{1,253}|\[[\da-fA-F:.]{2,45}\])$/, 'must be host names, without scheme or port')
  .transform((name) => name.toLowerCase());

/** Hosts, or host:port, in lower case. */
export const hostsSetting = listOf(
  z
    .string()
    .regex(/^[\w.[\]:-]{1,255}$/, 'must be hosts, such as 127.0.0.1:4021')
    .transform((name) => name.toLowerCase()),
).default([]);

/** Whether a URL has only scheme, host and path. */
export function isPlainBase(text: string): boolean {
  const { username, password, search, hash } = new URL(text);
  return `${username}${password}${search}${hash}` === '';
}
