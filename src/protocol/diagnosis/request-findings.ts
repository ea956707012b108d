import { caip2Of, chainIdOf, chainIdOfV1Name, v1NameOf } from '../payment/network.js';
import type { PaymentEnvelope } from '../payment/parse-payment.js';
import {
  isJsonObject,
  isShortText,
  readBytes,
  readInteger,
  readOptionalObject,
  SIGNATURE_MAX_BYTES,
  TOKEN_NAME_MAX,
  TOKEN_VERSION_MAX,
} from '../payment/wire-values.js';
import type { Reason } from '../reasons.js';
import { addressAt, objectAt } from '../schemes/field-rules.js';
import { allSchemes, schemeNamed } from '../schemes/registry.js';
import type { Scheme } from '../schemes/scheme.js';
import { firstBrokenField } from './fields.js';
import type { FieldRule, Finding } from './finding.js';

/** What an endpoint answers and a deployment serves. */
export interface Served {
  readonly versions: readonly (1 | 2)[];
  readonly chainIds: readonly number[];
}

const isText = (value: unknown): boolean => typeof value === 'string';

const ATOMIC_UNITS = 'atomic units: a whole number as decimal text';

/** More are not listed in a message. */
const NETWORKS_NAMED_MOST = 4;

/** What keeps a body from being a request at all. */
export function envelopeFinding(body: unknown): Finding {
  if (!isJsonObject(body)) {
    return {
      path: 'body',
      expected: 'a JSON object with the objects paymentPayload and paymentRequirements',
      got: body,
    };
  }
  for (const path of ['paymentPayload', 'paymentRequirements']) {
    const got = body[path];
    if (isJsonObject(got)) continue;
    const isEncoded = typeof got === 'string' || typeof body['paymentHeader'] === 'string';
    return {
      path,
      expected: 'an object',
      got,
      ...(isEncoded && { fix: 'Decode the payment header first: base64, then JSON, once each.' }),
      ...(path === 'paymentRequirements' &&
        Array.isArray(got) && { fix: 'Send the one entry of accepts that was paid for.' }),
    };
  }
  return { path: 'body', expected: 'a payment', got: body };
}

type Explain = (envelope: PaymentEnvelope, served: Served) => Finding | undefined;

const EXPLANATIONS: Readonly<Partial<Record<Reason, Explain>>> = {
  invalid_x402_version: (envelope, { versions }) => versionFinding(envelope, versions),
  unsupported_scheme: schemeFinding,
  invalid_network: (envelope, { chainIds }) => networkFinding(envelope, chainIds),
  invalid_payment_requirements: requirementsFinding,
  invalid_payload: payloadFinding,
  unsupported_payload_type: payloadFinding,
};

/**
 * Why a signature cannot be read; `undefined` for one that can, whoever it is by. A payment with such a one is refused
 * for its signature, as the reference does, and only the request as it came shows what was sent.
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

/** What parsing refused; `undefined` for reasons that come later. */
export function requestFinding(
  reason: Reason,
  envelope: PaymentEnvelope,
  served: Served,
): Finding | undefined {
  return EXPLANATIONS[reason]?.(envelope, served);
}

const versionOf = ({ paymentPayload }: PaymentEnvelope): 1 | 2 =>
  paymentPayload['x402Version'] === 1 ? 1 : 2;

/** The scheme that reads the request; the name may be anything. */
function schemeOf(envelope: PaymentEnvelope): Scheme | undefined {
  const name = envelope.paymentRequirements['scheme'];
  return typeof name === 'string' ? schemeNamed(name, versionOf(envelope)) : undefined;
}

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

/** A version that came as text reads like the number that is expected. */
function numberOf(got: unknown, expected: string): Pick<Finding, 'expected' | 'fix'> {
  return typeof got === 'string'
    ? { expected: `the number ${expected}`, fix: 'It came as text: send it without quotes.' }
    : { expected };
}

function schemeFinding(envelope: PaymentEnvelope): Finding {
  const version = versionOf(envelope);
  const names = allSchemes().filter(({ versions }) => versions.includes(version));
  return {
    path: 'paymentRequirements.scheme',
    expected: names.map(({ name }) => name).join(' or '),
    got: envelope.paymentRequirements['scheme'],
  };
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

function requirementsFinding(envelope: PaymentEnvelope): Finding | undefined {
  const version = versionOf(envelope);
  const { paymentRequirements } = envelope;
  const scheme = schemeOf(envelope);
  const readAmount = (value: unknown): bigint | undefined =>
    scheme?.readAmount === undefined ? readInteger(value) : scheme.readAmount(value);
  const [amount, other] =
    version === 1 ? ['maxAmountRequired', 'amount'] : ['amount', 'maxAmountRequired'];
  const asset = addressAt('asset');
  const rules: readonly FieldRule[] = [
    { path: ['scheme'], expected: 'the name of a scheme', isGood: isText },
    { path: ['network'], expected: 'the name of a network', isGood: isText },
    { ...asset, expected: `${asset.expected} of the token` },
    addressAt('payTo'),
    {
      path: [amount],
      expected: ATOMIC_UNITS,
      isGood: (value) => readAmount(value) !== undefined,
      ...(other in paymentRequirements && { fix: `Version ${version} names it ${amount}.` }),
    },
    { path: ['extra', 'name'], ...textOfAtMost(TOKEN_NAME_MAX) },
    { path: ['extra', 'version'], ...textOfAtMost(TOKEN_VERSION_MAX) },
  ];
  // What is absent is not too long.
  const hasExtra = isJsonObject(paymentRequirements['extra']);
  const asked = hasExtra ? rules : rules.filter(({ path }) => path.length === 1);
  return firstBrokenField('paymentRequirements', paymentRequirements, asked);
}

const textOfAtMost = (most: number): Omit<FieldRule, 'path'> => ({
  expected: `at most ${most} characters`,
  isGood: (value) => typeof value !== 'string' || isShortText(value, most),
});

function payloadFinding(envelope: PaymentEnvelope): Finding | undefined {
  const version = versionOf(envelope);
  const { paymentPayload } = envelope;
  const rules: FieldRule[] = [];
  if (version === 2) {
    const fix = 'Version 2 repeats the accepted requirements in the payment.';
    rules.push({ ...objectAt('accepted'), fix });
  }
  const scheme = schemeOf(envelope);
  const inner = readOptionalObject(paymentPayload['payload']);
  if (scheme !== undefined) rules.push(...scheme.claimFields(inner ?? {}, version));
  return firstBrokenField('paymentPayload', paymentPayload, rules);
}
