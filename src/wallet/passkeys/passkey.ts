import type { Address } from 'viem';
import { keccak256 } from 'viem';
import { z } from 'zod';

/** A prefix that keeps the hash apart from owners of other kinds. */
const DOMAIN = 'x402-wallet/passkey/1:';
const COORDINATE_BYTES = 32;

const base64url = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\w-]+$/, 'must be base64url');

/** Characters of base64url: WebAuthn has at most 1023 bytes. */
export const CREDENTIAL_ID_MAX = 1364;

/** A passkey as it is kept: what is needed to check what it signs, and nothing of whose it is. */
export const StoredPasskey = z.object({
  id: base64url(CREDENTIAL_ID_MAX),
  /** COSE, base64url. */
  publicKey: base64url(512),
  /** Of its first use; 0 of those that do not count. */
  counter: z.int().min(0),
});
export type StoredPasskey = Readonly<z.infer<typeof StoredPasskey>>;

/** What an authenticator answers when it signs (WebAuthn, section 5.2.2), as JSON: each in base64url. */
export interface Assertion {
  readonly id: string;
  readonly authenticatorData: string;
  readonly clientDataJSON: string;
  readonly signature: string;
}

/** What an authenticator answers when it makes a key (section 5.2.1), as JSON: each in base64url. */
export interface Attestation {
  readonly id: string;
  readonly attestationObject: string;
  readonly clientDataJSON: string;
}

/**
 * The owner that a key on P-256 is: as an address is of a key on secp256k1, and of a hash that no address is made by.
 * It follows from the key, so that no record can give an owner another key.
 */
export function ownerOfPoint(x: Uint8Array, y: Uint8Array): Address {
  if (x.length !== COORDINATE_BYTES || y.length !== COORDINATE_BYTES) {
    throw new RangeError('a point on P-256 has two coordinates of 32 bytes');
  }
  const hash = keccak256(Buffer.concat([Buffer.from(DOMAIN), x, y]));
  return `0x${hash.slice(-40)}`;
}
