import { type Hex, zeroAddress } from 'viem';
import type {
  Eip3009Authorization,
  Permit2Authorization,
} from '../../protocol/evm/authorization.js';
import type { SchemeContracts } from '../../protocol/evm/contracts.js';
import type { TrialSigner } from '../../protocol/evm/token/token-trials.js';
import { eip3009Digest, permit2Digest, uptoDigest } from '../../protocol/evm/typed-data.js';
import type { PaymentEnvelope } from '../../protocol/payment/parse-payment.js';
import { type JsonObject, readAddress } from '../../protocol/payment/wire-values.js';
import type { Offer } from './checks/offer.js';

/** Seconds. A longer validity changes nothing for a trial. */
const VALID_MOST = 3600;

/**
 * The payment that a stock buyer would send for an offer, signed by a key that owns nothing. It can be verified, but
 * never settled.
 *
 * @param now - Unix seconds.
 */
export async function trialPayment(
  offer: Offer,
  signer: TrialSigner,
  contracts: SchemeContracts,
  now: number,
): Promise<PaymentEnvelope> {
  const { version, sent } = offer;
  const deadline = BigInt(now + Math.min(Math.ceil(offer.maxTimeoutSeconds), VALID_MOST));
  const payload =
    offer.method === 'eip3009'
      ? await byEip3009(offer, signer, deadline)
      : await byPermit2(offer, signer, deadline, contracts);
  const paymentPayload: JsonObject =
    version === 2
      ? { x402Version: 2, accepted: sent, payload }
      : { x402Version: 1, scheme: offer.scheme, network: sent['network'], payload };
  return { x402Version: version, paymentPayload, paymentRequirements: sent };
}

async function byEip3009(
  { asset, payTo, amount, chainId, extra }: Offer,
  signer: TrialSigner,
  validBefore: bigint,
): Promise<JsonObject> {
  const signed: Eip3009Authorization = {
    scheme: 'exact',
    method: 'eip3009',
    signature: '0x',
    from: signer.address,
    to: payTo,
    value: amount,
    validAfter: 0n,
    validBefore,
    nonce: signer.nonce,
  };
  const domain = {
    name: text(extra['name']),
    version: text(extra['version']),
    chainId,
    token: asset,
  };
  const { from, to, value, validAfter, nonce } = signed;
  return {
    signature: await signer.sign(eip3009Digest(signed, domain)),
    authorization: {
      from,
      to,
      nonce,
      value: String(value),
      validAfter: String(validAfter),
      validBefore: String(validBefore),
    },
  };
}

async function byPermit2(
  { scheme, asset, payTo, amount, chainId, extra }: Offer,
  signer: TrialSigner,
  deadline: bigint,
  contracts: SchemeContracts,
): Promise<JsonObject> {
  const facilitator = readAddress(extra['facilitatorAddress']) ?? zeroAddress;
  const isUpto = scheme === 'upto';
  const signed = {
    scheme,
    method: 'permit2',
    signature: '0x',
    sponsoredPermit: undefined,
    from: signer.address,
    token: asset,
    amount,
    deadline,
    nonce: BigInt(signer.nonce),
    witnessTo: payTo,
    witnessValidAfter: 0n,
    spender: isUpto ? contracts.uptoProxy : contracts.permit2Proxy,
  } satisfies Permit2Authorization;
  const digest: Hex = isUpto
    ? uptoDigest({ ...signed, scheme: 'upto', facilitator }, chainId)
    : permit2Digest(signed, chainId);
  return {
    signature: await signer.sign(digest),
    permit2Authorization: {
      from: signed.from,
      spender: signed.spender,
      nonce: String(signed.nonce),
      deadline: String(deadline),
      permitted: { token: asset, amount: String(amount) },
      witness: { to: payTo, validAfter: '0', ...(isUpto && { facilitator }) },
    },
  };
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
