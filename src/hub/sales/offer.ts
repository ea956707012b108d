import { createHash } from 'node:crypto';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import { isEvmAddress } from '../../protocol/payment/wire-values.js';
import type { Price } from './price.js';

/** Seconds a buyer has to sign and send its payment. */
const PAYMENT_SECONDS = 300;

/**
 * The requirements of a payment for a file (`PaymentRequirements`, x402 V2 specification §5.1.2).
 * They name the bytes, so that a buyer who accepts them has said what it pays for.
 */
export function requirementsOf(price: Price): JsonObject {
  const { network, asset, amount, payTo, token, contentType, accessSeconds, object } = price;
  return {
    scheme: 'exact',
    network,
    amount: amount.toString(),
    asset,
    payTo,
    maxTimeoutSeconds: PAYMENT_SECONDS,
    extra: {
      ...token,
      sha256: object.sha256,
      size: object.size,
      contentType,
      accessSeconds,
    },
  };
}

/** Whether a buyer has accepted these terms and no others, in whatever order of fields. */
export function isAccepted(accepted: unknown, requirements: JsonObject): boolean {
  return canonical(accepted) === canonical(requirements);
}

/** Bounded by the header it came in. */
function canonical(value: unknown): string {
  if (isEvmAddress(value)) return value.toLowerCase();
  if (typeof value !== 'object' || value === null) {
    return value === undefined ? 'undefined' : JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, of]) => `${JSON.stringify(name)}:${canonical(of)}`).join(',')}}`;
}

/** The body of a 402, and its header `PAYMENT-REQUIRED` (§5.1.1). */
export function paymentRequired(price: Price, publicUrl: string, error: string): JsonObject {
  return {
    x402Version: 2,
    error,
    ...declarationOf(price, publicUrl),
    accepts: [requirementsOf(price)],
  };
}

/**
 * The declaration of a file, for the buyer and for the catalogue (`bazaar`) of the facilitator that
 * settles it.
 */
export function declarationOf(
  price: Price,
  publicUrl: string,
): { readonly resource: JsonObject; readonly extensions: JsonObject } {
  const { id, sha256, size } = price.object;
  return {
    resource: {
      url: resourceUrl(price, publicUrl),
      description: `File ${shortened(id)}, ${size} bytes, SHA-256 ${sha256}`,
      mimeType: price.contentType,
    },
    extensions: { bazaar: { info: { input: INPUT }, schema: INPUT_SCHEMA } },
  };
}

const INPUT = { type: 'http', method: 'GET' };
/** As the stock declaration has it: some facilitators list nothing without. */
const INPUT_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    input: {
      type: 'object',
      properties: {
        type: { type: 'string', const: 'http' },
        method: { type: 'string', enum: ['GET'] },
      },
      required: ['type'],
      additionalProperties: false,
    },
  },
  required: ['input'],
};

const DESCRIBED_NAME_MAX = 100;

function shortened(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]/g, '?');
  return plain.length > DESCRIBED_NAME_MAX ? `${plain.slice(0, DESCRIBED_NAME_MAX)}...` : plain;
}

/** A path for each file: catalogues do not look at queries. A public URL may name `/api`, the hub's part of a host. */
function resourceUrl({ object: { owner, id } }: Price, publicUrl: string): string {
  const base = publicUrl.replace(/\/api$/, '');
  return `${base}/api/download/${encodeURIComponent(owner)}/${encodeURIComponent(id)}`;
}

/** The file and its bytes, as part of a key. */
export function fileTagOf({ owner, id, sha256 }: Price['object']): string {
  return createHash('sha256')
    .update(JSON.stringify([owner, id, sha256]))
    .digest('base64url');
}
