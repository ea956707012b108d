import { type Address, type Hex, zeroAddress } from 'viem';
import {
  addressWord,
  bytes32Word,
  keccakOfHex,
  keccakOfText,
  uintWord,
  type Word,
} from '../../evm/abi-words.js';
import { CHANNEL_ESCROW } from '../../evm/contracts.js';

/**
 * Channels of the x402 scheme `batch-settlement` and what is signed for them (EIP-712, domain of the escrow
 * contract).
 */

/** What a channel is; its id is a hash of all of it. Addresses and salt in lower case. */
export interface ChannelConfig {
  readonly payer: Address;
  /** The key that signs vouchers; the zero address: the payer itself, which may be a contract. */
  readonly payerAuthorizer: Address;
  readonly receiver: Address;
  /** Signs what the receiver takes or gives back. */
  readonly receiverAuthorizer: Address;
  readonly token: Address;
  /** Seconds from the payer's request for its money until it can be taken out. */
  readonly withdrawDelay: number;
  /** 32 bytes. */
  readonly salt: Hex;
}

/** As functions of the escrow take it, for the encoders of viem. */
export const CONFIG_STRUCT =
  'struct Config { address payer; address payerAuthorizer; address receiver; address receiverAuthorizer; address token; uint40 withdrawDelay; bytes32 salt; }';

/** What a payer lets be claimed of a channel, since its beginning. */
export interface Voucher {
  /** 32 bytes, lower case. */
  readonly channelId: Hex;
  /** Atomic units. */
  readonly maxClaimable: bigint;
  readonly signature: Hex;
}

/** What the escrow knows of a channel. */
export interface ChannelState {
  /** Atomic units: deposits less refunds. Claims do not lower it. */
  readonly balance: bigint;
  /** Atomic units, since its beginning. */
  readonly totalClaimed: bigint;
  /** Unix seconds at which the payer asked for its money; 0 where it did not. */
  readonly withdrawRequestedAt: number;
  readonly refundNonce: bigint;
}

const DOMAIN_TYPE = bytes32Word(
  keccakOfText(
    'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
  ),
);
const ESCROW_NAME = bytes32Word(keccakOfText('x402 Batch Settlement'));
const ESCROW_VERSION = bytes32Word(keccakOfText('1'));
const CHANNEL_CONFIG_TYPE = bytes32Word(
  keccakOfText(
    'ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)',
  ),
);
const VOUCHER_TYPE = bytes32Word(
  keccakOfText('Voucher(bytes32 channelId,uint128 maxClaimableAmount)'),
);

const CLAIM_ENTRY = 'ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)';
const CLAIM_ENTRY_TYPE = bytes32Word(keccakOfText(CLAIM_ENTRY));
const CLAIM_BATCH_TYPE = bytes32Word(keccakOfText(`ClaimBatch(ClaimEntry[] claims)${CLAIM_ENTRY}`));

const REFUND_TYPE = bytes32Word(
  keccakOfText('Refund(bytes32 channelId,uint256 nonce,uint128 amount)'),
);

const separators = new Map<number, Word>();

function escrowSeparator(chainId: number): Word {
  let separator = separators.get(chainId);
  if (separator === undefined) {
    const domain =
      DOMAIN_TYPE + ESCROW_NAME + ESCROW_VERSION + uintWord(chainId) + addressWord(CHANNEL_ESCROW);
    separator = bytes32Word(keccakOfHex(domain));
    separators.set(chainId, separator);
  }
  return separator;
}

function escrowDigest(chainId: number, structHash: Hex): Hex {
  return keccakOfHex(`1901${escrowSeparator(chainId)}${bytes32Word(structHash)}`);
}

/** The words of a configuration, as they are hashed and as calls take them. */
export function configWords(config: ChannelConfig): string {
  const { payer, payerAuthorizer, receiver, receiverAuthorizer, token } = config;
  return (
    [payer, payerAuthorizer, receiver, receiverAuthorizer, token].map(addressWord).join('') +
    uintWord(config.withdrawDelay) +
    bytes32Word(config.salt)
  );
}

/** The id is the EIP-712 digest of the configuration, its domain included. */
export function channelIdOf(config: ChannelConfig, chainId: number): Hex {
  return escrowDigest(chainId, keccakOfHex(CHANNEL_CONFIG_TYPE + configWords(config)));
}

/** The channel of each row, in their order. */
export function channelsOf(rows: readonly ClaimRow[], chainId: number): readonly Hex[] {
  return rows.map(({ config }) => channelIdOf(config, chainId));
}

export function voucherDigest(
  { channelId, maxClaimable }: Pick<Voucher, 'channelId' | 'maxClaimable'>,
  chainId: number,
): Hex {
  const struct = VOUCHER_TYPE + bytes32Word(channelId) + uintWord(maxClaimable);
  return escrowDigest(chainId, keccakOfHex(struct));
}

/** One row of a claim: the total that the receiver takes of a channel, at most what its voucher allows. */
export interface ClaimRow {
  readonly config: ChannelConfig;
  /** Atomic units. */
  readonly maxClaimable: bigint;
  /** Of the voucher. */
  readonly signature: Hex;
  /** Atomic units. */
  readonly totalClaimed: bigint;
}

/** What the authorizer of a receiver signs for a claim. The signatures of the vouchers are not part of it. */
export function claimBatchDigest(rows: readonly ClaimRow[], chainId: number): Hex {
  const entries = rows.map(({ config, maxClaimable, totalClaimed }) => {
    const id = bytes32Word(channelIdOf(config, chainId));
    const entry = CLAIM_ENTRY_TYPE + id + uintWord(maxClaimable) + uintWord(totalClaimed);
    return bytes32Word(keccakOfHex(entry));
  });
  const list = bytes32Word(keccakOfHex(entries.join('')));
  return escrowDigest(chainId, keccakOfHex(CLAIM_BATCH_TYPE + list));
}

/** What the authorizer of a receiver signs for a refund. Amount in atomic units. */
export function refundDigest(
  channelId: Hex,
  { refundNonce, amount }: { readonly refundNonce: bigint; readonly amount: bigint },
  chainId: number,
): Hex {
  const struct = REFUND_TYPE + bytes32Word(channelId) + uintWord(refundNonce) + uintWord(amount);
  return escrowDigest(chainId, keccakOfHex(struct));
}

/** Whether a key of its own signs the vouchers: else the payer does, as a key or as a contract. */
export function hasVoucherKey({ payerAuthorizer }: ChannelConfig): boolean {
  return payerAuthorizer !== zeroAddress;
}
