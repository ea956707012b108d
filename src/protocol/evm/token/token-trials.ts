import { randomBytes } from 'node:crypto';
import type { Address, Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import {
  addressWord,
  bytes32Word,
  bytesWords,
  keccakOfHex,
  keccakOfText,
  uintWord,
} from '../abi-words.js';
import type { Eip3009Authorization } from '../authorization.js';
import { type Call, selectorOf, settlementCall, TRANSFER_WITH_BYTES } from '../calls.js';
import { PERMIT2 } from '../contracts.js';
import { computeTokenSeparator, eip3009Digest, type TokenDomain } from '../typed-data.js';

/** Calls that test a token without moving anything. */

export const SYMBOL = selectorOf('symbol()');
export const DECIMALS = selectorOf('decimals()');
export const DOMAIN_SEPARATOR = selectorOf('DOMAIN_SEPARATOR()');
export const EIP712_DOMAIN = selectorOf('eip712Domain()');
/** The answer to this unknown function shows how the token refuses unknown functions. */
export const UNKNOWN_FUNCTION = selectorOf('x402HasNoSuchFunction()');
const TRANSFER = selectorOf('transfer(address,uint256)');
const NONCES = selectorOf('nonces(address)');
const PERMIT = selectorOf('permit(address,address,uint256,uint256,uint8,bytes32,bytes32)');
const PERMIT_TYPE = bytes32Word(
  keccakOfText(
    'Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)',
  ),
);
/** Unix seconds; far from now, and within the 48 bits some tokens keep. */
const FAR_FUTURE = 2n ** 40n;
/** Six words: from, to, value, validAfter, validBefore, nonce. */
const AUTHORIZATION_CHARACTERS = 6 * 64;

/** A key made for one test and never stored; it owns nothing. */
export interface TrialSigner {
  /** Lower case. */
  readonly address: Address;
  /** Nonce of its only authorization, 32 bytes. */
  readonly nonce: Hex;
  /** Signs a digest: r, s, v. */
  sign(digest: Hex): Promise<Hex>;
}

export function newTrialSigner(): TrialSigner {
  const account = privateKeyToAccount(generatePrivateKey());
  return {
    address: account.address.toLowerCase() as Address,
    nonce: `0x${randomBytes(32).toString('hex')}`,
    sign: (hash) => account.sign({ hash }),
  };
}

export function plainCall(token: Address, selector: string): Call {
  return { to: token, data: `0x${selector}` };
}

export function noncesCall(token: Address, owner: Address): Call {
  return { to: token, data: `0x${NONCES}${addressWord(owner)}` };
}

/** `transfer` of zero coins by the caller. */
export function plainTransferCall(token: Address, to: Address): Call {
  return { to: token, data: `0x${TRANSFER}${addressWord(to)}${uintWord(0n)}` };
}

/**
 * `transferWithAuthorization` of amount 0.
 *
 * @param options - whether the signature is valid for these terms, and the payee; the signer if absent.
 */
export async function transferCall(
  overload: 'vrs' | 'bytes',
  signer: TrialSigner,
  domain: TokenDomain,
  { isGood = true, to = signer.address }: { readonly isGood?: boolean; readonly to?: Address } = {},
): Promise<Call> {
  const unsigned = {
    scheme: 'exact',
    method: 'eip3009',
    from: signer.address,
    to,
    value: 0n,
    validAfter: 0n,
    validBefore: FAR_FUTURE,
    nonce: signer.nonce,
    signature: '0x',
  } satisfies Eip3009Authorization;
  const signed = isGood ? unsigned : { ...unsigned, value: 1n };
  const signature = await signer.sign(eip3009Digest(signed, domain));
  const call = settlementCall({ ...unsigned, signature }, domain.token);
  if (overload === 'vrs') return call;
  const words = call.data.slice(10, 10 + AUTHORIZATION_CHARACTERS);
  return {
    to: domain.token,
    data: `0x${TRANSFER_WITH_BYTES}${words}${uintWord(7 * 32)}${bytesWords(signature)}`,
  };
}

/** `permit` of amount 0 to Permit2. */
export async function permitCall(
  signer: TrialSigner,
  domain: TokenDomain,
  nonce: bigint,
  isGood: boolean,
): Promise<Call> {
  const { address } = signer;
  const structHash = keccakOfHex(
    PERMIT_TYPE +
      addressWord(address) +
      addressWord(PERMIT2) +
      uintWord(isGood ? 0n : 1n) +
      uintWord(nonce) +
      uintWord(FAR_FUTURE),
  );
  const separator = computeTokenSeparator(domain);
  const signature = await signer.sign(keccakOfHex(`1901${separator}${bytes32Word(structHash)}`));
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)];
  const terms = addressWord(address) + addressWord(PERMIT2) + uintWord(0n) + uintWord(FAR_FUTURE);
  return { to: domain.token, data: `0x${PERMIT}${terms}${v.padStart(64, '0')}${r}${s}` };
}
