import { type Address, zeroAddress } from 'viem';
import type { Claim, Purpose, Requirements } from '../../payment/payment.js';
import {
  CLAIM_ROWS_MAX,
  type JsonObject,
  readAddress,
  readBytes,
  readBytes32,
  readOptionalObject,
  readUint,
  SIGNATURE_MAX_BYTES,
  UINT40_MAX,
  UINT128_MAX,
} from '../../payment/wire-values.js';
import type { Reason } from '../../reasons.js';
import { readSponsoredApproval, readSponsoredPermit } from '../permit2/read-claim.js';
import type { ChannelConfig, ClaimRow, Voucher } from './channel.js';
import {
  BATCH_SETTLEMENT,
  type BatchClaim,
  type ChannelOffer,
  type DepositClaim,
  type Eip3009DepositClaim,
  type PayoutClaim,
  type Permit2DepositClaim,
  type RefundClaim,
  type VoucherClaim,
} from './claims.js';
import { depositNonceOf } from './escrow.js';

/** The payer of the channel; messages of the seller's own have none. */
export function payerAsSent(inner: JsonObject): unknown {
  return readOptionalObject(inner['channelConfig'])?.['payer'];
}

/** A deposit is of what it puts in, whatever one call costs. What a seller asks for is of what it names itself. */
export function ownTermsOf(
  claim: Claim,
): Partial<Pick<Requirements, 'amount' | 'asset' | 'payTo'>> {
  const asked = claim as ReadClaim;
  switch (asked.method) {
    case 'eip3009':
    case 'permit2':
      return { amount: asked.amount };
    case 'channel-voucher':
      return { amount: 0n };
    case 'channel-claim': {
      const [first] = asked.rows;
      return { amount: 0n, ...(first && termsOf(first.config)) };
    }
    case 'channel-settle':
      return { amount: 0n, asset: asked.token, payTo: asked.from };
    case 'channel-refund':
      return { amount: 0n, ...termsOf(asked.config) };
  }
}

function termsOf({ token, receiver }: ChannelConfig): Pick<Requirements, 'asset' | 'payTo'> {
  return { asset: token, payTo: receiver };
}

/** A type that is not asked for here or that lacks a part, or one whose values are malformed. */
export function whyUnreadable(payload: JsonObject, purpose: Purpose): Reason {
  const inner = readOptionalObject(payload['payload']) ?? {};
  return hasParts(inner, purpose) ? 'invalid_payload' : 'invalid_batch_settlement_evm_payload_type';
}

/** By which the reference tells the types apart. */
function hasParts(inner: JsonObject, purpose: Purpose): boolean {
  const voucher = readOptionalObject(inner['voucher']) ?? {};
  const deposit = readOptionalObject(inner['deposit']);
  const fields = ['channelId', 'maxClaimableAmount', 'signature'];
  const isOfChannel = 'channelConfig' in inner && fields.every((field) => field in voucher);
  const isToSettle = purpose === 'settle';
  switch (inner['type']) {
    case 'deposit':
      return (
        isOfChannel &&
        typeof deposit?.['amount'] === 'string' &&
        readOptionalObject(deposit['authorization']) !== undefined
      );
    case 'voucher':
      return isOfChannel && !isToSettle;
    case 'refund':
      return isOfChannel && (!isToSettle || isEnriched(inner));
    case 'claim':
      return isToSettle && 'claims' in inner;
    case 'settle':
      return isToSettle && 'receiver' in inner && 'token' in inner;
    default:
      return false;
  }
}

/** Whether the seller has added its own part to what the buyer sent. */
function isEnriched(inner: JsonObject): boolean {
  return 'amount' in inner && 'refundNonce' in inner && 'claims' in inner;
}

type ReadClaim = DepositClaim | VoucherClaim | BatchClaim | PayoutClaim | RefundClaim;

/** Reads what is to be verified, or what is to be settled; `undefined` where a field is missing or of the wrong type. */
export function readClaim(
  payload: JsonObject,
  requirements: JsonObject,
  purpose: Purpose,
): ReadClaim | undefined {
  const inner = readOptionalObject(payload['payload']) ?? {};
  if (!hasParts(inner, purpose)) return undefined;
  const type = inner['type'];
  if (type === 'claim') return readBatchClaim(payload);
  if (type === 'settle') return readPayout(payload);
  if (type === 'refund' && purpose === 'settle') return readRefund(payload);
  return readChannelClaim(payload, requirements);
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
  const asVoucher = { ...shared, ...UNSENT, method: 'channel-voucher' } as const;
  switch (inner['type']) {
    case 'deposit':
      return readDeposit(shared, inner['deposit'], payload);
    case 'voucher':
      return { ...asVoucher, isForRefund: false };
    case 'refund':
      return { ...asVoucher, isForRefund: true };
    default:
      return undefined;
  }
}

/** Reads what a receiver sends to collect; `undefined` where a field is missing or of the wrong type. */
export function readBatchClaim(payload: JsonObject): BatchClaim | undefined {
  const inner = readOptionalObject(payload['payload']);
  const rows = readRows(inner?.['claims']);
  if (inner?.['type'] !== 'claim' || rows === undefined) return undefined;
  const signature = readBytes(inner['claimAuthorizerSignature'], SIGNATURE_MAX_BYTES);
  const from = rows[0]?.config.receiver ?? zeroAddress;
  return { scheme: BATCH_SETTLEMENT, method: 'channel-claim', ...UNSENT, from, signature, rows };
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
  return { ...name, ...UNSENT, from: receiver, token, upTo: undefined };
}

/** Reads a refund as the seller has completed it; `undefined` where a field is missing or of the wrong type. */
export function readRefund(payload: JsonObject): RefundClaim | undefined {
  const inner = readOptionalObject(payload['payload']) ?? {};
  const config = readConfig(inner['channelConfig']);
  const amount = readUint(inner['amount'], UINT128_MAX);
  const refundNonce = readUint(inner['refundNonce']);
  const rows = readRows(inner['claims']);
  if (config === undefined || amount === undefined) return undefined;
  if (refundNonce === undefined || rows === undefined) return undefined;
  const signature = readBytes(inner['refundAuthorizerSignature'], SIGNATURE_MAX_BYTES);
  const claimSignature = readBytes(inner['claimAuthorizerSignature'], SIGNATURE_MAX_BYTES);
  const name = { scheme: BATCH_SETTLEMENT, method: 'channel-refund', from: config.payer } as const;
  return { ...name, ...UNSENT, config, amount, refundNonce, rows, signature, claimSignature };
}

function readRows(sent: unknown): readonly ClaimRow[] | undefined {
  if (!Array.isArray(sent) || sent.length > CLAIM_ROWS_MAX) return undefined;
  const rows = sent.flatMap((row) => readRow(row) ?? []);
  return rows.length < sent.length ? undefined : rows;
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
const UNSENT = { nonce: undefined, signature: undefined } as const;

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
  const sponsored = {
    sponsoredPermit: readSponsoredPermit(payload),
    sponsoredApproval: readSponsoredApproval(payload),
  };
  const blank = { ...shared, ...UNSENT, method: 'permit2', ...sponsored } as const;
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
