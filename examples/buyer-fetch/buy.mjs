import { x402Client } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { decodePaymentRequiredHeader } from '@x402/core/http';
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';

const { BUYER_KEY, NETWORK = 'eip155:31337', ASSET } = process.env;
const url = process.argv[2] ?? 'http://127.0.0.1:4021/report';
if (BUYER_KEY === undefined || ASSET === undefined) {
  console.error('BUYER_KEY and ASSET (the token to pay with) are required.');
  process.exit(1);
}

const client = new x402Client()
  .register(NETWORK, new ExactEvmScheme(privateKeyToAccount(BUYER_KEY)))
  // Only tokens the client knows are paid with unless they are named. At most 1.00 each time.
  .setSpendControls({
    allowedAssets: [{ network: NETWORK, asset: ASSET, maxAmountPerPayment: '1000000000000000000' }],
  });

const response = await wrapFetchWithPayment(fetch, client)(url);
console.log(`${response.status} ${await response.text()}`);
const receipt = response.headers.get('payment-response');
if (receipt !== null) {
  const { transaction, errorReason } = decodePaymentResponseHeader(receipt);
  console.log(transaction === '' ? `refused: ${errorReason}` : `transaction ${transaction}`);
}
// A payment that the seller's facilitator found invalid is answered with 402 again, and with the reason.
const terms = response.headers.get('payment-required');
if (terms !== null) console.log(`refused: ${decodePaymentRequiredHeader(terms).error}`);
process.exit(response.ok ? 0 : 1);
