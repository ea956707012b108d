import type { JsonObject } from '../../platform/http/openapi.js';
import { diagnosisOf } from '../../protocol/diagnosis/diagnosis.js';
import { type Reason, REASONS } from '../../protocol/reasons.js';

/** Values as the local sandbox gives them; the e2e tests compare the shape of real answers. */
const PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const PAY_TO = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const ASSET = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const SIGNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const NETWORK = 'eip155:31337';
const TRANSACTION = '0x8f7c1bd0bbb0b4a0e8dcfcb5a5e1b0d9ee0a66f2b9e2b65e3d4a6f8aa1d63c42';
const BLOCK = '0x2c1a64cf4a0f1f7be5b1d8c0d7f5c1d6ce0b4a3b8c4f30d2a9b17bd5c4e6f701';
const NONCE = `0x${'5a'.repeat(32)}`;
const SIGNATURE = `0x${'3c'.repeat(32)}${'2b'.repeat(32)}1b`;
const ID = 'Zk3Vt0mGdT2l9yQh8sXc4bNf7aUe1wRpK5oJ2iHg6Es';

const AUTHORIZATION = {
  from: PAYER,
  to: PAY_TO,
  value: '1000',
  validAfter: '0',
  validBefore: '1800000000',
  nonce: NONCE,
};
const TOKEN = { name: 'Sandbox USD', version: '1' };

export const REQUIREMENTS_V2 = {
  scheme: 'exact',
  network: NETWORK,
  amount: '1000',
  asset: ASSET,
  payTo: PAY_TO,
  maxTimeoutSeconds: 300,
  extra: TOKEN,
};

export const REQUEST_V2: JsonObject = {
  x402Version: 2,
  paymentPayload: {
    x402Version: 2,
    resource: { url: 'https://seller.example/report' },
    accepted: REQUIREMENTS_V2,
    payload: { signature: SIGNATURE, authorization: AUTHORIZATION },
  },
  paymentRequirements: REQUIREMENTS_V2,
};

const REQUIREMENTS_UPTO = {
  ...REQUIREMENTS_V2,
  scheme: 'upto',
  extra: { ...TOKEN, assetTransferMethod: 'permit2', facilitatorAddress: SIGNER },
};

/** A maximum of 1000, of which 400 are settled. */
export const REQUEST_UPTO: JsonObject = {
  x402Version: 2,
  paymentPayload: {
    x402Version: 2,
    resource: { url: 'https://seller.example/answer' },
    accepted: REQUIREMENTS_UPTO,
    payload: {
      signature: SIGNATURE,
      permit2Authorization: {
        from: PAYER,
        permitted: { token: ASSET, amount: '1000' },
        spender: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
        nonce: '77',
        deadline: '1800000000',
        witness: { to: PAY_TO, facilitator: SIGNER, validAfter: '0' },
      },
    },
  },
  paymentRequirements: { ...REQUIREMENTS_UPTO, amount: '400' },
};

export const REQUIREMENTS_V1 = {
  scheme: 'exact',
  network: 'bsc-testnet',
  maxAmountRequired: '1000',
  resource: 'https://seller.example/report',
  description: 'A report',
  mimeType: 'application/json',
  payTo: PAY_TO,
  maxTimeoutSeconds: 300,
  asset: ASSET,
  extra: TOKEN,
};

export const REQUEST_V1: JsonObject = {
  x402Version: 1,
  paymentPayload: {
    x402Version: 1,
    scheme: 'exact',
    network: 'bsc-testnet',
    payload: { signature: SIGNATURE, authorization: AUTHORIZATION },
  },
  paymentRequirements: REQUIREMENTS_V1,
};

export const VERIFIED: JsonObject = { isValid: true, payer: PAYER };

export function verifyRefusal(reason: Reason, message?: string): JsonObject {
  return {
    isValid: false,
    invalidReason: reason,
    invalidMessage: message ?? REASONS[reason].meaning,
    payer: '',
    extensions: { diagnosis: { ...diagnosisOf(reason) } },
  };
}

export const SETTLED: JsonObject = {
  success: true,
  transaction: TRANSACTION,
  network: NETWORK,
  payer: PAYER,
  extra: { settlementId: ID, logIndex: 0, batchSize: 1 },
};

export const ACCEPTED: JsonObject = {
  success: false,
  transaction: '',
  network: NETWORK,
  payer: PAYER,
  extra: { settlementId: ID },
};

/** A refusal before any check: no payer, no network. */
export function settleRefusal(reason: Reason, message?: string): JsonObject {
  return {
    success: false,
    errorReason: reason,
    errorMessage: message ?? REASONS[reason].meaning,
    transaction: '',
    network: '',
    extensions: { diagnosis: { ...diagnosisOf(reason) } },
  };
}

export const KEY_CONFLICT: JsonObject = {
  ...settleRefusal('idempotency_key_conflict'),
  network: NETWORK,
  payer: PAYER,
};

export const SUPPORTED: JsonObject = {
  kinds: [
    { x402Version: 2, scheme: 'exact', network: NETWORK },
    {
      x402Version: 2,
      scheme: 'upto',
      network: NETWORK,
      extra: { facilitatorAddress: SIGNER },
    },
    { x402Version: 1, scheme: 'exact', network: 'bsc-testnet' },
  ],
  extensions: ['eip2612GasSponsoring', 'payment-identifier'],
  signers: { 'eip155:*': [SIGNER] },
};

export const SETTLEMENT: JsonObject = {
  settlementId: ID,
  source: 'ledger',
  state: 'finalized',
  paid: true,
  finality: 'finalized',
  sale: 'sold',
  transaction: TRANSACTION,
  transactions: [TRANSACTION],
  block: { number: '14', hash: BLOCK },
  logIndex: 0,
  batchSize: 1,
  payment: {
    network: NETWORK,
    scheme: 'exact',
    method: 'eip3009',
    asset: ASSET.toLowerCase(),
    payer: PAYER.toLowerCase(),
    payTo: PAY_TO.toLowerCase(),
    amount: '1000',
    nonce: BigInt(NONCE).toString(),
    deadline: '1800000000',
  },
  times: {
    arrived: '2026-01-01T00:00:00.000Z',
    claimed: '2026-01-01T00:00:00.008Z',
    allocated: '2026-01-01T00:00:00.020Z',
    included: '2026-01-01T00:00:00.450Z',
    finished: '2026-01-01T00:00:01.400Z',
  },
};
