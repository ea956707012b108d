import { createServer, type RequestListener, type Server } from 'node:http';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { UptoEvmScheme } from '@x402/evm/upto/server';
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express';
import {
  declareDiscoveryExtension,
  declareEip2612GasSponsoringExtension,
  declareErc20ApprovalGasSponsoringExtension,
} from '@x402/extensions';
import express, { type Express } from 'express';
import { type Address, formatUnits } from 'viem';
import { COIN_NAME, USD_NAME, USD_VERSION } from './deploy.js';
import { sellByV1, v1NameOf } from './v1.js';

interface SellerOptions {
  readonly facilitatorUrl: string;
  readonly network: `eip155:${number}`;
  readonly payTo: Address;
  readonly usd: Address;
  readonly coin: Address;
  /** Atomic units. */
  readonly price?: bigint;
}

/** Atomic units: 0.10 of a token with 18 decimals. */
export const PRICE = 10n ** 17n;

/** @param amount - atomic units. @returns whole tokens, with two decimals. */
const textOf = (amount: bigint): string => Number(formatUnits(amount, 18)).toFixed(2);

/** Longer than the facilitator takes at most, so that no answer is lost. */
const CLIENT_WAIT_MS = 25_000;

/** For a person with a browser; programs read the terms from the header. */
const PAYWALL = {
  generateHtml: () => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Payment required</title></head>
<body style="font: 1rem/1.5 system-ui; max-width: 40rem; margin: 3rem auto; padding: 0 1rem">
<h1>Payment required</h1>
<p>This address sells to programs that pay by x402. Buy it in a terminal, in the folder of the sandbox:</p>
<pre>npm run pay</pre>
</body></html>`,
};

/** A resource server as a seller would write it, with the stock middleware alone. */
export function demoSeller({
  facilitatorUrl,
  network,
  payTo,
  usd,
  coin,
  price = PRICE,
}: SellerOptions): Express {
  const facilitator = new HTTPFacilitatorClient({ url: facilitatorUrl, timeoutMs: CLIENT_WAIT_MS });
  const server = new x402ResourceServer(facilitator)
    .register(network, new ExactEvmScheme())
    .register(network, new UptoEvmScheme());
  const accepts = (asset: Address, extra: Record<string, unknown>, amount = price) => ({
    scheme: 'exact',
    network,
    payTo,
    price: { amount: amount.toString(), asset, extra },
    maxTimeoutSeconds: 300,
  });
  const usdExtra = { name: USD_NAME, version: USD_VERSION };
  // Nothing is signed with these, and yet buyers in Rust take no offer without them.
  const coinExtra = { name: COIN_NAME, version: '1' };
  const app = express();
  app.disable('x-powered-by');
  app.use(
    paymentMiddleware(
      {
        'GET /report': {
          accepts: accepts(usd, usdExtra),
          description: `A report that costs ${textOf(price)} SUSD`,
          mimeType: 'application/json',
          extensions: declareDiscoveryExtension({
            output: { example: { report: 'All is well.' } },
          }),
        },
        'GET /premium': {
          accepts: accepts(usd, usdExtra, price * 10n),
          description: `A report that costs ${textOf(price * 10n)} SUSD`,
          mimeType: 'application/json',
        },
        'GET /permit2': {
          accepts: accepts(coin, { ...coinExtra, assetTransferMethod: 'permit2' }),
          description: 'The same for a token without signed transfers',
          mimeType: 'application/json',
        },
        'GET /sponsored': {
          accepts: accepts(usd, { ...usdExtra, assetTransferMethod: 'permit2' }),
          description: 'The same by Permit2, its approval signed and sponsored',
          mimeType: 'application/json',
          extensions: declareEip2612GasSponsoringExtension(),
        },
        'GET /approval': {
          accepts: accepts(coin, { assetTransferMethod: 'permit2' }),
          description:
            'The same for a payer without native coins, its approval signed and paid for',
          mimeType: 'application/json',
          extensions: declareErc20ApprovalGasSponsoringExtension(),
        },
        'GET /upto': {
          accepts: { ...accepts(usd, usdExtra), scheme: 'upto' },
          description: 'An answer that costs what it took, 0.10 SUSD at most',
          mimeType: 'application/json',
          extensions: declareEip2612GasSponsoringExtension(),
        },
      },
      server,
      undefined,
      PAYWALL,
    ),
  );
  app.get(['/report', '/premium', '/permit2', '/sponsored', '/approval'], (_request, response) => {
    response.json({ report: 'All is well.', at: new Date().toISOString() });
  });
  // What an answer took; a buyer of the demonstration may say it.
  app.get('/upto', (request, response) => {
    const { charge = '40%' } = request.query;
    if (typeof charge === 'string' && charge !== 'all') {
      setSettlementOverrides(response, { amount: charge });
    }
    response.json({ report: 'It took less than you were ready to pay.', charge });
  });
  const v1Name = v1NameOf(Number(network.slice('eip155:'.length)));
  if (v1Name !== undefined) {
    const route = sellByV1(facilitatorUrl, {
      scheme: 'exact',
      network: v1Name,
      maxAmountRequired: price.toString(),
      description: `A report that costs ${textOf(price)} SUSD, sold by x402 V1`,
      mimeType: 'application/json',
      payTo,
      maxTimeoutSeconds: 300,
      asset: usd,
      extra: usdExtra,
    });
    app.get('/v1/report', route);
  }
  return app;
}

export function listen(app: RequestListener, port: number, host = '127.0.0.1'): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(app);
    server.on('error', reject);
    server.listen(port, host, () => {
      resolve(server);
    });
  });
}
