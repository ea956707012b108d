import { type Address, type Hex, isAddress } from 'viem';
import type { Reason } from '../reasons.js';
import { chainIdOf, chainIdOfV1Name } from './network.js';
import type {
  VersionRules,
  Eip3009Claim,
  Payment,
  Permit2Claim,
  Requirements,
  SponsoredPermitClaim,
} from './payment.js';
import {
  isJsonObject,
  isShortText,
  type JsonObject,
  readAddress,
  readBytes,
  readInteger,
  readOptionalObject,
  SIGNATURE_MAX_BYTES,
  TOKEN_NAME_MAX,
  TOKEN_VERSION_MAX,
} from './wire-values.js';

/** The two parts every verify and settle request has; their content is not looked at yet. */
export interface PaymentEnvelope {
  readonly x402Version: unknown;
  readonly paymentPayload: JsonObject;
  readonly paymentRequirements: JsonObject;
}

/** Whom and what an answer names, even when the payment could not be parsed. */
export interface ResponseEcho {
  readonly networkAsSent: string;
  readonly payerAsSent: string | undefined;
}

export type ParsedPayment =
  | { readonly ok: true; readonly payment: Payment }
  | { readonly ok: false; readonly reason: Reason; readonly correspondent: ResponseEcho };

/** Longer than any CAIP-2 name (41 characters) or V1 name; what is longer is not repeated. */
const NETWORK_ECHO_MAX_CHARACTERS = 64;

/**
 * A body is an envelope when it is a JSON object with an object under both names. Whatever is wrong
 * inside is then answered as data.
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
 * @param versions - the protocol versions this endpoint answers; a payload of another is refused.
 * @param isServed - whether this deployment serves a chain.
 */
export function parsePayment(
  envelope: PaymentEnvelope,
  versions: readonly (1 | 2)[],
  isServed: (chainId: number) => boolean,
): ParsedPayment {
  const { paymentPayload: payload, paymentRequirements } = envelope;
  const correspondent = readCorrespondent(payload, paymentRequirements);
  const refuse = (reason: Reason): ParsedPayment => ({ ok: false, reason, correspondent });

  const version = payload['x402Version'];
  if (version !== 1 && version !== 2) return refuse('invalid_x402_version');
  if (!versions.includes(version)) return refuse('invalid_x402_version');
  if (envelope.x402Version !== undefined && envelope.x402Version !== version) {
    return refuse('invalid_x402_version');
  }

  if (typeof paymentRequirements['scheme'] !== 'string') {
    return refuse('invalid_payment_requirements');
  }
  if (paymentRequirements['scheme'] !== 'exact') return refuse('unsupported_scheme');
  const networkAsSent = paymentRequirements['network'];
  if (typeof networkAsSent !== 'string') return refuse('invalid_payment_requirements');
  const chainIdOfName = version === 1 ? chainIdOfV1Name : chainIdOf;
  const chainId = chainIdOfName(networkAsSent);
  if (chainId === undefined || !isServed(chainId)) return refuse('invalid_network');

  const requirements = readRequirements(paymentRequirements, version, chainId, networkAsSent);
  if (requirements === undefined) return refuse('invalid_payment_requirements');

  const accepted = version === 1 ? payload : readOptionalObject(payload['accepted']);
  const claim = accepted && readClaim(payload, version);
  if (accepted === undefined || claim === undefined) return refuse('invalid_payload');

  const acceptedNetwork = accepted['network'];
  const dialect: VersionRules = {
    x402Version: version,
    isAcceptedNetworkKnown:
      version === 2 ||
      (typeof acceptedNetwork === 'string' && chainIdOfV1Name(acceptedNetwork) !== undefined),
    valueMismatchReason:
      version === 1
        ? 'invalid_exact_evm_authorization_value'
        : 'invalid_exact_evm_payload_authorization_value_mismatch',
  };
  return {
    ok: true,
    payment: {
      requirements,
      accepted: { scheme: accepted['scheme'], network: acceptedNetwork },
      claim,
      dialect,
      ...correspondent,
    },
  };
}

/** What an answer repeats of a request: the network in the asker's own form, and the payer as sent. */
function readCorrespondent(payload: JsonObject, requirements: JsonObject): ResponseEcho {
  const claimed = readOptionalObject(payload['accepted'])?.['network'] ?? payload['network'];
  const inner = readOptionalObject(payload['payload']);
  const from =
    readOptionalObject(inner?.['permit2Authorization'])?.['from'] ??
    readOptionalObject(inner?.['authorization'])?.['from'];
  return {
    networkAsSent: readEcho(claimed) ?? readEcho(requirements['network']) ?? '',
    payerAsSent: typeof from === 'string' && readAddress(from) !== undefined ? from : undefined,
  };
}

