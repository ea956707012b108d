import {
  type Address,
  decodeAbiParameters,
  encodeAbiParameters,
  encodeErrorResult,
  hashTypedData,
  type Hex,
  parseAbi,
  parseAbiParameters,
  recoverAddress,
} from 'viem';
import {
  type Call,
  selectorOf,
  TRANSFER_WITH_BYTES,
  TRANSFER_WITH_VRS,
} from '../../../../../src/protocol/evm/calls.js';
import type { CallOutcome } from '../../../../../src/protocol/evm/chain-reader.js';
import type { DomainName } from '../../../../../src/protocol/evm/token/token-domain.js';
import type { TokenReader } from '../../../../../src/protocol/evm/token/token-facts.js';
import { computeTokenSeparator } from '../../../../../src/protocol/evm/typed-data.js';

/** A token in memory, as its calls see it. */
export interface FakeToken {
  readonly name?: string;
  readonly symbol?: string;
  readonly version?: string;
  readonly decimals?: bigint;
  /** What it checks signatures against. */
  readonly domain?: DomainName;
  readonly hidesSeparator?: boolean;
  readonly functions?: readonly ('vrs' | 'bytes' | 'permit' | 'state' | 'eip712Domain')[];
  /** How it refuses: with a text, without a word, or by taking everything. */
  readonly manner?: 'speaks' | 'silent' | 'takes_all';
  /** Calls of these functions do not come to their end. */
  readonly burns?: readonly string[];
  /** Accounts it sends nothing to. */
  readonly refusesPayees?: readonly Address[];
}

export const TOKEN_AT: Address = `0x${'7c'.repeat(20)}`;
const CHAIN_ID = 56;
const ERROR = parseAbi(['error Error(string)']);

/** A chain with this token at {@link TOKEN_AT}, and what was asked of it. */
export function aTokenChain(token: FakeToken): TokenReader & { readonly calls: Call[] } {
  const calls: Call[] = [];
  return {
    calls,
    chainId: CHAIN_ID,
    call: (call) => {
      calls.push(call);
      return answer(token, call);
    },
  };
}

async function answer(token: FakeToken, { data }: Call): Promise<CallOutcome> {
  const { functions = [], manner = 'speaks' } = token;
  const selector = data.slice(2, 10);
  const args: Hex = `0x${data.slice(10)}`;
  if (token.burns?.some((signature) => selectorOf(signature) === selector)) {
    return { status: 'halted' };
  }
  const has = (name: (typeof functions)[number]): boolean => functions.includes(name);
  switch (selector) {
    case selectorOf('name()'):
      return text(token.name, manner);
    case selectorOf('symbol()'):
      return text(token.symbol, manner);
    case selectorOf('version()'):
      return text(token.version, manner);
    case selectorOf('decimals()'):
      return token.decimals === undefined ? lacking(manner) : word('uint256', token.decimals);
    case selectorOf('DOMAIN_SEPARATOR()'):
      return token.domain === undefined || token.hidesSeparator === true
        ? lacking(manner)
        : { status: 'returned', data: `0x${separatorOf(token.domain)}` };
    case selectorOf('eip712Domain()'):
      return has('eip712Domain') && token.domain ? eip712Domain(token.domain) : lacking(manner);
    case selectorOf('authorizationState(address,bytes32)'):
      return has('state') ? word('bool', false) : lacking(manner);
    case selectorOf('nonces(address)'):
      return has('permit') ? word('uint256', 4n) : lacking(manner);
    case TRANSFER_WITH_VRS:
      return has('vrs') ? transfer(token, args, 'uint8 v, bytes32 r, bytes32 s') : lacking(manner);
    case TRANSFER_WITH_BYTES:
      return has('bytes') ? transfer(token, args, 'bytes signature') : lacking(manner);
    case selectorOf('permit(address,address,uint256,uint256,uint8,bytes32,bytes32)'):
      return has('permit') ? permit(token, args) : lacking(manner);
    default:
      return lacking(manner);
  }
}

async function transfer(token: FakeToken, args: Hex, signed: string): Promise<CallOutcome> {
  const types = `address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, ${signed}`;
  const values: readonly unknown[] = decodeAbiParameters(parseAbiParameters(types), args);
  const [from, to, value, validAfter, validBefore, nonce] = values;
  if (token.refusesPayees?.some((payee) => payee.toLowerCase() === String(to).toLowerCase())) {
    return refused(token.manner);
  }
  const message = { from, to, value, validAfter, validBefore, nonce };
  const types712 =
    'address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce';
  return checked(token, String(from), values.slice(6), [
    'TransferWithAuthorization',
    types712,
    message,
  ]);
}

async function permit(token: FakeToken, args: Hex): Promise<CallOutcome> {
  const types =
    'address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s';
  const values = decodeAbiParameters(parseAbiParameters(types), args) as readonly unknown[];
  const [owner, spender, value, deadline] = values;
  const message = { owner, spender, value, nonce: 4n, deadline };
  const types712 = 'address owner,address spender,uint256 value,uint256 nonce,uint256 deadline';
  return checked(token, String(owner), values.slice(4), ['Permit', types712, message]);
}

async function checked(
  token: FakeToken,
  signer: string,
  signature: readonly unknown[],
  [primaryType, fields, message]: readonly [string, string, Record<string, unknown>],
): Promise<CallOutcome> {
  const { domain = { name: '', version: '' } } = token;
  const hash = hashTypedData({
    domain: { ...domain, chainId: CHAIN_ID, verifyingContract: TOKEN_AT },
    types: {
      [primaryType]: fields.split(',').map((field) => {
        const [type = '', name = ''] = field.split(' ');
        return { type, name };
      }),
    },
    primaryType,
    message,
  });
  const [v, r, s] = signature;
  const bytes =
    signature.length === 1
      ? (signature[0] as Hex)
      : (`0x${String(r).slice(2)}${String(s).slice(2)}${Number(v).toString(16)}` as Hex);
  const recovered = await recoverAddress({ hash, signature: bytes });
  return recovered.toLowerCase() === signer.toLowerCase()
    ? { status: 'returned', data: '0x' }
    : refused(token.manner);
}

function refused(manner: FakeToken['manner']): CallOutcome {
  if (manner === 'takes_all') return { status: 'returned', data: '0x' };
  if (manner === 'silent') return { status: 'reverted', data: '0x' };
  const data = encodeErrorResult({ abi: ERROR, errorName: 'Error', args: ['invalid signature'] });
  return { status: 'reverted', data };
}

/** Of a function it does not have. */
function lacking(manner: FakeToken['manner']): CallOutcome {
  return manner === 'takes_all'
    ? { status: 'returned', data: '0x' }
    : { status: 'reverted', data: '0x' };
}

function text(value: string | undefined, manner: FakeToken['manner']): CallOutcome {
  return value === undefined ? lacking(manner) : word('string', value);
}

function word(type: string, value: unknown): CallOutcome {
  return { status: 'returned', data: encodeAbiParameters([{ type }], [value]) };
}

function separatorOf(domain: DomainName): string {
  return computeTokenSeparator({ ...domain, chainId: CHAIN_ID, token: TOKEN_AT });
}

function eip712Domain({ name, version }: DomainName): CallOutcome {
  const types = parseAbiParameters('bytes1, string, string, uint256, address, bytes32, uint256[]');
  const salt: Hex = `0x${'00'.repeat(32)}`;
  const values = ['0x0f', name, version, BigInt(CHAIN_ID), TOKEN_AT, salt, []] as const;
  return { status: 'returned', data: encodeAbiParameters(types, values) };
}
