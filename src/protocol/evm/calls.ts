import type { Address, Hex } from 'viem';
import { addressWord, bytes32Word, bytesWords, keccakOfText, uintWord } from './abi-words.js';
import type {
  Eip3009Authorization,
  ExactAuthorization,
  Permit2Authorization,
  SponsoredPermit,
} from './authorization.js';
import { MULTICALL3, PERMIT2 } from './contracts.js';
import type { Deployment } from './erc6492.js';
import { isEcdsaSignature } from './signature.js';

/** A call to a contract, with no native coin attached. */
export interface Call {
  readonly to: Address;
  readonly data: Hex;
  /** The account to which the call deploys code. That code has never run before. */
  readonly deploys?: Address;
}

/** The first four bytes of a function's hash, without prefix (Solidity ABI). */
export function selectorOf(signature: string): string {
  return keccakOfText(signature).slice(2, 10);
}

export const TRANSFER_WITH_VRS = selectorOf(
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
);
export const TRANSFER_WITH_BYTES = selectorOf(
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
);
export const SETTLE = selectorOf(
  'settle(((address,uint256),uint256,uint256),address,(address,uint256),bytes)',
);
export const SETTLE_WITH_PERMIT = selectorOf(
  'settleWithPermit((uint256,uint256,bytes32,bytes32,uint8),((address,uint256),uint256,uint256),address,(address,uint256),bytes)',
);
const AGGREGATE3 = selectorOf('aggregate3((address,bool,bytes)[])');
const IS_VALID_SIGNATURE = selectorOf('isValidSignature(bytes32,bytes)');
const BALANCE_OF = selectorOf('balanceOf(address)');
const ALLOWANCE = selectorOf('allowance(address,address)');
export const APPROVE = selectorOf('approve(address,uint256)');
const NAME = selectorOf('name()');
const VERSION = selectorOf('version()');
const AUTHORIZATION_STATE = selectorOf('authorizationState(address,bytes32)');
const NONCE_BITMAP = selectorOf('nonceBitmap(address,uint256)');
const PROXY_PERMIT2 = selectorOf('PERMIT2()');

/**
 * The call that moves the tokens. Anyone may send it, because only the signature matters. A Permit2 payment goes
 * through the proxy that the payer signed as spender. Another proxy cannot present it, so later changes of the
 * settings do not matter.
 */
export function settlementCall(authorization: ExactAuthorization, token: Address): Call {
  if (authorization.method === 'permit2') {
    return { to: authorization.spender, data: settleData(authorization) };
  }
  const transfer = { to: token, data: transferWithAuthorizationData(authorization) };
  const { deployment, from } = authorization;
  return deployment === undefined ? transfer : onceDeployed(deployment, from, transfer);
}

/**
 * A call after the deployment of the payer's wallet, both through Multicall3: the payer chose the code, and Multicall3
 * owns nothing that this code could take. The deployment may fail, because the wallet may exist by now.
 */
export function onceDeployed(
  { factory, data }: Deployment,
  wallet: Address,
  call: Call,
  mayFail = false,
): Call {
  const deploying = { to: factory, data, mayFail: true };
  return { ...multicall([deploying, { ...call, mayFail }]), deploys: wallet };
}

/**
 * A 65-byte signature uses the (v, r, s) overload, any other the bytes overload (EIP-3009). So does the signature of a
 * wallet that is deployed in the same call, because some tokens accept only signers with a key in the first one.
 */
function transferWithAuthorizationData(authorization: Eip3009Authorization): Hex {
  const { from, to, value, validAfter, validBefore, nonce, signature } = authorization;
  const words =
    addressWord(from) +
    addressWord(to) +
    uintWord(value) +
    uintWord(validAfter) +
    uintWord(validBefore) +
    bytes32Word(nonce);
  if (isEcdsaSignature(signature) && authorization.deployment === undefined) {
    const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)];
    return `0x${TRANSFER_WITH_VRS}${words}${v.padStart(64, '0')}${r}${s}`;
  }
  const offset = uintWord(7 * 32);
  return `0x${TRANSFER_WITH_BYTES}${words}${offset}${bytesWords(signature)}`;
}

