import { caip2Of, chainIdOf, chainIdOfV1Name, v1NameOf } from '../payment/network.js';
import type { PaymentEnvelope } from '../payment/parse-payment.js';
import {
  isShortText,
  readBytes,
  readOptionalObject,
  SIGNATURE_MAX_BYTES,
} from '../payment/wire-values.js';
import type { Reason } from '../reasons.js';
import type { Finding } from './finding.js';

/** The versions of an endpoint and the networks of a deployment. */
export interface Served {
  readonly versions: readonly (1 | 2)[];
  readonly chainIds: readonly number[];
}

/** Further networks are not listed in a message. */
const NETWORKS_NAMED_MOST = 4;

type Explain = (envelope: PaymentEnvelope, served: Served) => Finding | undefined;

const EXPLANATIONS: Readonly<Partial<Record<Reason, Explain>>> = {
  invalid_x402_version: (envelope, { versions }) => versionFinding(envelope, versions),
  invalid_network: (envelope, { chainIds }) => networkFinding(envelope, chainIds),
};

/**
 * Why the form of a signature cannot be read; `undefined` for a readable one, valid or not. The reference refuses such
 * a payment for its signature, so the reason does not show the malformed form.
 */
export function unreadSignatureFinding({ paymentPayload }: PaymentEnvelope): Finding | undefined {
  const got = readOptionalObject(paymentPayload['payload'])?.['signature'];
  if (typeof got !== 'string') return undefined;
  const path = 'paymentPayload.payload.signature';
  if (!isShortText(got, 2 + SIGNATURE_MAX_BYTES * 2)) {
    return { path, expected: `at most ${SIGNATURE_MAX_BYTES} bytes` };
  }
  if (readBytes(got) !== undefined) return undefined;
  const fix = /^[0-9a-f]+$/i.test(got)
    ? 'Put 0x before it.'
    : /^0x0x/i.test(got)
      ? 'It has its 0x twice.'
      : undefined;
  const expected = '0x and two hexadecimal digits for each byte';
  return { path, expected, got, ...(fix !== undefined && { fix }) };
}

/** The part of a request that is not served here; `undefined` for reasons about something else. */
export function requestFinding(
  reason: Reason,
  envelope: PaymentEnvelope,
  served: Served,
): Finding | undefined {
  return EXPLANATIONS[reason]?.(envelope, served);
}

const versionOf = ({ paymentPayload }: PaymentEnvelope): 1 | 2 =>
  paymentPayload['x402Version'] === 1 ? 1 : 2;

function versionFinding(envelope: PaymentEnvelope, versions: Served['versions']): Finding {
  const got = envelope.paymentPayload['x402Version'];
  const path = 'paymentPayload.x402Version';
  const expected = versions.join(' or ');
  if (got !== 1 && got !== 2) return { path, ...numberOf(got, expected), got };
  if (!versions.includes(got)) {
    return { path, expected, got, fix: `A payment of version ${got} goes to /v${got}.` };
  }
  const outer = envelope.x402Version;
  return { path: 'x402Version', ...numberOf(outer, `${got}, as in the payload`), got: outer };
}

/** A version sent as text looks like the expected number. */
function numberOf(got: unknown, expected: string): Pick<Finding, 'expected' | 'fix'> {
  return typeof got === 'string'
    ? { expected: `the number ${expected}`, fix: 'It came as text: send it without quotes.' }
    : { expected };
}

function networkFinding(envelope: PaymentEnvelope, chainIds: readonly number[]): Finding {
  const got = envelope.paymentRequirements['network'];
  const version = versionOf(envelope);
  const nameOf = version === 2 ? caip2Of : v1NameOf;
  const names = chainIds.flatMap((chainId) => nameOf(chainId) ?? []);
  const path = 'paymentRequirements.network';
  const expected =
    names.length === 0 || names.length > NETWORKS_NAMED_MOST
      ? 'a network that /supported lists'
      : names.join(' or ');
  const fix = isShortText(got, 64) ? nameOfOtherVersion(got, version) : undefined;
  return { path, expected, got, ...(fix !== undefined && { fix }) };
}

function nameOfOtherVersion(got: string, version: 1 | 2): string | undefined {
  const chainId = version === 2 ? chainIdOfV1Name(got) : chainIdOf(got);
  if (chainId === undefined) return undefined;
  const name = version === 2 ? caip2Of(chainId) : v1NameOf(chainId);
  return name === undefined ? undefined : `Version ${version} calls that network ${name}.`;
}
