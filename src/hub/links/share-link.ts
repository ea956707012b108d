import { type Address, hashTypedData, type Hex } from 'viem';
import { z } from 'zod';
import { normalized, type RecoverSigner } from '../auth/hub-signature.js';
import { strictDomain } from '../auth/strict-authorization.js';
import { NAME_MAX_BYTES } from '../names.js';

/** A link is good for so long at most, in seconds: what was used up or taken back is remembered until then. */
export const LINK_LIFETIME_MAX_SECONDS = 30 * 86_400;

/** How far the clock of who signs may be ahead, in seconds. */
const CLOCK_SKEW_SECONDS = 300;

/** Characters of a link as sent; a name of the longest kind fits. */
export const LINK_MAX_LENGTH = 4096;

/** In place of a digest: whatever is the newest of the name. */
export const ANY_CONTENT: Hex = `0x${'00'.repeat(32)}`;

/** What a share link is signed over (EIP-712), in the domain of the strict form. */
export const LINK_TYPES = {
  HubLink: [
    { name: 'owner', type: 'address' },
    { name: 'name', type: 'string' },
    { name: 'sha256', type: 'bytes32' },
    { name: 'issuedAt', type: 'uint256' },
    { name: 'until', type: 'uint256' },
    { name: 'once', type: 'bool' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

/** One file of an owner, for whoever has the link. */
export interface ShareLink {
  /** Lower case. */
  readonly owner: Address;
  /** The id it is stored under. */
  readonly name: string;
  /** Of the content, 32 bytes, lower case; {@link ANY_CONTENT} for the newest of the name. */
  readonly sha256: Hex;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** Unix seconds; the link is worth nothing from then on. */
  readonly until: number;
  /** Whether it is used up by the first answer with bytes. */
  readonly once: boolean;
  /** 32 bytes, lower case; names the link among those of its owner. */
  readonly nonce: Hex;
}

export type SignedShareLink = ShareLink & { readonly signature: string };

/** Whether a link is its owner's and of its time. */
export type LinkVerdict =
  | { readonly kind: 'good' }
  | { readonly kind: 'over' }
  | { readonly kind: 'bad'; readonly message: string };

const word = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => text.toLowerCase() as Hex);
const seconds = z.number().int().nonnegative();

const Envelope = z.strictObject({
  owner: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/)
    .transform((text) => text.toLowerCase() as Address),
  name: z.string().min(1).max(NAME_MAX_BYTES.id),
  sha256: word.default(ANY_CONTENT),
  issuedAt: seconds,
  until: seconds,
  once: z.boolean(),
  nonce: word,
  signature: z.string().max(200),
});

/** @param text - base64url of JSON, as it stands in the address. @returns `undefined` for anything else. */
export function readShareLink(text: string): SignedShareLink | undefined {
  if (text.length > LINK_MAX_LENGTH) return undefined;
  try {
    const parsed = Envelope.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Signature and times; whether it was used up or taken back is asked of who remembers.
 *
 * @param now - Unix seconds.
 */
export function verifyShareLink(
  { signature, ...link }: SignedShareLink,
  hub: Address,
  recover: RecoverSigner,
  now: number,
): LinkVerdict {
  const { issuedAt, until } = link;
  if (issuedAt > now + CLOCK_SKEW_SECONDS) return bad('the link is of a later time');
  if (until - issuedAt > LINK_LIFETIME_MAX_SECONDS) {
    return bad(`the link is good for more than ${LINK_LIFETIME_MAX_SECONDS} seconds`);
  }
  const digest = hashTypedData({
    domain: strictDomain(hub),
    types: LINK_TYPES,
    primaryType: 'HubLink',
    message: { ...link, issuedAt: BigInt(issuedAt), until: BigInt(until) },
  });
  const plain = normalized(signature);
  const signer = plain === undefined ? undefined : recover(digest, plain);
  if (signer?.toLowerCase() !== link.owner) {
    return bad('the link is not signed by its owner for this hub');
  }
  return until <= now ? { kind: 'over' } : { kind: 'good' };
}

function bad(message: string): LinkVerdict {
  return { kind: 'bad', message };
}
