import type { Address, Hex } from 'viem';
import { z } from 'zod';
import { EVM_ADDRESS } from '../../protocol/payment/wire-values.js';
import { normalized, personalDigest, type RecoverSigner, sha256Hex } from './hub-signature.js';
import { isFor, readSignInMessage } from './sign-in-message.js';
import { invalid, type SignatureValidity } from './signature-validity.js';

/**
 * The `Authorization` header of the original hub's clients, without a scheme: one object, as JSON or as hex of JSON. It
 * proves the signer and the time, but nothing of the request: within its time it may be reused for anything. With a
 * label it does not even name the hub; with a message it does. The strict form has neither weakness.
 */
interface LegacyAuthorization {
  /** Empty, or `personal_sign`. */
  readonly type: string;
  readonly address: Address;
  /** Unix seconds. */
  readonly time: number;
  /** A label of any content. */
  readonly hash: Buffer;
  readonly signature: string;
  /** A sign-in message (ERC-4361), signed in place of the label and the time. */
  readonly message: string | undefined;
}

const Envelope = z.object({
  type: z.string().default(''),
  addr: z.string().regex(EVM_ADDRESS),
  time: z.number().int().default(0),
  hash: z.string().default(''),
  sign: z.string(),
  msg: z.string().optional(),
});

/** @returns `undefined` for any other encoding. */
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

/** Rules for a legacy authorization. */
interface LegacyRules {
  readonly recover: RecoverSigner;
  /** Unix seconds. */
  readonly now: number;
  /** The allowed difference in time, both ways. */
  readonly windowSeconds: number;
  /** The site that a message must name; without it no message is accepted. */
  readonly site: URL | undefined;
}

export function verifyLegacy(
  authorization: LegacyAuthorization,
  rules: LegacyRules,
): SignatureValidity {
  const signed = signedPart(authorization, rules);
  if ('problem' in signed) return invalid(`verify auth: ${signed.problem}`);
  const signature = normalized(authorization.signature);
  const signer = signature === undefined ? undefined : rules.recover(signed.digest, signature);
  if (signer?.toLowerCase() !== authorization.address) {
    return invalid('verify auth: signature does not match address');
  }
  const delta = rules.now - signed.time;
  if (Math.abs(delta) > rules.windowSeconds) {
    return invalid(`auth timestamp out of window (delta=${delta}s, max=${rules.windowSeconds}s)`);
  }
  return { isValid: true, signer: authorization.address };
}

type SignedPart = { readonly digest: Hex; readonly time: number } | { readonly problem: string };

function signedPart(authorization: LegacyAuthorization, rules: LegacyRules): SignedPart {
  const { type, time, hash, message } = authorization;
  if (message !== undefined) return signedMessage(message, authorization.address, rules);
  const bytes = Buffer.concat([hash, bigEndian(time)]);
  if (type === '') return { digest: sha256Hex(bytes), time };
  if (type === 'personal_sign') return { digest: personalDigest(bytes), time };
  return { problem: 'unknown type' };
}

/** People sign such messages at many sites, so a message counts only if it names this hub. */
function signedMessage(text: string, address: Address, { site, now }: LegacyRules): SignedPart {
  if (site === undefined)
    return { problem: 'this hub accepts no sign-in messages (HUB_PUBLIC_URL is not set)' };
  const message = readSignInMessage(text);
  if (message === undefined) return { problem: 'the message is not a sign-in message (ERC-4361)' };
  if (message.address !== address) return { problem: 'the message names another address' };
  if (!isFor(message, site)) return { problem: 'the sign-in message is for another site' };
  const { issuedAt, expiresAt = Infinity, notBefore = 0 } = message;
  if (now >= expiresAt || now < notBefore)
    return { problem: 'the sign-in message has expired, or is not valid yet' };
  return { digest: personalDigest(Buffer.from(text)), time: issuedAt };
}

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