function settleData(authorization: Permit2Authorization): Hex {
  const { from, token, amount, nonce, deadline, witnessTo, witnessValidAfter } = authorization;
  const permitAndWitness =
    addressWord(token) +
    uintWord(amount) +
    uintWord(nonce) +
    uintWord(deadline) +
    addressWord(from) +
    addressWord(witnessTo) +
    uintWord(witnessValidAfter);
  const signature = bytesWords(authorization.signature);
  const permit = authorization.sponsoredPermit;
  return permit === undefined
    ? `0x${SETTLE}${permitAndWitness}${uintWord(8 * 32)}${signature}`
    : `0x${SETTLE_WITH_PERMIT}${sponsoredPermitWords(permit)}${permitAndWitness}${uintWord(13 * 32)}${signature}`;
}

/** value, deadline, r, s, v */
export function sponsoredPermitWords({ value, deadline, r, s, v }: SponsoredPermit): string {
  return uintWord(value) + uintWord(deadline) + bytes32Word(r) + bytes32Word(s) + uintWord(v);
}

/**
 * The same call with more bytes after its calldata. Contracts read arguments from the front, so the call has the same
 * effect.
 */
export function withSuffix(call: Call, suffix: Hex | undefined): Call {
  return suffix === undefined ? call : { ...call, data: `${call.data}${suffix.slice(2)}` };
}

/** Multicall3 `aggregate3`, where each call may fail on its own. */
export function aggregateCall(calls: readonly Call[]): Call {
  return multicall(calls.map((call) => ({ ...call, mayFail: true })));
}

/** Multicall3 `aggregate3`; it reverts as a whole if a call fails that may not. */
function multicall(calls: readonly (Call & { readonly mayFail: boolean })[]): Call {
  const items = calls.map(
    ({ to, data, mayFail }) =>
      addressWord(to) + uintWord(mayFail ? 1 : 0) + uintWord(3 * 32) + bytesWords(data),
  );
  let offset = calls.length * 32;
  const offsets = items.map((item) => {
    const word = uintWord(offset);
    offset += item.length / 2;
    return word;
  });
  return {
    to: MULTICALL3,
    data: `0x${AGGREGATE3}${uintWord(32)}${uintWord(calls.length)}${offsets.join('')}${items.join('')}`,
  };
}

export function isValidSignatureCall(wallet: Address, digest: Hex, signature: Hex): Call {
  return {
    to: wallet,
    data: `0x${IS_VALID_SIGNATURE}${bytes32Word(digest)}${uintWord(2 * 32)}${bytesWords(signature)}`,
  };
}

export function balanceOfCall(token: Address, owner: Address): Call {
  return { to: token, data: `0x${BALANCE_OF}${addressWord(owner)}` };
}

/** Reads the owner's allowance to Permit2. */
export function permit2AllowanceCall(token: Address, owner: Address): Call {
  return {
    to: token,
    data: `0x${ALLOWANCE}${addressWord(owner)}${addressWord(PERMIT2)}`,
  };
}

/**
 * Reads the calldata of `approve(address,uint256)`, including its selector; `undefined` where the first word is not an
 * address.
 */
export function approvalIn(
  data: Hex,
): { readonly spender: Address; readonly amount: bigint } | undefined {
  const [spender, amount] = [data.slice(10, 74), data.slice(74, 138)];
  if (!/^0{24}[0-9a-f]{40}$/.test(spender) || amount.length !== 64) return undefined;
  return { spender: `0x${spender.slice(24)}`, amount: BigInt(`0x${amount}`) };
}

export function authorizationStateCall(token: Address, payer: Address, nonce: Hex): Call {
  return {
    to: token,
    data: `0x${AUTHORIZATION_STATE}${addressWord(payer)}${bytes32Word(nonce)}`,
  };
}

/** The word of Permit2's nonce bitmap that holds this nonce; see {@link isBitSet}. */
export function nonceBitmapCall(owner: Address, nonce: bigint): Call {
  return {
    to: PERMIT2,
    data: `0x${NONCE_BITMAP}${addressWord(owner)}${uintWord(nonce >> 8n)}`,
  };
}

/** Whether the nonce is used, given its word of the bitmap (Permit2 SignatureTransfer). */
export function isBitSet(bitmap: bigint, nonce: bigint): boolean {
  return ((bitmap >> (nonce & 0xffn)) & 1n) === 1n;
}

export function nameCall(token: Address): Call {
  return { to: token, data: `0x${NAME}` };
}

export function versionCall(token: Address): Call {
  return { to: token, data: `0x${VERSION}` };
}

export function proxyPermit2Call(proxy: Address): Call {
  return { to: proxy, data: `0x${PROXY_PERMIT2}` };
}
