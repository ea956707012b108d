import type { Address, Hex } from 'viem';
import { z } from 'zod';
import { normalized, personalDigest, type RecoverSigner, sha256Hex } from './hub-signature.js';
import { invalid, type SignatureVerdict } from './verdict.js';

/**
 * The `Authorization` header of the original hub's clients, without a scheme: one object, as JSON or as the
 * hex of JSON. It proves who signed it and when, and nothing of the request it comes with: within its time
 * it may be used again, for anything. The strict form mends that.
 */
export interface LegacyAuthorization {
  /** Empty, or `personal_sign`. */
  readonly type: string;
  readonly address: Address;
  /** Unix seconds. */
  readonly time: number;
  /** A label; anything. */
  readonly hash: Buffer;
  readonly signature: string;
  /** A message in the manner of ERC-4361, signed in place of the label and the time. */
  readonly message: string | undefined;
}

const Envelope = z.object({
  type: z.string().default(''),
  addr: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  time: z.number().int().default(0),
  hash: z.string().default(''),
  sign: z.string(),
  msg: z.string().optional(),
});

/** @returns `undefined` for what is neither of the two encodings. */
export function readLegacyAuthorization(header: string): LegacyAuthorization | undefined {
  const isHex = /^(?:[0-9a-fA-F]{2})+$/.test(header);
  const object = parsedObject(isHex ? Buffer.from(header, 'hex').toString('utf8') : header);
  const parsed = Envelope.safeParse(object);
  if (!parsed.success) return undefined;
  const { type, addr, time, hash, sign, msg } = parsed.data;
  return {
    type,
    address: addr.toLowerCase() as Address,
    time,
    hash: bytesOf(hash),
    signature: `0x${bytesOf(sign).toString('hex')}`,
    message: msg === '' ? undefined : msg,
  };
}

/**
 * @param now - Unix seconds.
 * @param windowSeconds - how far the time may be off, either way.
 */
export function verifyLegacy(
  authorization: LegacyAuthorization,
  recover: RecoverSigner,
  now: number,
  windowSeconds: number,
): SignatureVerdict {
  const signed = signedPart(authorization);
  if ('problem' in signed) return invalid(`verify auth: ${signed.problem}`);
  const signature = normalized(authorization.signature);
  const signer = signature === undefined ? undefined : recover(signed.digest, signature);
  if (signer?.toLowerCase() !== authorization.address) {
    return invalid('verify auth: signature does not match address');
  }
  const delta = now - signed.time;
  if (Math.abs(delta) > windowSeconds) {
    return invalid(`auth timestamp out of window (delta=${delta}s, max=${windowSeconds}s)`);
  }
  return { isValid: true, signer: authorization.address };
}

type SignedPart = { readonly digest: Hex; readonly time: number } | { readonly problem: string };

function signedPart(authorization: LegacyAuthorization): SignedPart {
  const { type, time, hash, message } = authorization;
  if (message !== undefined) return signedMessage(message, authorization.address);
  const bytes = Buffer.concat([hash, bigEndian(time)]);
  if (type === '') return { digest: sha256Hex(bytes), time };
  if (type === 'personal_sign') return { digest: personalDigest(bytes), time };
  return { problem: 'unknown type' };
}

/** Two addresses, or two times, would leave open which of them was meant. */
function signedMessage(message: string, address: Address): SignedPart {
  const lines = message.split('\n').map((line) => line.replace(/\r$/, ''));
  const addresses = lines.filter((line) => /^0x[0-9a-fA-F]{40}$/.test(line));
  if (addresses.length !== 1 || addresses[0]?.toLowerCase() !== address) {
    return { problem: 'the message does not name the address once' };
  }
  const times = lines.filter((line) => line.startsWith('Issued At:'));
  const issuedAt = Date.parse(times[0]?.slice('Issued At:'.length).trim() ?? '');
  if (times.length !== 1 || !RFC_3339.test(times[0] ?? '') || Number.isNaN(issuedAt)) {
    return { problem: 'the message does not say once when it was issued' };
  }
  return { digest: personalDigest(Buffer.from(message)), time: Math.floor(issuedAt / 1000) };
}

const RFC_3339 = /^Issued At:\s*\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)\s*$/;

function bigEndian(seconds: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(seconds));
  return bytes;
}

/** 0x-hex in the JSON encoding, base64 in the hex encoding. */
function bytesOf(text: string): Buffer {
  return /^0x(?:[0-9a-fA-F]{2})*$/.test(text)
    ? Buffer.from(text.slice(2), 'hex')
    : Buffer.from(text, 'base64');
}

function parsedObject(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value !== 'object' || value === null) return undefined;
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [name.toLowerCase(), field as unknown]),
    );
  } catch {
    return undefined;
  }
}
