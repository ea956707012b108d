import express from 'express';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';

const {
  FACILITATOR_URL = 'http://127.0.0.1:4022',
  NETWORK = 'eip155:31337',
  ASSET,
  ASSET_NAME = 'Sandbox USD',
  ASSET_VERSION = '1',
  PAY_TO,
  PORT = '4031',
} = process.env;
if (ASSET === undefined || PAY_TO === undefined) {
  console.error('ASSET (a token) and PAY_TO (who is paid) are required.');
  process.exit(1);
}

// The client waits longer than the facilitator (SETTLE_WAIT_MS, 20 s), so no answer is lost.
const facilitator = new HTTPFacilitatorClient({ url: FACILITATOR_URL, timeoutMs: 25_000 });
const server = new x402ResourceServer(facilitator).register(NETWORK, new ExactEvmScheme());

const app = express();
app.use(
  paymentMiddleware(
    {
      'GET /report': {
        accepts: {
          scheme: 'exact',
          network: NETWORK,
          payTo: PAY_TO,
          maxTimeoutSeconds: 300,
          // Atomic units: 0.10 of a token with 18 decimals. Name and version are those the token signs with.
          price: {
            amount: '100000000000000000',
            asset: ASSET,
            extra: { name: ASSET_NAME, version: ASSET_VERSION },
          },
        },
        description: 'A report',
        mimeType: 'application/json',
      },
    },
    server,
  ),
);
app.get('/report', (_request, response) => response.json({ report: 'All is well.' }));
app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`selling at http://127.0.0.1:${PORT}/report`);
});
