import { type Address, type Hex, zeroAddress } from 'viem';
import type { Claim } from '../../payment/payment.js';
import {
  type JsonObject,
  readAddress,
  readBytes,
  readInteger,
  readOptionalObject,
  SIGNATURE_MAX_BYTES,
} from '../../payment/wire-values.js';
import type { Reason } from '../../reasons.js';
import { readSponsoredPermit } from '../permit2/read-claim.js';
import type { ChannelConfig, ClaimRow, Voucher } from './channel.js';
import {
  BATCH_SETTLEMENT,
  type BatchClaim,
  type ChannelOffer,
  type DepositClaim,
  type Eip3009DepositClaim,
  type PayoutClaim,
  type Permit2DepositClaim,
  type VoucherClaim,
} from './claims.js';
import { depositNonceOf } from './escrow.js';

const UINT128_MAX = 2n ** 128n - 1n;
const UINT40_MAX = 2n ** 40n - 1n;

/** The payer of the channel; messages of the seller's own have none. */
export function payerAsSent(inner: JsonObject): unknown {
  return readOptionalObject(inner['channelConfig'])?.['payer'];
}

/** What a deposit puts in, whatever one call costs; the other messages move nothing. */
export function amountOf(claim: Claim): bigint {
  return 'amount' in claim ? (claim as DepositClaim).amount : 0n;
}

/** A type that is not verified here, or one that is and whose values are malformed. */
export function whyUnreadable(payload: JsonObject): Reason {
  const type = readOptionalObject(payload['payload'])?.['type'];
  return type === 'deposit' || type === 'voucher' || type === 'refund'
    ? 'invalid_payload'
    : 'invalid_batch_settlement_evm_payload_type';
}

/** Reads what a buyer sends about its channel; `undefined` where a field is missing or of the wrong type. */
export function readChannelClaim(
  payload: JsonObject,
  requirements: JsonObject,
): DepositClaim | VoucherClaim | undefined {
  const inner = readOptionalObject(payload['payload']);
  const config = readConfig(inner?.['channelConfig']);
  const voucher = readVoucher(inner?.['voucher']);
  if (inner === undefined || config === undefined || voucher === undefined) return undefined;
  const offer = readOffer(requirements['extra']);
  const shared = { scheme: BATCH_SETTLEMENT, from: config.payer, config, voucher, offer } as const;
  switch (inner['type']) {
    case 'deposit':
      return readDeposit(shared, inner['deposit'], payload);
    case 'voucher':
      return { ...shared, ...UNSENT, method: 'channel-voucher' };
    case 'refund':
      return { ...shared, ...UNSENT, method: 'channel-refund' };
    default:
      return undefined;
  }
}

/** Rows of one claim: the manager of the reference sends as many. */
const ROWS_MAX = 100;

/** Reads what a receiver sends to collect; `undefined` where a field is missing or of the wrong type. */
export function readBatchClaim(payload: JsonObject): BatchClaim | undefined {
  const inner = readOptionalObject(payload['payload']);
  const sent: unknown = inner?.['claims'];
  if (inner?.['type'] !== 'claim' || !Array.isArray(sent) || sent.length > ROWS_MAX) {
    return undefined;
  }
  const rows = sent.flatMap((row) => readRow(row) ?? []);
  const [first] = rows;
  if (first === undefined || rows.length < sent.length) return undefined;
  const signature = readBytes(inner['claimAuthorizerSignature'], SIGNATURE_MAX_BYTES);
  const from = first.config.receiver;
  const name = { scheme: BATCH_SETTLEMENT, method: 'channel-claim' } as const;
  return { ...name, from, nonce: undefined, signature, rows };
}

/** Reads a receiver's request to be paid; `undefined` where a field is missing or of the wrong type. */
export function readPayout(payload: JsonObject): PayoutClaim | undefined {
  const inner = readOptionalObject(payload['payload']);
  const receiver = readAddress(inner?.['receiver']);
  const token = readAddress(inner?.['token']);
  if (inner?.['type'] !== 'settle' || receiver === undefined || token === undefined) {
    return undefined;
  }
  const name = { scheme: BATCH_SETTLEMENT, method: 'channel-settle' } as const;
  return { ...name, ...UNSENT, from: receiver, token };
}

function readRow(value: unknown): ClaimRow | undefined {
  const sent = readOptionalObject(value);
  const voucher = readOptionalObject(sent?.['voucher']);
  const config = readConfig(voucher?.['channel']);
  const maxClaimable = readUint(voucher?.['maxClaimableAmount'], UINT128_MAX);
  const totalClaimed = readUint(sent?.['totalClaimed'], UINT128_MAX);
  const signature = readBytes(sent?.['signature'], SIGNATURE_MAX_BYTES);
  if (config === undefined || maxClaimable === undefined) return undefined;
  if (totalClaimed === undefined || signature === undefined) return undefined;
  return { config, maxClaimable, signature, totalClaimed };
}

/** No authorization of a transfer comes with it. */
const UNSENT = { nonce: undefined, signature: undefined };

type Shared = Pick<DepositClaim, 'scheme' | 'from' | 'config' | 'voucher' | 'offer'>;

