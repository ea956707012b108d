import type { FacilitatorClient } from '@x402/core/server';
import {
  type BatchSettlementChannelManager,
  BatchSettlementEvmScheme,
  type BatchSettlementEvmSchemeServerConfig,
} from '@x402/evm/batch-settlement/server';
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express';
import { declareEip2612GasSponsoringExtension } from '@x402/extensions';
import express, { type Express } from 'express';
import type { Address, LocalAccount } from 'viem';

interface ChannelSellerOptions {
  readonly facilitator: FacilitatorClient;
  readonly network: `eip155:${number}`;
  readonly payTo: Address;
  /** The seller's own key for claims and refunds: the facilitator signs nothing. */
  readonly authorizer: LocalAccount;
  readonly token: Address;
  /** Of the token, `name` and `version`; or `assetTransferMethod`; `minDeposit` where it is not ten calls. */
  readonly extra: Readonly<Record<string, string>>;
  /** Of one call, in atomic units. */
  readonly price: bigint;
  /** Where vouchers are kept; the memory of the process when absent. */
  readonly storage?: BatchSettlementEvmSchemeServerConfig['storage'];
  /** What the seller declares; a sponsored permit when absent. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** How old what is known of a channel may be before the facilitator is asked again. */
  readonly onchainStateTtlMs?: number;
}

export interface ChannelSeller {
  /** `GET /call`, paid by vouchers; `?charge=` says what it took, the price when absent. */
  readonly app: Express;
  readonly manager: BatchSettlementChannelManager;
  readonly scheme: BatchSettlementEvmScheme;
}

/** A seller of cheap calls as one would write it, with the stock server alone. */
export function channelSeller(options: ChannelSellerOptions): ChannelSeller {
  const { facilitator, network, payTo, token, extra, price } = options;
  const scheme = new BatchSettlementEvmScheme(payTo, {
    receiverAuthorizerSigner: options.authorizer,
    ...(options.storage && { storage: options.storage }),
    ...(options.onchainStateTtlMs !== undefined && {
      onchainStateTtlMs: options.onchainStateTtlMs,
    }),
  });
  const app = express();
  app.disable('x-powered-by');
  app.use(
    paymentMiddleware(
      {
        'GET /call': {
          accepts: {
            scheme: 'batch-settlement',
            network,
            payTo,
            price: { amount: price.toString(), asset: token, extra },
            maxTimeoutSeconds: 300,
          },
          description: 'A call that is paid by a voucher',
          mimeType: 'application/json',
          extensions: options.extensions ?? declareEip2612GasSponsoringExtension(),
        },
      },
      new x402ResourceServer(facilitator).register(network, scheme),
    ),
  );
  app.get('/call', (request, response) => {
    const { charge } = request.query;
    if (typeof charge === 'string') setSettlementOverrides(response, { amount: charge });
    response.json({ answer: 42 });
  });
  const manager = scheme.createChannelManager(facilitator, network, token);
  return { app, manager, scheme };
}