function readEcho(network: unknown): string | undefined {
  return isShortText(network, NETWORK_ECHO_MAX_CHARACTERS) ? network : undefined;
}

function readRequirements(
  sent: JsonObject,
  version: 1 | 2,
  chainId: number,
  networkAsSent: string,
): Requirements | undefined {
  const asset = readAddress(sent['asset']);
  const payTo = readAddress(sent['payTo']);
  const amount = readInteger(sent[version === 1 ? 'maxAmountRequired' : 'amount']);
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

/** What is no text is refused where the domain is needed, as the reference does. */
function isTooLong(value: unknown, most: number): boolean {
  return typeof value === 'string' && !isShortText(value, most);
}

/** Permit2 is chosen by the payload's shape, never by `extra.assetTransferMethod` (V2 only). */
function readClaim(payload: JsonObject, version: 1 | 2): Eip3009Claim | Permit2Claim | undefined {
  const inner = readOptionalObject(payload['payload']);
  if (inner === undefined || typeof inner['signature'] !== 'string') return undefined;
  const signature = readBytes(inner['signature'], SIGNATURE_MAX_BYTES);
  if (version === 2 && Object.hasOwn(inner, 'permit2Authorization')) {
    return readPermit2(inner, signature, payload);
  }
  return readEip3009(inner, signature);
}

function readEip3009(inner: JsonObject, signature: Hex | undefined): Eip3009Claim | undefined {
  const sent = readOptionalObject(inner['authorization']);
  if (sent === undefined) return undefined;
  const { from, to, nonce } = sent;
  const value = readInteger(sent['value']);
  const validAfter = readInteger(sent['validAfter']);
  const validBefore = readInteger(sent['validBefore']);
  if (value === undefined || validAfter === undefined || validBefore === undefined) {
    return undefined;
  }
  const nonceBytes = readBytes(nonce, 32);
  return {
    method: 'eip3009',
    from: readAddress(from),
    to: readAddress(to),
    value,
    validAfter,
    validBefore,
    nonce: nonceBytes?.length === 66 ? nonceBytes : undefined,
    hasValidChecksums: [from, to].every((one) => typeof one === 'string' && isAddress(one)),
    signature,
  };
}

function readPermit2(
  inner: JsonObject,
  signature: Hex | undefined,
  payload: JsonObject,
): Permit2Claim | undefined {
  const sent = readOptionalObject(inner['permit2Authorization']);
  const permitted = readOptionalObject(sent?.['permitted']);
  const witness = readOptionalObject(sent?.['witness']);
  if (sent === undefined || permitted === undefined || witness === undefined) return undefined;
  const addresses = readAll(readAddress, {
    from: sent['from'],
    token: permitted['token'],
    spender: sent['spender'],
    witnessTo: witness['to'],
  });
  const integers = readAll(readInteger, {
    amount: permitted['amount'],
    nonce: sent['nonce'],
    deadline: sent['deadline'],
    witnessValidAfter: witness['validAfter'],
  });
  if (addresses === undefined || integers === undefined) return undefined;
  return {
    method: 'permit2',
    ...addresses,
    ...integers,
    signature,
    sponsoredPermit: readSponsoredPermit(payload),
  };
}

/** Reads every field with one reader; `undefined` when any of them is not of its form. */
function readAll<Name extends string, Value extends Address | bigint>(
  read: (value: unknown) => Value | undefined,
  fields: Readonly<Record<Name, unknown>>,
): Record<Name, Value> | undefined {
  const values: Partial<Record<Name, Value>> = {};
  for (const name of Object.keys(fields) as Name[]) {
    const value = read(fields[name]);
    if (value === undefined) return undefined;
    values[name] = value;
  }
  return values as Record<Name, Value>;
}

/** Complete means all eight fields are truthy: a numeric nonce 0 counts as absent, the string "0" does not. */
function readSponsoredPermit(payload: JsonObject): SponsoredPermitClaim | undefined {
  const extensions = readOptionalObject(payload['extensions']);
  const info = readOptionalObject(
    readOptionalObject(extensions?.['eip2612GasSponsoring'])?.['info'],
  );
  if (info === undefined) return undefined;
  const { from, asset, spender, amount, nonce, deadline, signature, version } = info;
  const claim = { from, asset, spender, amount, nonce, deadline, signature, version };
  return Object.values(claim).every(Boolean) ? claim : undefined;
}
