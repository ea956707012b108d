import { encodeAbiParameters, getTypesForEIP712Domain, type Hex } from 'viem';
import { keccakOfHex, keccakOfText, type Word } from '../../protocol/evm/abi-words.js';
import { isJsonObject, readBytes } from '../../protocol/payment/wire-values.js';
import type { TypedData } from './spending.js';

type Types = TypedData['types'];

const DOMAIN = 'EIP712Domain';
/** The one-word types of the ABI. */
const ATOMIC = /^(address|bool|u?int\d{0,3}|bytes\d{1,2})$/;
const LIST = /^(.+)\[(\d*)\]$/;

/** Typed data with its digest. */
export interface DigestedTypedData extends TypedData {
  /** EIP-712 digest; `undefined` for data that cannot be hashed. Computed once, at the first access. */
  readonly digest: Hex | undefined;
}

export function withDigest(typedData: TypedData): DigestedTypedData {
  return new Digested(typedData);
}

class Digested implements DigestedTypedData {
  readonly domain: TypedData['domain'];
  readonly types: TypedData['types'];
  readonly primaryType: TypedData['primaryType'];
  readonly message: TypedData['message'];
  #digest: Hex | undefined;
  #isHashed = false;

  constructor({ domain, types, primaryType, message }: TypedData) {
    this.domain = domain;
    this.types = types;
    this.primaryType = primaryType;
    this.message = message;
  }

  get digest(): Hex | undefined {
    if (!this.#isHashed) this.#digest = digestOf(this);
    this.#isHashed = true;
    return this.#digest;
  }
}

/**
 * The EIP-712 digest; `undefined` for invalid typed data. A type is hashed once for all its values: general libraries
 * hash it again for each value, so that a few kilobytes take a minute.
 */
export function digestOf({ domain, types, primaryType, message }: TypedData): Hex | undefined {
  const all = { ...types, [DOMAIN]: types[DOMAIN] ?? getTypesForEIP712Domain({ domain }) };
  try {
    const hasher = new StructHasher(all);
    const domainHash = hasher.hash(DOMAIN, domain);
    const messageHash = primaryType === DOMAIN ? '' : hasher.hash(primaryType, message);
    return keccakOfHex(`1901${domainHash}${messageHash}`);
  } catch {
    return undefined;
  }
}

class StructHasher {
  readonly #typeHashes = new Map<string, Word>();

  constructor(private readonly types: Types) {}

  hash(struct: string, value: unknown): Word {
    if (!isJsonObject(value)) throw new TypeError('a struct is an object');
    const words = this.#fieldsOf(struct).map(({ name, type }) =>
      this.#word(type, Object.hasOwn(value, name) ? value[name] : undefined),
    );
    return digitsOf(keccakOfHex(this.#typeHash(struct) + words.join('')));
  }

  #word(type: string, value: unknown): Word {
    if (Object.hasOwn(this.types, type)) return this.hash(type, value);
    const [, item, length] = LIST.exec(type) ?? [];
    if (item !== undefined) return this.#list(item, length ?? '', value);
    if (type === 'string' && typeof value === 'string') return digitsOf(keccakOfText(value));
    const bytes = type === 'bytes' ? readBytes(value) : undefined;
    if (bytes !== undefined) return digitsOf(keccakOfHex(digitsOf(bytes)));
    if (!ATOMIC.test(type))
      throw new TypeError('a field has an unknown type, or its value is missing');
    return digitsOf(encodeAbiParameters([{ type }], [value]));
  }

  #list(item: string, length: string, value: unknown): Word {
    if (!Array.isArray(value) || (length !== '' && value.length !== Number(length))) {
      throw new TypeError('a list of that length is expected');
    }
    const words = (value as unknown[]).map((one) => this.#word(item, one));
    return digitsOf(keccakOfHex(words.join('')));
  }

  #typeHash(struct: string): Word {
    let hash = this.#typeHashes.get(struct);
    if (hash === undefined) {
      hash = digitsOf(keccakOfText(this.#encodeType(struct)));
      this.#typeHashes.set(struct, hash);
    }
    return hash;
  }

  /** Its own fields first, then those of the structs it names, sorted by name. */
  #encodeType(struct: string): string {
    const named = new Set([struct]);
    // A set also iterates items that are added during the loop.
    for (const one of named) {
      for (const { type } of this.#fieldsOf(one)) {
        const [base = ''] = type.split('[');
        if (Object.hasOwn(this.types, base)) named.add(base);
      }
    }
    named.delete(struct);
    return [struct, ...[...named].sort()]
      .map((one) => {
        const fields = this.#fieldsOf(one).map(({ name, type }) => `${type} ${name}`);
        return `${one}(${fields.join(',')})`;
      })
      .join('');
  }

  #fieldsOf(struct: string): Types[string] {
    const fields = Object.hasOwn(this.types, struct) ? this.types[struct] : undefined;
    if (fields === undefined) throw new TypeError('no such struct');
    return fields;
  }
}

function digitsOf(hex: Hex): Word {
  return hex.slice(2);
}