function readDeposit(
  shared: Shared,
  value: unknown,
  payload: JsonObject,
): DepositClaim | undefined {
  const deposit = readOptionalObject(value);
  const amount = readUint(deposit?.['amount'], UINT128_MAX);
  const sent = readOptionalObject(deposit?.['authorization']);
  if (sent === undefined || amount === undefined || amount === 0n) return undefined;
  const permit2 = readOptionalObject(sent['permit2Authorization']);
  const { transferMethod } = shared.offer;
  const isByPermit2 =
    transferMethod === undefined ? permit2 !== undefined : transferMethod === 'permit2';
  return isByPermit2
    ? readPermit2({ ...shared, amount }, permit2, payload)
    : readEip3009({ ...shared, amount }, readOptionalObject(sent['erc3009Authorization']));
}

function readEip3009(
  shared: Shared & { readonly amount: bigint },
  sent: JsonObject | undefined,
): Eip3009DepositClaim | undefined {
  const blank = { ...shared, ...UNSENT, method: 'eip3009' } as const;
  if (sent === undefined) return { ...blank, authorization: undefined };
  const validAfter = readUint(sent['validAfter']);
  const validBefore = readUint(sent['validBefore']);
  const salt = readBytes32(sent['salt']);
  const signature = readBytes(sent['signature'], SIGNATURE_MAX_BYTES);
  if (validAfter === undefined || validBefore === undefined) return undefined;
  if (salt === undefined || signature === undefined) return undefined;
  const nonce = depositNonceOf(shared.voucher.channelId, salt);
  return { ...blank, nonce, signature, authorization: { validAfter, validBefore, salt } };
}

function readPermit2(
  shared: Shared & { readonly amount: bigint },
  sent: JsonObject | undefined,
  payload: JsonObject,
): Permit2DepositClaim | undefined {
  const sponsoredPermit = readSponsoredPermit(payload);
  const blank = { ...shared, ...UNSENT, method: 'permit2', sponsoredPermit } as const;
  if (sent === undefined) return { ...blank, authorization: undefined };
  const permitted = readOptionalObject(sent['permitted']);
  const from = readAddress(sent['from']);
  const token = readAddress(permitted?.['token']);
  const spender = readAddress(sent['spender']);
  const amount = readUint(permitted?.['amount']);
  const nonce = readUint(sent['nonce']);
  const deadline = readUint(sent['deadline']);
  const channelId = readBytes32(readOptionalObject(sent['witness'])?.['channelId']);
  const signature = readBytes(sent['signature'], SIGNATURE_MAX_BYTES);
  if (from === undefined || token === undefined || spender === undefined) return undefined;
  if (amount === undefined || nonce === undefined || deadline === undefined) return undefined;
  if (channelId === undefined || signature === undefined) return undefined;
  const authorization = { from, token, amount, spender, nonce, deadline, channelId };
  return { ...blank, nonce, signature, authorization };
}

function readConfig(value: unknown): ChannelConfig | undefined {
  const sent = readOptionalObject(value);
  if (sent === undefined) return undefined;
  const payer = readAddress(sent['payer']);
  const payerAuthorizer = readAddress(sent['payerAuthorizer']);
  const receiver = readAddress(sent['receiver']);
  const receiverAuthorizer = readAddress(sent['receiverAuthorizer']);
  const token = readAddress(sent['token']);
  const withdrawDelay = readUint(sent['withdrawDelay'], UINT40_MAX);
  const salt = readBytes32(sent['salt']);
  if (payer === undefined || payerAuthorizer === undefined) return undefined;
  if (receiver === undefined || receiverAuthorizer === undefined) return undefined;
  if (token === undefined || withdrawDelay === undefined || salt === undefined) return undefined;
  const parties = { payer, payerAuthorizer, receiver, receiverAuthorizer, token };
  return { ...parties, withdrawDelay: Number(withdrawDelay), salt };
}

function readVoucher(value: unknown): Voucher | undefined {
  const sent = readOptionalObject(value);
  const channelId = readBytes32(sent?.['channelId']);
  const maxClaimable = readUint(sent?.['maxClaimableAmount'], UINT128_MAX);
  const signature = readBytes(sent?.['signature'], SIGNATURE_MAX_BYTES);
  if (channelId === undefined || maxClaimable === undefined || signature === undefined) {
    return undefined;
  }
  return { channelId, maxClaimable, signature };
}

function readOffer(value: unknown): ChannelOffer {
  const extra = readOptionalObject(value) ?? {};
  const authorizer = readAddress(extra['receiverAuthorizer']);
  const delay = extra['withdrawDelay'];
  return {
    receiverAuthorizer: isZero(authorizer) ? undefined : authorizer,
    withdrawDelay: delay === undefined ? undefined : Number(readUint(delay, UINT40_MAX) ?? NaN),
    transferMethod: extra['assetTransferMethod'],
  };
}

function isZero(address: Address | undefined): boolean {
  return address === zeroAddress;
}

function readBytes32(value: unknown): Hex | undefined {
  const bytes = readBytes(value, 32);
  return bytes?.length === 66 ? bytes : undefined;
}

/** A number that the contract can hold. */
function readUint(value: unknown, most = 2n ** 256n - 1n): bigint | undefined {
  const number = readInteger(value);
  return number !== undefined && number >= 0n && number <= most ? number : undefined;
}
