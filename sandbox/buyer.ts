import { x402Client } from '@x402/core/client';
import { decodePaymentRequiredHeader } from '@x402/core/http';
import { toClientEvmSigner } from '@x402/evm';
import {
  BatchSettlementEvmScheme,
  type BatchSettlementEvmSchemeOptions,
} from '@x402/evm/batch-settlement/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch';
import { createPublicClient, type Hex, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/** What the seller's facilitator said. */
export type Receipt = Pick<
  ReturnType<typeof decodePaymentResponseHeader>,
  'transaction' | 'amount' | 'success' | 'extra' | 'errorReason' | 'errorMessage'
>;

/** What a purchase came to. */
export interface Purchase {
  readonly status: number;
  readonly body: string;
  /** The receipt of the seller's middleware, where it sent one. */
  readonly receipt: Receipt | undefined;
  /** Why the payment was not taken, where the seller said it in a header. */
  readonly refusal: string | undefined;
}

export interface Buyer {
  /** Pays for a resource with the stock client, as any agent would. */
  buy(url: string): Promise<Purchase>;
  /**
   * Asks the seller of a channel for what the channel still holds, or for a part of it.
   *
   * @param amount - Atomic units, as decimal digits.
   */
  refund(url: string, amount?: string): Promise<Receipt>;
  /** The payment header of the last purchase, for sending it again. */
  readonly lastPayment: string | undefined;
}

/** A buyer with the stock x402 V2 client who has a key. */
export function stockBuyer(key: Hex, rpcUrl: string): Buyer {
  return stockBuyerAs(privateKeyToAccount(key), rpcUrl);
}

/** Who signs: a key, or a smart wallet. */
type BuyerAccount = Parameters<typeof toClientEvmSigner>[0];

/**
 * The same for any account. BNB Chain needs `spendControls`: it has no default asset.
 *
 * @param channelOptions - of channels: where they are kept, their salt, how much is paid in.
 */
export function stockBuyerAs(
  account: BuyerAccount,
  rpcUrl: string,
  channelOptions: Omit<BatchSettlementEvmSchemeOptions, 'rpcUrl'> = {},
): Buyer {
  const publicClient = createPublicClient({ transport: http(rpcUrl) });
  const signer = toClientEvmSigner(account, publicClient);
  const channels = new BatchSettlementEvmScheme(signer, { ...channelOptions, rpcUrl });
  const client = new x402Client()
    .register('eip155:*', new ExactEvmScheme(signer, { rpcUrl }))
    .register('eip155:*', new UptoEvmScheme(signer, { rpcUrl }))
    .register('eip155:*', channels)
    .setSpendControls({ allowedAssets: true });
  let lastPayment: string | undefined;
  const payingFetch = wrapFetchWithPayment((input, init) => {
    const request = new Request(input, init);
    lastPayment = request.headers.get('payment-signature') ?? lastPayment;
    return fetch(request);
  }, client);
  return {
    get lastPayment() {
      return lastPayment;
    },
    refund: (url, amount) => channels.refund(url, amount === undefined ? {} : { amount }),
    buy: async (url) => {
      const response = await payingFetch(url);
      const header = response.headers.get('payment-response');
      const receipt = header === null ? undefined : decodePaymentResponseHeader(header);
      return {
        status: response.status,
        body: await response.text(),
        receipt,
        refusal: refusalOf(receipt, response.headers.get('payment-required')),
      };
    },
  };
}

/** A settle that failed has a receipt; a payment that did not verify is asked for again, with the reason. */
function refusalOf(receipt: Receipt | undefined, required: string | null): string | undefined {
  if (receipt?.success === false) {
    const { errorReason = 'without a reason', errorMessage } = receipt;
    return errorMessage === undefined ? errorReason : `${errorReason}: ${errorMessage}`;
  }
  return required === null ? undefined : decodePaymentRequiredHeader(required).error;
}
