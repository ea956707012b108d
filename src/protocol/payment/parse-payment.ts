import { type Reason, REASONS } from '../reasons.js';
import type { ReasonFacts } from '../reasons/reason-facts.js';
import { payerIn, schemeNamed } from '../schemes/registry.js';
import { readBuilderCodes } from './builder-code.js';
import { chainIdOf, chainIdOfV1Name } from './network.js';
import type { Payment, Purpose, Requirements, VersionRules } from './payment.js';
import { readPaymentIdentifier } from './payment-identifier.js';
import {
  isJsonObject,
  isShortText,
  type JsonObject,
  readAddress,
  readInteger,
  readOptionalObject,
  TOKEN_NAME_MAX,
  TOKEN_VERSION_MAX,
} from './wire-values.js';

/** The two parts of every verify and settle request, before their content is read. */
export interface PaymentEnvelope {
  readonly x402Version: unknown;
  readonly paymentPayload: JsonObject;
  readonly paymentRequirements: JsonObject;
}

/** The payer and network that an answer names, even when the payment could not be parsed. */
export interface ResponseEcho {
  readonly networkAsSent: string;
  readonly payerAsSent: string | undefined;
}

export type ParsedPayment =
  | { readonly ok: true; readonly payment: Payment }
  | { readonly ok: false; readonly reason: Reason; readonly correspondent: ResponseEcho };

/** Longer than any CAIP-2 name (41 characters) or V1 name; longer texts are not repeated. */
const NETWORK_ECHO_MAX_CHARACTERS = 64;

/**
 * A body is an envelope when it is a JSON object with an object under both names. Any fault inside is answered as data.
 */
export function readEnvelope(body: unknown): PaymentEnvelope | undefined {
  if (!isJsonObject(body)) return undefined;
  const { x402Version, paymentPayload, paymentRequirements } = body;
  return isJsonObject(paymentPayload) && isJsonObject(paymentRequirements)
    ? { x402Version, paymentPayload, paymentRequirements }
    : undefined;
}

/**
 * Maps a V1 or V2 request to a payment (x402 specification V1 §5, V2 §5). Unknown fields are
 * ignored, as the reference's schemas do. Where the reference throws, the reason is the generic code
 * of the specification (V2 §9).
 *
 * @param versions - the protocol versions of this endpoint; a payload of another one is refused.
 * @param isServed - whether this deployment serves a chain.
 * @param purpose - the purpose of the request.
 */
export function parsePayment(
  envelope: PaymentEnvelope,
  versions: readonly (1 | 2)[],
  isServed: (chainId: number) => boolean,
  purpose: Purpose = 'settle',
): ParsedPayment {
  const { paymentPayload: payload, paymentRequirements } = envelope;
  const correspondent = readCorrespondent(payload, paymentRequirements);
  const refuse = (reason: Reason): ParsedPayment => {
    const facts: ReasonFacts = REASONS[reason];
    const asked =
      facts.isWithoutPayer === undefined
        ? correspondent
        : { ...correspondent, payerAsSent: undefined };
    return { ok: false, reason, correspondent: asked };
  };

  const version = payload['x402Version'];
  if (version !== 1 && version !== 2) return refuse('invalid_x402_version');
  if (!versions.includes(version)) return refuse('invalid_x402_version');
  if (envelope.x402Version !== undefined && envelope.x402Version !== version) {
    return refuse('invalid_x402_version');
  }

  if (typeof paymentRequirements['scheme'] !== 'string') {
    return refuse('invalid_payment_requirements');
  }
  const scheme = schemeNamed(paymentRequirements['scheme'], version);
  if (scheme === undefined) return refuse('unsupported_scheme');
  const networkAsSent = paymentRequirements['network'];
  if (typeof networkAsSent !== 'string') return refuse('invalid_payment_requirements');
  const chainIdOfName = version === 1 ? chainIdOfV1Name : chainIdOf;
  const chainId = chainIdOfName(networkAsSent);
  if (chainId === undefined || !isServed(chainId)) return refuse('invalid_network');

  const required = readRequirements(paymentRequirements, version, chainId, {
    networkAsSent,
    readAmount: (sent) => (scheme.readAmount ? scheme.readAmount(sent) : readInteger(sent)),
  });
  if (required === undefined) return refuse('invalid_payment_requirements');

  const accepted = version === 1 ? payload : readOptionalObject(payload['accepted']);
  const claim = accepted && scheme.readClaim(payload, version, paymentRequirements, purpose);
  if (accepted === undefined || claim === undefined) {
    return refuse(scheme.unreadable?.(payload, purpose) ?? 'invalid_payload');
  }

  const label = version === 2 ? readPaymentIdentifier(payload) : undefined;
  const builderCodes = readBuilderCodes(payload, version);
  const acceptedNetwork = accepted['network'];
  const dialect: VersionRules = {
    x402Version: version,
    isAcceptedNetworkKnown:
      version === 2 ||
      (typeof acceptedNetwork === 'string' && chainIdOfV1Name(acceptedNetwork) !== undefined),
  };
  return {
    ok: true,
    payment: {
      purpose,
      requirements: { ...required, ...scheme.ownTermsOf?.(claim) },
      accepted: { scheme: accepted['scheme'], network: acceptedNetwork },
      claim,
      dialect,
      ...correspondent,
      ...(label !== undefined && { label }),
      ...(builderCodes && { builderCodes }),
    },
  };
}

/** The fields of a request that an answer repeats: the network in the caller's own form, and the payer as sent. */
function readCorrespondent(payload: JsonObject, requirements: JsonObject): ResponseEcho {
  const claimed = readOptionalObject(payload['accepted'])?.['network'] ?? payload['network'];
  const inner = readOptionalObject(payload['payload']);
  const from = inner && payerIn(inner);
  return {
    networkAsSent: readEcho(claimed) ?? readEcho(requirements['network']) ?? '',
    payerAsSent: typeof from === 'string' && readAddress(from) !== undefined ? from : undefined,
  };
}

function readEcho(network: unknown): string | undefined {
  return isShortText(network, NETWORK_ECHO_MAX_CHARACTERS) ? network : undefined;
}

interface RequirementReaders {
  readonly networkAsSent: string;
  readonly readAmount: (sent: unknown) => bigint | undefined;
}

function readRequirements(
  sent: JsonObject,
  version: 1 | 2,
  chainId: number,
  { networkAsSent, readAmount }: RequirementReaders,
): Requirements | undefined {
  const asset = readAddress(sent['asset']);
  const payTo = readAddress(sent['payTo']);
  const amount = readAmount(sent[version === 1 ? 'maxAmountRequired' : 'amount']);
  if (asset === undefined || payTo === undefined || amount === undefined) return undefined;
  const extra = readOptionalObject(sent['extra']);
  const [name, tokenVersion] = [extra?.['name'], extra?.['version']];
  if (isTooLong(name, TOKEN_NAME_MAX) || isTooLong(tokenVersion, TOKEN_VERSION_MAX)) {
    return undefined;
  }
  return {
    network: `eip155:${chainId}`,
    chainId,
    asset,
    payTo,
    amount,
    tokenName: name,
    tokenVersion,
    networkAsSent,
  };
}

/** A value that is not text passes: it is refused where the domain is needed, as the reference does. */
function isTooLong(value: unknown, most: number): boolean {
  return typeof value === 'string' && !isShortText(value, most);
}
