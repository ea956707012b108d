import { randomBytes } from 'node:crypto';
import { authorizationTypes } from '@x402/evm';
import type { Request, Response } from 'express';
import { type Address, getAddress, type Hex, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Purchase, Receipt } from './buyer.js';

/**
 * x402 V1 is two headers and two requests. Stock clients of V1 know a fixed list of chains, to which no
 * local one belongs; so that both sides are written out here.
 */

/** Of the chains a sandbox may have. */
const V1_CHAIN_IDS: Readonly<Record<string, number>> = {
  anvil: 31_337,
  bsc: 56,
  'bsc-testnet': 97,
};

/** The V1 short name of a chain. */
export function v1NameOf(chainId: number): string | undefined {
  return Object.keys(V1_CHAIN_IDS).find((name) => V1_CHAIN_IDS[name] === chainId);
}

interface Offer {
  readonly scheme: string;
  /** A V1 short name. */
  readonly network: string;
  readonly maxAmountRequired: string;
  readonly resource: string;
  readonly description: string;
  readonly mimeType: string;
  readonly payTo: Address;
  readonly maxTimeoutSeconds: number;
  readonly asset: Address;
  readonly extra: { readonly name: string; readonly version: string };
}

interface Answer {
  readonly isValid?: boolean;
  readonly success?: boolean;
  readonly invalidReason?: string;
  readonly errorReason?: string;
}

/** A route of a seller that speaks V1. */
export function sellByV1(
  facilitatorUrl: string,
  offer: Omit<Offer, 'resource'>,
): (request: Request, response: Response) => Promise<void> {
  return async (request, response) => {
    const resource = `${request.protocol}://${request.headers.host ?? ''}${request.path}`;
    const paymentRequirements: Offer = { ...offer, resource };
    const refuse = (error: string): void => {
      response.status(402).json({ x402Version: 1, error, accepts: [paymentRequirements] });
    };
    const header = request.header('x-payment');
    if (header === undefined) {
      refuse('X-PAYMENT header is required');
      return;
    }
    const paymentPayload = decoded(header);
    if (paymentPayload === undefined) {
      refuse('X-PAYMENT is not JSON in base64');
      return;
    }
    const ask = async (what: string): Promise<Answer> => {
      const asked = await fetch(`${facilitatorUrl}/v1/${what}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ x402Version: 1, paymentPayload, paymentRequirements }),
      });
      return (await asked.json()) as Answer;
    };
    const verified = await ask('verify');
    if (verified.isValid !== true) {
      refuse(verified.invalidReason ?? 'the payment is not valid');
      return;
    }
    const settled = await ask('settle');
    if (settled.success !== true) {
      refuse(settled.errorReason ?? 'the payment was not settled');
      return;
    }
    response.setHeader('x-payment-response', encoded(settled));
    response.json({ report: 'All is well.', at: new Date().toISOString() });
  };
}

/** Buys from a seller that speaks V1. */
export async function buyByV1(url: string, key: Hex): Promise<Purchase> {
  const { accepts } = (await (await fetch(url)).json()) as { accepts: readonly Offer[] };
  const [offer] = accepts;
  if (offer === undefined) throw new Error(`${url} offers nothing.`);
  const { scheme, network, asset } = offer;
  const chainId = V1_CHAIN_IDS[network];
  if (chainId === undefined) throw new Error(`${network} is no chain that V1 has a name for.`);
  const account = privateKeyToAccount(key);
  const authorization = {
    from: account.address,
    to: getAddress(offer.payTo),
    value: offer.maxAmountRequired,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + offer.maxTimeoutSeconds),
    nonce: toHex(randomBytes(32)),
  };
  const { value, validAfter, validBefore } = authorization;
  const signature = await account.signTypedData({
    domain: { ...offer.extra, chainId, verifyingContract: asset },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
  });
  const payment = { x402Version: 1, scheme, network, payload: { signature, authorization } };
  const response = await fetch(url, { headers: { 'x-payment': encoded(payment) } });
  const receipt = response.headers.get('x-payment-response');
  return {
    status: response.status,
    body: await response.text(),
    receipt: receipt === null ? undefined : (decoded(receipt) as Receipt | undefined),
    // V1 says it in the body.
    refusal: undefined,
  };
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

function decoded(header: string): unknown {
  try {
    return JSON.parse(Buffer.from(header, 'base64').toString());
  } catch {
    return undefined;
  }
}
