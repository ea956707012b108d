import { getTypesForEIP712Domain } from 'viem';
import { isJsonObject, readAddress, readInteger } from '../../../protocol/payment/wire-values.js';
import type { TypedData } from '../../rules/spending.js';

/**
 * The same typed data with one form for each value: addresses in lower case, integers as decimals, the type of the
 * domain spelled out. Privy's policy compares values as text, so `0x01` must not differ from `1`. The digest does not
 * change.
 */
export function plainTypedData({ domain, types, primaryType, message }: TypedData): TypedData {
  const all = {
    ...types,
    EIP712Domain: types['EIP712Domain'] ?? getTypesForEIP712Domain({ domain }),
  };
  return {
    types: all,
    primaryType,
    domain: { ...plainStruct(domain, 'EIP712Domain', all), ...plainChainId(domain) },
    message: plainStruct(message, primaryType, all),
  };
}

type Types = TypedData['types'];

/** A JSON number, as in every example of Privy. */
function plainChainId({ chainId }: TypedData['domain']): { readonly chainId?: number } {
  const read = readInteger(chainId);
  const isSafe = read !== undefined && read >= 0n && read <= BigInt(Number.MAX_SAFE_INTEGER);
  return isSafe ? { chainId: Number(read) } : {};
}

function plainStruct(
  value: Readonly<Record<string, unknown>>,
  struct: string,
  types: Types,
): Record<string, unknown> {
  const kinds = new Map((types[struct] ?? []).map(({ name, type }) => [name, type]));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const type = kinds.get(name);
      return [name, type === undefined ? one : plainValue(one, type, types)];
    }),
  );
}

function plainValue(value: unknown, type: string, types: Types): unknown {
  const [, item] = /^(.*)\[\d*\]$/.exec(type) ?? [];
  if (item !== undefined && Array.isArray(value)) {
    return (value as unknown[]).map((one) => plainValue(one, item, types));
  }
  if (type in types && isJsonObject(value)) return plainStruct(value, type, types);
  if (type === 'address') return readAddress(value) ?? value;
  if (/^u?int\d*$/.test(type)) return readInteger(value)?.toString() ?? value;
  return value;
}
