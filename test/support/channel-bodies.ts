import type { Address, Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import {
  type ChannelConfig,
  type Channels,
  type Claim,
  signErc3009Deposit,
  signPermit2Deposit,
} from './channels.js';
import type { Body, Json } from './payments.js';

/** Messages about channels as buyers, sellers and the stock manager send them. */

const digits = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, field: unknown) =>
      typeof field === 'bigint' ? field.toString() : field,
    ),
  );

/** What a seller asks of a buyer for one call. */
function requirementsOf(channels: Channels, config: ChannelConfig, more: Json = {}): Json {
  return {
    scheme: 'batch-settlement',
    network: `eip155:${channels.chainId}`,
    amount: '100',
    asset: config.token,
    payTo: config.receiver,
    maxTimeoutSeconds: 300,
    extra: {
      receiverAuthorizer: config.receiverAuthorizer,
      withdrawDelay: config.withdrawDelay,
      minDeposit: '1000',
      name: USD_NAME,
      version: USD_VERSION,
      ...more,
    },
  };
}

function bodyOf(requirements: Json, payload: Json): Body {
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      resource: { url: 'https://seller.example/call' },
      accepted: structuredClone(requirements),
      payload: digits(payload),
    },
    paymentRequirements: requirements,
  };
}

/** As the stock manager sends its actions: nothing is priced, and no resource is named. */
function managerBodyOf(channels: Channels, receiver: Address, token: Address, payload: Json): Body {
  const requirements: Json = {
    scheme: 'batch-settlement',
    network: `eip155:${channels.chainId}`,
    asset: token,
    amount: '0',
    payTo: receiver,
    maxTimeoutSeconds: 0,
    extra: {},
  };
  const accepted = structuredClone(requirements);
  return {
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted, payload: digits(payload) },
    paymentRequirements: requirements,
  };
}

async function signVoucher(
  channels: Channels,
  signer: PrivateKeyAccount,
  config: ChannelConfig,
  max: bigint,
): Promise<Json> {
  const channelId = channels.idOf(config);
  const signature = await signer.signTypedData(channels.voucher(channelId, max));
  return { channelId, maxClaimableAmount: max.toString(), signature };
}

interface DepositOptions {
  readonly channels: Channels;
  readonly payer: PrivateKeyAccount;
  readonly config: ChannelConfig;
  readonly amount?: bigint;
  /** What the voucher is signed for. */
  readonly max?: bigint;
  readonly method?: 'eip3009' | 'permit2';
  readonly voucherSigner?: PrivateKeyAccount;
  readonly validAfter?: bigint;
  readonly validFor?: number;
  readonly salt?: Hex;
  readonly nonce?: bigint;
}

/** The first call of a channel, or one that tops it up. */
export async function depositBody(options: DepositOptions): Promise<Body> {
  const { channels, payer, config, method = 'eip3009', amount = 1000n, max = 100n } = options;
  const { voucherSigner = payer } = options;
  const authorization =
    method === 'eip3009'
      ? {
          erc3009Authorization: await signErc3009Deposit(channels, payer, config, amount, options),
        }
      : {
          permit2Authorization: await signPermit2Deposit(channels, payer, config, amount, options),
        };
  const more = method === 'permit2' ? { assetTransferMethod: 'permit2' } : {};
  return bodyOf(requirementsOf(channels, config, more), {
    type: 'deposit',
    channelConfig: config,
    voucher: await signVoucher(channels, voucherSigner, config, max),
    deposit: { amount, authorization },
  });
}

interface VoucherOptions {
  readonly channels: Channels;
  /** The payer's authorizer. */
  readonly signer: PrivateKeyAccount;
  readonly config: ChannelConfig;
  readonly max?: bigint;
}

/** A call that is paid by a voucher. */
export async function voucherBody({
  channels,
  signer,
  config,
  max = 100n,
}: VoucherOptions): Promise<Body> {
  return bodyOf(requirementsOf(channels, config), {
    type: 'voucher',
    channelConfig: config,
    voucher: await signVoucher(channels, signer, config, max),
  });
}

/** What a buyer sends to get the rest of a channel back. */
export async function refundBody(options: VoucherOptions): Promise<Body> {
  const body = await voucherBody(options);
  (body.paymentPayload['payload'] as Json)['type'] = 'refund';
  return body;
}

interface SellerRefundOptions extends VoucherOptions {
  readonly authorizer: PrivateKeyAccount;
  readonly amount: bigint;
  readonly nonce?: bigint;
  /** Claimed in the same transaction. */
  readonly claims?: readonly Claim[];
}

/** The same as a seller passes it on to be settled. */
export async function sellerRefundBody(options: SellerRefundOptions): Promise<Body> {
  const { channels, config, authorizer, amount, nonce = 0n, claims = [] } = options;
  const { receiver, token } = config;
  const channelId = channels.idOf(config);
  const isClaiming = claims.length > 0;
  return managerBodyOf(channels, receiver, token, {
    type: 'refund',
    channelConfig: config,
    voucher: await signVoucher(channels, options.signer, config, options.max ?? 100n),
    amount,
    refundNonce: nonce,
    claims,
    refundAuthorizerSignature: await authorizer.signTypedData(
      channels.refund(channelId, nonce, amount),
    ),
    ...(isClaiming && {
      claimAuthorizerSignature: await authorizer.signTypedData(channels.claimBatch(claims)),
    }),
  });
}

/** Claims of channels of one receiver and token. */
export async function claimBody(
  channels: Channels,
  authorizer: PrivateKeyAccount,
  claims: readonly [Claim, ...Claim[]],
): Promise<Body> {
  const { receiver, token } = claims[0].voucher.channel;
  return managerBodyOf(channels, receiver, token, {
    type: 'claim',
    claims,
    claimAuthorizerSignature: await authorizer.signTypedData(channels.claimBatch(claims)),
  });
}

/** Asks for what was claimed. */
export function settleBody(channels: Channels, receiver: Address, token: Address): Body {
  return managerBodyOf(channels, receiver, token, { type: 'settle', receiver, token });
}
