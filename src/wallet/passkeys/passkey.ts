import type { Address } from 'viem';
import { keccak256 } from 'viem';
import { z } from 'zod';

/** What owners of other kinds cannot be the hash of. */
const DOMAIN = 'x402-wallet/passkey/1:';
const COORDINATE_BYTES = 32;

const base64url = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\w-]+$/, 'must be base64url');

/** A passkey as it is kept: what is needed to check what it signs, and nothing of whose it is. */
export const StoredPasskey = z.object({
  /** Base64url. WebAuthn has at most 1023 bytes. */
  id: base64url(1364),
  /** COSE, base64url. */
  publicKey: base64url(512),
  /** Of its first use; 0 of those that do not count. */
  counter: z.int().min(0),
});
export type StoredPasskey = Readonly<z.infer<typeof StoredPasskey>>;

/** What an authenticator answers when it signs (WebAuthn, section 5.2.2), as JSON. */
export const Assertion = z.strictObject({
  id: base64url(1364),
  authenticatorData: base64url(1024),
  clientDataJSON: base64url(2048),
  signature: base64url(256),
});
export type Assertion = Readonly<z.infer<typeof Assertion>>;

/** What an authenticator answers when it makes a key (section 5.2.1), as JSON. */
export const Attestation = z.strictObject({
  id: base64url(1364),
  attestationObject: base64url(4096),
  clientDataJSON: base64url(2048),
});
export type Attestation = Readonly<z.infer<typeof Attestation>>;

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
