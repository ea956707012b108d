import { type Address, hashTypedData, type Hex, type TypedData } from 'viem';
import { z } from 'zod';
import { normalized, type RecoverSigner } from '../auth/hub-signature.js';
import { addressField, strictDomain, wordField } from '../auth/strict-authorization.js';
import { NAME_MAX_BYTES } from '../names.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/** How far a signer's clock may be ahead, in seconds. */
export const CLOCK_SKEW_SECONDS = 300;

/** Characters of a link as sent; a name of the longest kind fits. */
export const LINK_MAX_LENGTH = 4096;

/** In place of a digest: any bytes. */
export const ANY_CONTENT: Hex = `0x${'00'.repeat(32)}`;

/** A permission for one name that an owner has signed for others. */
export interface OwnersLink {
  /** Lower case. */
  readonly owner: Address;
  /** The id of the file. */
  readonly name: string;
  /** Of the content, 32 bytes, lower case; {@link ANY_CONTENT} for any. */
  readonly sha256: Hex;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** Unix seconds; the link is invalid from then on. */
  readonly until: number;
  /** 32 bytes, lower case; unique among the links of its owner. */
  readonly nonce: Hex;
}

/**
 * A family of links: the first 8 or 16 bytes of their nonces. An owner who signs for several users gives each its own
 * prefix.
 */
const FAMILY = /^0x([0-9a-f]{16}|[0-9a-f]{32})$/;

/** @throws HubRefusal */
export function assertFamily(text: string): void {
  if (!FAMILY.test(text)) throw HubRefusal.malformed('family is not 0x and 16 or 32 hex digits');
}

export function familiesOf({ nonce }: { readonly nonce: string }): readonly [string, string] {
  return [nonce.slice(0, 2 + 16), nonce.slice(0, 2 + 32)];
}

/** Whether the owner signed a link, and its time is not over. */
export type LinkValidity =
  | { readonly kind: 'good' }
  | { readonly kind: 'over' }
  | { readonly kind: 'bad'; readonly message: string };

/** Kept a little longer than any link, because the clocks of two processes may differ. */
export const SLACK_SECONDS = 60;

/** The stored state of a link, or of a family of links. */
export interface NotedLink {
  readonly owner: string;
  readonly nonce: string;
  readonly issuedAt: number;
  readonly until: number;
}

const seconds = z.number().int().nonnegative();

/** Fields of every link, and its signature. */
export const LINK_FIELDS = {
  owner: addressField,
  /** Half of a surrogate pair becomes U+FFFD, as in the name of the file; the signed bytes are the same. */
  name: z
    .string()
    .min(1)
    .max(NAME_MAX_BYTES.id)
    .transform((text) => text.toWellFormed()),
  sha256: wordField.default(ANY_CONTENT),
  issuedAt: seconds,
  until: seconds,
  nonce: wordField,
  signature: z.string().max(200),
};

/** @param text - base64url of JSON, from the URL. @returns `undefined` for any other text. */
export function readLink<T>(text: string, shape: z.ZodType<T>): T | undefined {
  if (text.length > LINK_MAX_LENGTH) return undefined;
  try {
    const parsed = shape.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether the link permits these bytes.
 *
 * @param sha256 - hex, without `0x`.
 */
export function isOfContent(link: Pick<OwnersLink, 'sha256'>, sha256: string): boolean {
  return link.sha256 === ANY_CONTENT || link.sha256 === `0x${sha256}`;
}

/** The signed form of a kind of link (EIP-712), in the domain of the strict form, with its longest lifetime. */
interface LinkKind {
  readonly types: TypedData;
  readonly primaryType: string;
  readonly lifetimeMaxSeconds: number;
}

/** The hub of the request, and the data to check a link. */
export interface LinkContext {
  readonly hub: Address;
  readonly recover: RecoverSigner;
  /** Unix seconds. */
  readonly now: number;
}

/**
 * Checks signature and times; the store knows whether it was used up or revoked.
 *
 * @param message - the signed fields.
 */
export function verifyLink(
  link: OwnersLink & { readonly signature: string },
  message: Readonly<Record<string, unknown>>,
  { types, primaryType, lifetimeMaxSeconds }: LinkKind,
  { hub, recover, now }: LinkContext,
): LinkValidity {
  const { owner, issuedAt, until, signature } = link;
  if (issuedAt > now + CLOCK_SKEW_SECONDS)
    return bad('the link was issued in the future; compare the clocks');
  if (until - issuedAt > lifetimeMaxSeconds) {
    return bad(`the link is valid for more than ${lifetimeMaxSeconds} seconds`);
  }
  const digest = hashTypedData({ domain: strictDomain(hub), types, primaryType, message });
  const plain = normalized(signature);
  const signer = plain === undefined ? undefined : recover(digest, plain);
  if (signer?.toLowerCase() !== owner)
    return bad('the link is not signed by its owner, or is for another hub');
  return until <= now ? { kind: 'over' } : { kind: 'good' };
}

function bad(message: string): LinkValidity {
  return { kind: 'bad', message };
}
