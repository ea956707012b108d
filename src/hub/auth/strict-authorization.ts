import { type Address, hashTypedData, type Hex } from 'viem';
import { z } from 'zod';
import {
  STRICT_LIFETIME_MAX_SECONDS,
  STRICT_SCHEME,
  STRICT_TYPES,
  strictDomain,
} from '../../protocol/hub/hub-messages.js';
import { EVM_ADDRESS, HEX_32_BYTES } from '../../protocol/payment/wire-values.js';
import { normalized, type RecoverSigner } from './hub-signature.js';
import { invalid, type SignatureValidity } from './signature-validity.js';

export { STRICT_TYPES, strictDomain };

/** The parts of a strict signature in the header. */
export interface StrictAuthorization {
  readonly owner: Address;
  /** Hash of the body as sent, 32 bytes; of an empty text without a body. */
  readonly bodySha256: Hex;
  /** Unix seconds; the signature is invalid afterwards. */
  readonly expiry: number;
  /** 32 bytes, never used before by this owner. */
  readonly nonce: Hex;
  readonly signature: string;
}

/** The parts that the request itself has. */
interface SignedRequest {
  readonly method: string;
  /** With the query string, as sent. */
  readonly path: string;
}

/** Of what is signed over, in lower case. */
export const addressField = z
  .string()
  .regex(EVM_ADDRESS)
  .transform((text) => text.toLowerCase() as Address);
/** 32 bytes. */
export const wordField = z
  .string()
  .regex(HEX_32_BYTES)
  .transform((text) => text.toLowerCase() as Hex);

const Envelope = z.object({
  owner: addressField,
  bodySha256: wordField,
  expiry: z.number().int().nonnegative(),
  nonce: wordField,
  signature: z.string(),
});

/**
 * @param header - `Hub-EIP712 <base64url of JSON>`.
 * @returns `malformed` for a strict form that cannot be read, `undefined` for another form.
 */
export function readStrictAuthorization(
  header: string,
): StrictAuthorization | 'malformed' | undefined {
  const [scheme, encoded = '', ...rest] = header.split(' ');
  if (scheme?.toLowerCase() !== STRICT_SCHEME.toLowerCase()) return undefined;
  if (rest.length > 0) return 'malformed';
  try {
    const text = Buffer.from(encoded, 'base64url').toString('utf8');
    const parsed = Envelope.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : 'malformed';
  } catch {
    return 'malformed';
  }
}

/**
 * Everything except the nonce and the body, which are checked elsewhere.
 *
 * @param now - Unix seconds.
 */
export function verifyStrict(
  authorization: StrictAuthorization,
  request: SignedRequest,
  hub: Address,
  recover: RecoverSigner,
  now: number,
): SignatureValidity {
  const { owner, bodySha256, expiry, nonce } = authorization;
  if (expiry <= now) return invalid('auth expired');
  if (expiry > now + STRICT_LIFETIME_MAX_SECONDS) {
    return invalid(`auth expiry is more than ${STRICT_LIFETIME_MAX_SECONDS}s ahead`);
  }
  const digest = hashTypedData({
    domain: strictDomain(hub),
    types: STRICT_TYPES,
    primaryType: 'HubRequest',
    message: { ...request, owner, bodySha256, expiry: BigInt(expiry), nonce },
  });
  const signature = normalized(authorization.signature);
  const signer = signature === undefined ? undefined : recover(digest, signature);
  return signer?.toLowerCase() === owner
    ? { isValid: true, signer: owner }
    : invalid('verify auth: signature does not match owner');
}
