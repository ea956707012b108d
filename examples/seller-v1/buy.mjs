import { randomBytes } from 'node:crypto';
import { getAddress, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

// A buyer without a library: reads the offer, signs an EIP-3009 transfer, asks again.
const { BUYER_KEY, URL = 'http://127.0.0.1:4032/report', CHAIN_ID = '31337' } = process.env;
if (BUYER_KEY === undefined) {
  console.error('BUYER_KEY is required.');
  process.exit(1);
}
const account = privateKeyToAccount(BUYER_KEY);

const { accepts } = await (await fetch(URL)).json();
const [offer] = accepts;
const now = Math.floor(Date.now() / 1000);
const authorization = {
  from: account.address,
  to: getAddress(offer.payTo),
  value: offer.maxAmountRequired,
  validAfter: '0',
  validBefore: String(now + offer.maxTimeoutSeconds),
  nonce: toHex(randomBytes(32)),
};
const signature = await account.signTypedData({
  domain: { ...offer.extra, chainId: Number(CHAIN_ID), verifyingContract: offer.asset },
  types: {
    TransferWithAuthorization: [
      { name: 'from', type: 'address' },
      { name: 'to', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'validAfter', type: 'uint256' },
      { name: 'validBefore', type: 'uint256' },
      { name: 'nonce', type: 'bytes32' },
    ],
  },
  primaryType: 'TransferWithAuthorization',
  message: authorization,
});
const payment = {
  x402Version: 1,
  scheme: offer.scheme,
  network: offer.network,
  payload: { signature, authorization },
};
const header = Buffer.from(JSON.stringify(payment)).toString('base64');
const response = await fetch(URL, { headers: { 'x-payment': header } });
console.log(`${response.status} ${await response.text()}`);
const receipt = response.headers.get('x-payment-response');
if (receipt !== null) {
  console.log(`transaction ${JSON.parse(Buffer.from(receipt, 'base64').toString()).transaction}`);
}
process.exit(response.ok ? 0 : 1);
