import {
  type Address,
  encodeAbiParameters,
  hashTypedData,
  type Hex,
  keccak256,
  parseAbi,
  parseAbiParameters,
} from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import {
  BATCH_SETTLEMENT,
  ERC3009_COLLECTOR,
  PERMIT2,
  PERMIT2_COLLECTOR,
  USD_NAME,
  USD_VERSION,
} from '../../sandbox/deploy.js';
import { newNonce, nowSeconds } from './payments.js';

/** Channels of batch-settlement as buyers and sellers use them, made with viem alone. */

/** The escrow as it is described, and not as the sandbox's contract was compiled. */
export const ESCROW_ABI = parseAbi([
  'struct Config { address payer; address payerAuthorizer; address receiver; address receiverAuthorizer; address token; uint40 withdrawDelay; bytes32 salt; }',
  'struct Voucher { Config channel; uint128 maxClaimableAmount; }',
  'struct Claim { Voucher voucher; bytes signature; uint128 totalClaimed; }',
  'function deposit(Config config, uint128 amount, address collector, bytes collectorData)',
  'function claim(Claim[] claims)',
  'function claimWithSignature(Claim[] claims, bytes signature)',
  'function settle(address receiver, address token)',
  'function refund(Config config, uint128 amount)',
  'function refundWithSignature(Config config, uint128 amount, uint256 nonce, bytes signature)',
  'function initiateWithdraw(Config config, uint128 amount)',
  'function finalizeWithdraw(Config config)',
  'function multicall(bytes[] data) returns (bytes[])',
  'function channels(bytes32 channelId) view returns (uint128 balance, uint128 totalClaimed)',
  'function pendingWithdrawals(bytes32 channelId) view returns (uint128 amount, uint40 initiatedAt)',
  'function refundNonce(bytes32 channelId) view returns (uint256)',
  'function receivers(address receiver, address token) view returns (uint128 totalClaimed, uint128 totalSettled)',
  'function getChannelId(Config config) view returns (bytes32)',
  'function getVoucherDigest(bytes32 channelId, uint128 maxClaimableAmount) view returns (bytes32)',
  'function getRefundDigest(bytes32 channelId, uint256 nonce, uint128 amount) view returns (bytes32)',
  'function getClaimBatchDigest(Claim[] claims) view returns (bytes32)',
  'event ChannelCreated(bytes32 indexed channelId, Config config)',
  'event ChannelClosed(bytes32 indexed channelId, Config config)',
  'event Deposited(bytes32 indexed channelId, address indexed sender, uint128 amount, uint128 newBalance)',
  'event Claimed(bytes32 indexed channelId, address indexed sender, uint128 claimAmount, uint128 newTotalClaimed)',
  'event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount)',
  'event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount)',
  'event WithdrawInitiated(bytes32 indexed channelId, uint128 amount, uint40 finalizeAfter)',
  'event WithdrawFinalized(bytes32 indexed channelId, address indexed sender, uint128 amount)',
]);

export interface ChannelConfig {
  readonly payer: Address;
  readonly payerAuthorizer: Address;
  readonly receiver: Address;
  readonly receiverAuthorizer: Address;
  readonly token: Address;
  /** Seconds. */
  readonly withdrawDelay: number;
  readonly salt: Hex;
}

/** One row of a claim. Amounts are totals of the channel. */
export interface Claim {
  readonly voucher: { readonly channel: ChannelConfig; readonly maxClaimableAmount: bigint };
  readonly signature: Hex;
  readonly totalClaimed: bigint;
}

const fields = (text: string): { name: string; type: string }[] =>
  text.split(',').map((field) => {
    const [type = '', name = ''] = field.split(' ');
    return { type, name };
  });

const TYPES = {
  ChannelConfig: fields(
    'address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt',
  ),
  Voucher: fields('bytes32 channelId,uint128 maxClaimableAmount'),
  Refund: fields('bytes32 channelId,uint256 nonce,uint128 amount'),
  ClaimEntry: fields('bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed'),
  ClaimBatch: fields('ClaimEntry[] claims'),
};

const RECEIVE_TYPES = {
  ReceiveWithAuthorization: fields(
    'address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce',
  ),
};

const DEPOSIT_TYPES = {
  PermitWitnessTransferFrom: fields(
    'TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,DepositWitness witness',
  ),
  TokenPermissions: fields('address token,uint256 amount'),
  DepositWitness: fields('bytes32 channelId'),
};

interface TypedData {
  readonly domain: Record<string, unknown>;
  readonly types: Record<string, { name: string; type: string }[]>;
  readonly primaryType: string;
  readonly message: Record<string, unknown>;
}

/** Signed messages about the channels of one chain. */
export class Channels {
  constructor(readonly chainId: number) {}

