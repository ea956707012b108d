import type { Address, Hex } from 'viem';
import type { Claim, SponsoredApprovalClaim, SponsoredPermitClaim } from '../../payment/payment.js';
import type { ChannelConfig, ClaimRow, Voucher } from './channel.js';

export const BATCH_SETTLEMENT = 'batch-settlement';

/** What the seller's offer says of the channel. */
export interface ChannelOffer {
  /** `undefined` where it names none, or the zero address. */
  readonly receiverAuthorizer: Address | undefined;
  /** Seconds; `undefined` where it names none, `NaN` where that is no number. */
  readonly withdrawDelay: number | undefined;
  /** `extra.assetTransferMethod` as sent. */
  readonly transferMethod: unknown;
}

/** What every message about one channel carries. */
interface ChannelClaim extends Claim {
  readonly scheme: typeof BATCH_SETTLEMENT;
  /** The payer of the channel. */
  readonly from: Address;
  readonly config: ChannelConfig;
  readonly voucher: Voucher;
  readonly offer: ChannelOffer;
}

/** Money for a channel by an EIP-3009 `receiveWithAuthorization`. */
export interface Eip3009DepositClaim extends ChannelClaim {
  readonly method: 'eip3009';
  /** Atomic units, above zero. */
  readonly amount: bigint;
  /** `undefined` where the payload has none. */
  readonly authorization:
    | {
        /** Unix seconds. */
        readonly validAfter: bigint;
        /** Unix seconds. */
        readonly validBefore: bigint;
        /** 32 bytes. */
        readonly salt: Hex;
      }
    | undefined;
}

/** The same by a Permit2 permit with the channel as its witness. */
export interface Permit2DepositClaim extends ChannelClaim {
  readonly method: 'permit2';
  /** Atomic units, above zero. */
  readonly amount: bigint;
  /** `undefined` where the payload has none. */
  readonly authorization:
    | {
        readonly from: Address;
        readonly token: Address;
        readonly amount: bigint;
        readonly spender: Address;
        readonly nonce: bigint;
        /** Unix seconds. */
        readonly deadline: bigint;
        /** 32 bytes. */
        readonly channelId: Hex;
      }
    | undefined;
  readonly sponsoredPermit: SponsoredPermitClaim | undefined;
  readonly sponsoredApproval: SponsoredApprovalClaim | undefined;
}

/** What is only verified: a signed promise, or the buyer's wish to have the rest back. */
export interface VoucherClaim extends ChannelClaim {
  readonly method: 'channel-voucher';
  readonly isForRefund: boolean;
}

/** What a seller asks for of its own accord. It carries no authorization of a transfer: its nonce is in its scheme. */
interface SellerClaim extends Claim {
  readonly scheme: typeof BATCH_SETTLEMENT;
  readonly nonce: undefined;
}

/** A receiver's request for what its vouchers are worth. It has no payer: `from` is the receiver of the first row. */
export interface BatchClaim extends SellerClaim {
  readonly method: 'channel-claim';
  readonly from: Address;
  /** May be of several receivers and tokens; none is refused where it is verified. */
  readonly rows: readonly ClaimRow[];
}

/** A receiver's request for what it has claimed of one token. */
export interface PayoutClaim extends SellerClaim {
  readonly method: 'channel-settle';
  /** The receiver. */
  readonly from: Address;
  readonly token: Address;
  /** Atomic units since the beginning: all that was claimed. `undefined` until the chain was asked. */
  readonly upTo: bigint | undefined;
}

/** A receiver's request to give money of a channel back to its payer, after what it claims of it. */
export interface RefundClaim extends SellerClaim {
  readonly method: 'channel-refund';
  /** The payer of the channel. */
  readonly from: Address;
  readonly config: ChannelConfig;
  /** Atomic units: an upper bound. */
  readonly amount: bigint;
  /** Of the channel: it is done once. */
  readonly refundNonce: bigint;
  readonly rows: readonly ClaimRow[];
  /** Of the authorizer over the rows; `signature` is over the refund. */
  readonly claimSignature: Hex | undefined;
}

export type DepositClaim = Eip3009DepositClaim | Permit2DepositClaim;
