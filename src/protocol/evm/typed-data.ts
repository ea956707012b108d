import { hash } from 'node:crypto';
import type { Address, Hex } from 'viem';
import {
  addressWord,
  bytes32Word,
  keccakOfHex,
  keccakOfText,
  uintWord,
  type Word,
} from './abi-words.js';
import type {
  Eip3009Authorization,
  Permit2Authorization,
  UptoAuthorization,
} from './authorization.js';
import { PERMIT2 } from './contracts.js';

/**
 * EIP-712 digests of the structs that payers sign. The domain separator of a token is constant and takes as long as
 * the rest of a digest, so separators of signed payments are cached.
 */

const DOMAIN_TYPE = bytes32Word(
  keccakOfText(
    'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
  ),
);
/** Permit2's domain has no version. */
const DOMAIN_TYPE_WITHOUT_VERSION = bytes32Word(
  keccakOfText('EIP712Domain(string name,uint256 chainId,address verifyingContract)'),
);
const TRANSFER_WITH_AUTHORIZATION_TYPE = bytes32Word(
  keccakOfText(
    'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ),
);
const RECEIVE_WITH_AUTHORIZATION_TYPE = bytes32Word(
  keccakOfText(
    'ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ),
);
const TOKEN_PERMISSIONS = 'TokenPermissions(address token,uint256 amount)';
const WITNESS = 'Witness(address to,uint256 validAfter)';
const TOKEN_PERMISSIONS_TYPE = bytes32Word(keccakOfText(TOKEN_PERMISSIONS));
const WITNESS_TYPE = bytes32Word(keccakOfText(WITNESS));
const PERMIT_WITNESS_TRANSFER_FROM_TYPE = transferTypeWith(WITNESS);
const UPTO_WITNESS = 'Witness(address to,address facilitator,uint256 validAfter)';
const UPTO_WITNESS_TYPE = bytes32Word(keccakOfText(UPTO_WITNESS));
const UPTO_TRANSFER_FROM_TYPE = transferTypeWith(UPTO_WITNESS);
const DEPOSIT_WITNESS = 'DepositWitness(bytes32 channelId)';
const DEPOSIT_WITNESS_TYPE = bytes32Word(keccakOfText(DEPOSIT_WITNESS));
const DEPOSIT_TRANSFER_FROM_TYPE = transferTypeWith(DEPOSIT_WITNESS, 'DepositWitness');
const PERMIT2_NAME = bytes32Word(keccakOfText('Permit2'));

/** The EIP-712 domain a token's EIP-3009 and EIP-2612 signatures are made for. */
export interface TokenDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly token: Address;
}

/**
 * Limit of cached separators. With both names hashed an entry has 128 characters, so all of them take less than 2 MiB.
 */
const SEPARATORS_MAX = 4096;
const tokenSeparators = new Map<string, Word>();
const permit2Separators = new Map<number, Word>();

function tokenDomainSeparator(domain: TokenDomain): Word {
  return tokenSeparators.get(cacheKeyOf(domain)) ?? computeTokenSeparator(domain);
}

/**
 * Caches the separator of a domain that a payer has signed. Names come from outside, so nothing is cached for unsigned
 * requests. A full cache is emptied: an entry costs ten microseconds.
 */
export function rememberTokenDomain(domain: TokenDomain): void {
  const key = cacheKeyOf(domain);
  if (tokenSeparators.has(key)) return;
  if (tokenSeparators.size >= SEPARATORS_MAX) tokenSeparators.clear();
  tokenSeparators.set(key, computeTokenSeparator(domain));
}

/** The last domain: consecutive payments often have the same one, and a comparison is cheaper than a hash. */
let lastDomain: TokenDomain | undefined;
let lastKey = '';

/** A key of constant length for names of any length. */
function cacheKeyOf({ chainId, token, name, version }: TokenDomain): string {
  const isLast =
    lastDomain?.chainId === chainId &&
    lastDomain.token === token &&
    lastDomain.name === name &&
    lastDomain.version === version;
  if (!isLast) {
    lastKey = hash('sha256', JSON.stringify([chainId, token, name, version]), 'hex');
    lastDomain = { chainId, token, name, version };
  }
  return lastKey;
}

/** The separator without the cache, for names in unsigned requests. */
export function computeTokenSeparator({ name, version, chainId, token }: TokenDomain): Word {
  return bytes32Word(
    keccakOfHex(
      DOMAIN_TYPE +
        bytes32Word(keccakOfText(name)) +
        bytes32Word(keccakOfText(version)) +
        uintWord(chainId) +
        addressWord(token),
    ),
  );
}

function permit2DomainSeparator(chainId: number): Word {
  let separator = permit2Separators.get(chainId);
  if (separator === undefined) {
    separator = bytes32Word(
      keccakOfHex(
        DOMAIN_TYPE_WITHOUT_VERSION + PERMIT2_NAME + uintWord(chainId) + addressWord(PERMIT2),
      ),
    );
    permit2Separators.set(chainId, separator);
  }
  return separator;
}

function typedDataDigest(separator: Word, structHash: Hex): Hex {
  return keccakOfHex(`1901${separator}${bytes32Word(structHash)}`);
}

type SignedTransfer = Pick<
  Eip3009Authorization,
  'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce'
>;

/** The digest that the payer signed for an EIP-3009 `transferWithAuthorization` (EIP-3009, EIP-712). */
export function eip3009Digest(authorization: SignedTransfer, domain: TokenDomain): Hex {
  return transferDigest(TRANSFER_WITH_AUTHORIZATION_TYPE, authorization, domain);
}

/** The digest of a `receiveWithAuthorization`, which only its receiver may present. */
export function receiveDigest(authorization: SignedTransfer, domain: TokenDomain): Hex {
  return transferDigest(RECEIVE_WITH_AUTHORIZATION_TYPE, authorization, domain);
}

function transferDigest(type: Word, authorization: SignedTransfer, domain: TokenDomain): Hex {
  const structHash = keccakOfHex(
    type +
      addressWord(authorization.from) +
      addressWord(authorization.to) +
      uintWord(authorization.value) +
      uintWord(authorization.validAfter) +
      uintWord(authorization.validBefore) +
      bytes32Word(authorization.nonce),
  );
  return typedDataDigest(tokenDomainSeparator(domain), structHash);
}

/** The digest that the payer signed for a Permit2 `permitWitnessTransferFrom` with the x402 exact witness. */
export function permit2Digest(authorization: Permit2Authorization, chainId: number): Hex {
  const { witnessTo, witnessValidAfter } = authorization;
  const witness = keccakOfHex(WITNESS_TYPE + addressWord(witnessTo) + uintWord(witnessValidAfter));
  return witnessTransferDigest(authorization, chainId, PERMIT_WITNESS_TRANSFER_FROM_TYPE, witness);
}

/** The digest with the x402 upto witness, which names the only presenter. */
export function uptoDigest(authorization: UptoAuthorization, chainId: number): Hex {
  const { witnessTo, facilitator, witnessValidAfter } = authorization;
  const witness = keccakOfHex(
    UPTO_WITNESS_TYPE +
      addressWord(witnessTo) +
      addressWord(facilitator) +
      uintWord(witnessValidAfter),
  );
  return witnessTransferDigest(authorization, chainId, UPTO_TRANSFER_FROM_TYPE, witness);
}

/** The digest of a deposit into a channel, where the channel is the witness. */
export function depositPermitDigest(
  permit: SignedPermit & { readonly channelId: Hex },
  chainId: number,
): Hex {
  const witness = keccakOfHex(DEPOSIT_WITNESS_TYPE + bytes32Word(permit.channelId));
  return witnessTransferDigest(permit, chainId, DEPOSIT_TRANSFER_FROM_TYPE, witness);
}

type SignedPermit = Pick<
  Permit2Authorization,
  'token' | 'amount' | 'spender' | 'nonce' | 'deadline'
>;

function witnessTransferDigest(
  { token, amount, spender, nonce, deadline }: SignedPermit,
  chainId: number,
  type: Word,
  witness: Hex,
): Hex {
  const permitted = keccakOfHex(TOKEN_PERMISSIONS_TYPE + addressWord(token) + uintWord(amount));
  const structHash = keccakOfHex(
    type +
      bytes32Word(permitted) +
      addressWord(spender) +
      uintWord(nonce) +
      uintWord(deadline) +
      bytes32Word(witness),
  );
  return typedDataDigest(permit2DomainSeparator(chainId), structHash);
}

/** The hash of the Permit2 struct with a witness of this type. EIP-712 sorts the named types alphabetically. */
function transferTypeWith(witness: string, name = 'Witness'): Word {
  const types = [TOKEN_PERMISSIONS, witness].sort().join('');
  return bytes32Word(
    keccakOfText(
      `PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,${name} witness)${types}`,
    ),
  );
}