  idOf(config: ChannelConfig): Hex {
    return hashTypedData(this.#data('ChannelConfig', { ...config }));
  }

  voucher(channelId: Hex, maxClaimableAmount: bigint): TypedData {
    return this.#data('Voucher', { channelId, maxClaimableAmount });
  }

  refund(channelId: Hex, nonce: bigint, amount: bigint): TypedData {
    return this.#data('Refund', { channelId, nonce, amount });
  }

  claimBatch(rows: readonly Claim[]): TypedData {
    const claims = rows.map(({ voucher: { channel, maxClaimableAmount }, totalClaimed }) => ({
      channelId: this.idOf(channel),
      maxClaimableAmount,
      totalClaimed,
    }));
    return this.#data('ClaimBatch', { claims });
  }

  /** A row that claims a total, signed by the payer's authorizer for `max`. */
  async claim(
    signer: PrivateKeyAccount,
    channel: ChannelConfig,
    totalClaimed: bigint,
    max = totalClaimed,
  ): Promise<Claim> {
    const signature = await signer.signTypedData(this.voucher(this.idOf(channel), max));
    return { voucher: { channel, maxClaimableAmount: max }, signature, totalClaimed };
  }

  #data(primaryType: keyof typeof TYPES, message: Record<string, unknown>): TypedData {
    const domain = {
      name: 'x402 Batch Settlement',
      version: '1',
      chainId: this.chainId,
      verifyingContract: BATCH_SETTLEMENT,
    };
    return { domain, types: TYPES, primaryType, message };
  }
}

/** What of a deposit's authorization a test may sign in its own way. */
interface DepositTerms {
  readonly validAfter?: bigint;
  /** Seconds from now. */
  readonly validFor?: number;
  /** Of an EIP-3009 authorization. */
  readonly salt?: Hex;
  /** Of a Permit2 authorization. */
  readonly nonce?: bigint;
}

export interface Erc3009Authorization {
  readonly validAfter: string;
  readonly validBefore: string;
  readonly salt: Hex;
  readonly signature: Hex;
}

export interface Permit2DepositAuthorization {
  readonly from: Address;
  readonly permitted: { readonly token: Address; readonly amount: string };
  readonly spender: Address;
  readonly nonce: string;
  readonly deadline: string;
  readonly witness: { readonly channelId: Hex };
  readonly signature: Hex;
}

/** An EIP-3009 authorization of a deposit, as it is sent. */
export async function signErc3009Deposit(
  channels: Channels,
  payer: PrivateKeyAccount,
  config: ChannelConfig,
  amount: bigint,
  { validAfter = 0n, validFor = 86_400, salt = newNonce() }: DepositTerms = {},
): Promise<Erc3009Authorization> {
  const validBefore = BigInt(nowSeconds() + validFor);
  const parameters = parseAbiParameters('bytes32, uint256');
  const nonce = keccak256(encodeAbiParameters(parameters, [channels.idOf(config), BigInt(salt)]));
  const signature = await payer.signTypedData({
    domain: {
      name: USD_NAME,
      version: USD_VERSION,
      chainId: channels.chainId,
      verifyingContract: config.token,
    },
    types: RECEIVE_TYPES,
    primaryType: 'ReceiveWithAuthorization',
    message: {
      from: config.payer,
      to: ERC3009_COLLECTOR,
      value: amount,
      validAfter,
      validBefore,
      nonce,
    },
  });
  return {
    validAfter: validAfter.toString(),
    validBefore: validBefore.toString(),
    salt,
    signature,
  };
}

/** A Permit2 authorization of a deposit, as it is sent. */
export async function signPermit2Deposit(
  channels: Channels,
  payer: PrivateKeyAccount,
  config: ChannelConfig,
  amount: bigint,
  { nonce = BigInt(newNonce()), validFor = 86_400 }: DepositTerms = {},
): Promise<Permit2DepositAuthorization> {
  const deadline = BigInt(nowSeconds() + validFor);
  const witness = { channelId: channels.idOf(config) };
  const signature = await payer.signTypedData({
    domain: { name: 'Permit2', chainId: channels.chainId, verifyingContract: PERMIT2 },
    types: DEPOSIT_TYPES,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token: config.token, amount },
      spender: PERMIT2_COLLECTOR,
      nonce,
      deadline,
      witness,
    },
  });
  return {
    from: config.payer,
    permitted: { token: config.token, amount: amount.toString() },
    spender: PERMIT2_COLLECTOR,
    nonce: nonce.toString(),
    deadline: deadline.toString(),
    witness,
    signature,
  };
}

type DepositArguments = readonly [ChannelConfig, bigint, Address, Hex];

/** Arguments of `deposit` with an EIP-3009 authorization. */
export async function eip3009Deposit(
  channels: Channels,
  payer: PrivateKeyAccount,
  config: ChannelConfig,
  amount: bigint,
): Promise<DepositArguments> {
  const signed = await signErc3009Deposit(channels, payer, config, amount);
  const data = encodeAbiParameters(parseAbiParameters('uint256, uint256, uint256, bytes'), [
    BigInt(signed.validAfter),
    BigInt(signed.validBefore),
    BigInt(signed.salt),
    signed.signature,
  ]);
  return [config, amount, ERC3009_COLLECTOR, data];
}

/** Arguments of `deposit` with a Permit2 authorization. */
export async function permit2Deposit(
  channels: Channels,
  payer: PrivateKeyAccount,
  config: ChannelConfig,
  amount: bigint,
  permit: Hex = '0x',
  terms: DepositTerms = {},
): Promise<DepositArguments> {
  const signed = await signPermit2Deposit(channels, payer, config, amount, terms);
  const data = encodeAbiParameters(parseAbiParameters('uint256, uint256, bytes, bytes'), [
    BigInt(signed.nonce),
    BigInt(signed.deadline),
    signed.signature,
    permit,
  ]);
  return [config, amount, PERMIT2_COLLECTOR, data];
}
