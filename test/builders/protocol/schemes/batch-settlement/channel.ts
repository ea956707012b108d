import {
  type Address,
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionResult,
  hashTypedData,
  type Hex,
  keccak256,
  multicall3Abi,
  parseAbiParameters,
  recoverAddress,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { uintWord } from '../../../../../src/protocol/evm/abi-words.js';
import type {
  CallOutcome,
  ChainReader,
  Effect,
  Settlement,
} from '../../../../../src/protocol/evm/chain-reader.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../../../../../src/protocol/evm/contracts.js';
import type { Payment } from '../../../../../src/protocol/payment/payment.js';
import type { JsonObject } from '../../../../../src/protocol/payment/wire-values.js';
import { readChannelClaim } from '../../../../../src/protocol/schemes/batch-settlement/read-claim.js';
import type { VerifyContext } from '../../../../../src/protocol/schemes/verdict.js';

/** Channels as buyers and sellers of batch-settlement make them, with viem alone, and a chain in memory. */

export const ESCROW: Address = '0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003';
export const COLLECTORS: Readonly<Record<'eip3009' | 'permit2', Address>> = {
  eip3009: '0x4020806089470a89826cB9fB1f4059150b550004',
  permit2: '0x4020425FAf3B746C082C2f942b4E5159887B0005',
};
export const buyer = privateKeyToAccount(`0x${'a1'.repeat(32)}`);
/** Signs vouchers for the buyer. */
export const voucherKey = privateKeyToAccount(`0x${'a2'.repeat(32)}`);
export const stranger = privateKeyToAccount(`0x${'a3'.repeat(32)}`);
export const SELLER: Address = '0x2222222222222222222222222222222222222222';
export const AUTHORIZER: Address = '0x4444444444444444444444444444444444444444';
export const TOKEN: Address = '0x3333333333333333333333333333333333333333';
export const NOW = 1_800_000_000;
export const CHAIN_ID = 56;
const SALT: Hex = `0x${'5a'.repeat(32)}`;

export interface Config {
  readonly payer: Address;
  readonly payerAuthorizer: Address;
  readonly receiver: Address;
  readonly receiverAuthorizer: Address;
  readonly token: Address;
  readonly withdrawDelay: number;
  readonly salt: Hex;
}

export const CONFIG: Config = {
  payer: buyer.address,
  payerAuthorizer: voucherKey.address,
  receiver: SELLER,
  receiverAuthorizer: AUTHORIZER,
  token: TOKEN,
  withdrawDelay: 900,
  salt: SALT,
};

const DOMAIN = {
  name: 'x402 Batch Settlement',
  version: '1',
  chainId: CHAIN_ID,
  verifyingContract: ESCROW,
};

const field = (type: string, name: string) => ({ type, name });

export function channelIdOf(config: Config): Hex {
  return hashTypedData({
    domain: DOMAIN,
    primaryType: 'ChannelConfig',
    types: {
      ChannelConfig: [
        field('address', 'payer'),
        field('address', 'payerAuthorizer'),
        field('address', 'receiver'),
        field('address', 'receiverAuthorizer'),
        field('address', 'token'),
        field('uint40', 'withdrawDelay'),
        field('bytes32', 'salt'),
      ],
    },
    message: { ...config },
  });
}

export const voucherData = (channelId: Hex, maxClaimableAmount: bigint) =>
  ({
    domain: DOMAIN,
    primaryType: 'Voucher',
    types: { Voucher: [field('bytes32', 'channelId'), field('uint128', 'maxClaimableAmount')] },
    message: { channelId, maxClaimableAmount },
  }) as const;

export const refundData = (channelId: Hex, nonce: bigint, amount: bigint) =>
  ({
    domain: DOMAIN,
    primaryType: 'Refund',
    types: {
      Refund: [
        field('bytes32', 'channelId'),
        field('uint256', 'nonce'),
        field('uint128', 'amount'),
      ],
    },
    message: { channelId, nonce, amount },
  }) as const;

/** What differs from a good request. */
export interface Sent {
  readonly config?: Partial<Config>;
  readonly max?: bigint;
  /** Who signs the voucher, or what stands in the place of its signature. */
  readonly voucher?: typeof buyer | Hex;
  readonly channelId?: Hex;
  readonly amount?: bigint;
  /** Who signs the deposit, or what stands in the place of its signature. */
  readonly deposit?: typeof buyer | Hex;
  /** Fields of the authorization. */
  readonly signed?: JsonObject;
  readonly requirements?: JsonObject;
  readonly extra?: JsonObject;
  readonly accepted?: JsonObject;
  readonly extensions?: JsonObject;
  /** The body of the payload, changed at the last moment. */
  readonly payload?: JsonObject;
}

export type Type = 'voucher' | 'refund' | 'eip3009' | 'permit2';

/** Both parts of a request, as they are sent. */
export interface Body {
  readonly payload: JsonObject;
  readonly requirements: JsonObject;
}

export async function bodyOf(type: Type, sent: Sent = {}): Promise<Body> {
  const config = { ...CONFIG, ...sent.config };
  const channelId = sent.channelId ?? channelIdOf(config);
  const { max = 400n, voucher = voucherKey } = sent;
  const signature =
    typeof voucher === 'string'
      ? voucher
      : await voucher.signTypedData(voucherData(channelIdOf(config), max));
  const requirements = {
    scheme: 'batch-settlement',
    network: 'eip155:56',
    asset: TOKEN,
    payTo: SELLER,
    amount: '100',
    maxTimeoutSeconds: 60,
    extra: {
      receiverAuthorizer: AUTHORIZER,
      withdrawDelay: 900,
      name: 'USD',
      version: '1',
      ...sent.extra,
    },
    ...sent.requirements,
  };
  const deposit =
    type === 'eip3009' || type === 'permit2' ? await depositOf(type, config, sent) : undefined;
  const inner = {
    type: deposit === undefined ? type : 'deposit',
    channelConfig: config,
    voucher: { channelId, maxClaimableAmount: String(max), signature },
    ...(deposit && { deposit }),
    ...sent.payload,
  };
  const accepted = { ...requirements, ...sent.accepted };
  const { extensions } = sent;
  return {
    requirements,
    payload: { x402Version: 2, accepted, payload: inner, ...(extensions && { extensions }) },
  };
}

async function depositOf(
  type: 'eip3009' | 'permit2',
  config: Config,
  { amount = 1000n, deposit = buyer, signed }: Sent,
): Promise<JsonObject> {
  const channelId = channelIdOf(config);
  if (type === 'eip3009') {
    const fields = { validAfter: '0', validBefore: String(NOW + 600), salt: SALT, ...signed };
    const nonce = keccak256(
      encodeAbiParameters(parseAbiParameters('bytes32, uint256'), [channelId, BigInt(fields.salt)]),
    );
    const signature =
      typeof deposit === 'string'
        ? deposit
        : await deposit.signTypedData({
            domain: { name: 'USD', version: '1', chainId: CHAIN_ID, verifyingContract: TOKEN },
            primaryType: 'ReceiveWithAuthorization',
            types: {
              ReceiveWithAuthorization: [
                field('address', 'from'),
                field('address', 'to'),
                field('uint256', 'value'),
                field('uint256', 'validAfter'),
                field('uint256', 'validBefore'),
                field('bytes32', 'nonce'),
              ],
            },
            message: {
              from: config.payer,
              to: COLLECTORS.eip3009,
              value: amount,
              validAfter: BigInt(fields.validAfter),
              validBefore: BigInt(fields.validBefore),
              nonce,
            },
          });
    const erc3009Authorization = { ...fields, signature };
    return { amount: String(amount), authorization: { erc3009Authorization } };
  }
  const fields = {
    from: config.payer,
    permitted: { token: TOKEN, amount: String(amount) },
    spender: COLLECTORS.permit2,
    nonce: '7',
    deadline: String(NOW + 600),
    witness: { channelId },
    ...signed,
  };
  const signature =
    typeof deposit === 'string'
      ? deposit
      : await deposit.signTypedData({
          domain: {
            name: 'Permit2',
            chainId: CHAIN_ID,
            verifyingContract: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
          },
          primaryType: 'PermitWitnessTransferFrom',
          types: {
            PermitWitnessTransferFrom: [
              field('TokenPermissions', 'permitted'),
              field('address', 'spender'),
              field('uint256', 'nonce'),
              field('uint256', 'deadline'),
              field('DepositWitness', 'witness'),
            ],
            TokenPermissions: [field('address', 'token'), field('uint256', 'amount')],
            DepositWitness: [field('bytes32', 'channelId')],
          },
          message: {
            permitted: { token: fields.permitted.token, amount: BigInt(fields.permitted.amount) },
            spender: fields.spender,
            nonce: BigInt(fields.nonce),
            deadline: BigInt(fields.deadline),
            witness: fields.witness,
          },
        });
  return {
    amount: String(amount),
    authorization: { permit2Authorization: { ...fields, signature } },
  };
}

export type ChannelClaim = NonNullable<ReturnType<typeof readChannelClaim>>;

/** A request as the parser maps it. */
export async function aChannelPayment(
  type: Type,
  sent: Sent = {},
): Promise<{ readonly payment: Payment; readonly claim: ChannelClaim }> {
  const { payload, requirements } = await bodyOf(type, sent);
  const claim = readChannelClaim(payload, requirements);
  if (claim === undefined) throw new Error('not read');
  const { network, asset, payTo, extra } = requirements as Record<string, string> & {
    extra: JsonObject;
  };
  const lower = (address: string | undefined): Address => String(address).toLowerCase() as Address;
  const accepted = payload['accepted'] as JsonObject;
  const payment: Payment = {
    purpose: 'verify',
    requirements: {
      network: 'eip155:56',
      chainId: CHAIN_ID,
      asset: lower(asset),
      payTo: lower(payTo),
      amount: 'amount' in claim ? claim.amount : 0n,
      tokenName: extra['name'],
      tokenVersion: extra['version'],
      networkAsSent: String(network),
    },
    accepted: { scheme: accepted['scheme'], network: accepted['network'] },
    claim,
    dialect: { x402Version: 2, isAcceptedNetworkKnown: true },
    networkAsSent: String(network),
    payerAsSent: claim.from,
  };
  return { payment, claim };
}

/** What a chain holds, where it differs from a channel with 500 of which 100 are claimed. */
export interface World {
  readonly balance?: bigint;
  readonly totalClaimed?: bigint;
  readonly withdrawRequestedAt?: number;
  readonly refundNonce?: bigint;
  readonly payerBalance?: bigint;
  readonly allowance?: bigint;
  readonly effect?: Effect;
  /** Addresses with no code, among those that should have some. */
  readonly missing?: Address;
  /** Whether the buyer is a contract, and what it says of signatures. */
  readonly wallet?: boolean;
  /** The escrow answers nothing. */
  readonly isSilent?: boolean;
}

const word = (...values: bigint[]): Hex => `0x${values.map(uintWord).join('')}`;

export function aChannelChain(world: World = {}): {
  readonly chain: ChainReader;
  readonly simulated: Settlement[];
} {
  const { balance = 500n, totalClaimed = 100n, withdrawRequestedAt = 0 } = world;
  const { refundNonce = 3n, payerBalance = 5000n, allowance = 5000n } = world;
  const simulated: Settlement[] = [];
  const returned = (data: Hex): CallOutcome => ({ status: 'returned', data });
  const state = [
    word(balance, totalClaimed),
    word(withdrawRequestedAt === 0 ? 0n : 9n, BigInt(withdrawRequestedAt)),
    word(refundNonce),
  ].map((returnData) => ({ success: true, returnData }));
  const answer = (data: Hex): CallOutcome => {
    if (data.startsWith('0x82ad56cb')) {
      if (world.isSilent === true) return returned('0x');
      const abi = multicall3Abi;
      const [calls] = decodeFunctionData({ abi, data }).args as readonly [readonly unknown[]];
      // Rows of a claim ask for the first of these alone, each.
      const result = calls.length === state.length ? state : calls.flatMap(() => state[0] ?? []);
      return returned(encodeFunctionResult({ abi, functionName: 'aggregate3', result }));
    }
    if (data.startsWith('0x70a08231')) return returned(word(payerBalance));
    if (data.startsWith('0xdd62ed3e')) return returned(word(allowance));
    if (data.startsWith('0x1626ba7e')) {
      return returned(world.wallet === true ? `0x1626ba7e${'00'.repeat(28)}` : word(0n));
    }
    return returned('0x');
  };
  const chain: ChainReader = {
    chainId: CHAIN_ID,
    schemeContracts: DEFAULT_SCHEME_CONTRACTS,
    hasCode: (address) =>
      Promise.resolve(world.wallet !== undefined && address === buyer.address.toLowerCase()),
    isContract: (address) => Promise.resolve(address !== world.missing?.toLowerCase()),
    call: ({ data }) => Promise.resolve(answer(data)),
    simulate: (settlement) => {
      simulated.push(settlement);
      return Promise.resolve(world.effect ?? { status: 'paid', gasUsed: undefined });
    },
    newestTime: () => Promise.resolve(BigInt(NOW)),
  };
  return { chain, simulated };
}

export function aContext(chain: ChainReader): VerifyContext {
  return {
    chain,
    now: NOW,
    maxGas: 300_000n,
    walletFactories: new Set(),
    sender: undefined,
    recoverSigner: async (hash, signature) => {
      try {
        return (await recoverAddress({ hash, signature })).toLowerCase() as Hex;
      } catch {
        return undefined;
      }
    },
  };
}

/** A row of a claim, as it is sent. */
export async function aRow(
  totalClaimed: bigint,
  more: {
    readonly config?: Partial<Config>;
    readonly max?: bigint;
    readonly voucher?: typeof buyer | Hex;
  } = {},
): Promise<JsonObject> {
  const { max = totalClaimed, voucher = voucherKey } = more;
  const channel = { ...CONFIG, ...more.config };
  const signature =
    typeof voucher === 'string'
      ? voucher
      : await voucher.signTypedData(voucherData(channelIdOf(channel), max));
  return {
    voucher: { channel, maxClaimableAmount: String(max) },
    signature,
    totalClaimed: String(totalClaimed),
  };
}

/** What the receiver's authorizer signs for rows. */
export function claimBatchData(rows: readonly JsonObject[]) {
  const claims = rows.map((row) => {
    const { channel, maxClaimableAmount } = row['voucher'] as {
      channel: Config;
      maxClaimableAmount: string;
    };
    return {
      channelId: channelIdOf(channel),
      maxClaimableAmount: BigInt(maxClaimableAmount),
      totalClaimed: BigInt(String(row['totalClaimed'])),
    };
  });
  return {
    domain: DOMAIN,
    primaryType: 'ClaimBatch',
    types: {
      ClaimBatch: [field('ClaimEntry[]', 'claims')],
      ClaimEntry: [
        field('bytes32', 'channelId'),
        field('uint128', 'maxClaimableAmount'),
        field('uint128', 'totalClaimed'),
      ],
    },
    message: { claims },
  } as const;
}
