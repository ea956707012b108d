import type { Address } from 'viem';
import { keccak256 } from 'viem';
import { z } from 'zod';

/** A prefix that separates the hash from owners of other kinds. */
const DOMAIN = 'x402-wallet/passkey/1:';
const COORDINATE_BYTES = 32;

const base64url = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\w-]+$/, 'must be base64url');

/** Characters of base64url: WebAuthn has at most 1023 bytes. */
export const CREDENTIAL_ID_MAX = 1364;

/** A passkey as stored: the data to verify its signatures, and none about its holder. */
export const StoredPasskey = z.object({
  id: base64url(CREDENTIAL_ID_MAX),
  /** COSE, base64url. */
  publicKey: base64url(512),
  /** The counter at its first use; 0 if it does not count. */
  counter: z.int().min(0),
});
export type StoredPasskey = Readonly<z.infer<typeof StoredPasskey>>;

/** The answer of an authenticator when it signs (WebAuthn, section 5.2.2), as JSON with base64url values. */
export interface Assertion {
  readonly id: string;
  readonly authenticatorData: string;
  readonly clientDataJSON: string;
  readonly signature: string;
}

/** The answer of an authenticator when it makes a key (section 5.2.1), as JSON with base64url values. */
export interface Attestation {
  readonly id: string;
  readonly attestationObject: string;
  readonly clientDataJSON: string;
}

/**
 * The owner address of a key on P-256, from a hash that no Ethereum address uses. It follows from the key, so no record
 * can give an owner another key.
 */
export function ownerOfPoint(x: Uint8Array, y: Uint8Array): Address {
  if (x.length !== COORDINATE_BYTES || y.length !== COORDINATE_BYTES) {
    throw new RangeError('a point on P-256 has two coordinates of 32 bytes');
  }
  const hash = keccak256(Buffer.concat([Buffer.from(DOMAIN), x, y]));
  return `0x${hash.slice(-40)}`;
}
