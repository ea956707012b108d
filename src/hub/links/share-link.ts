import { z } from 'zod';
import { LINK_LIFETIME_MAX_SECONDS, LINK_TYPES } from '../../protocol/hub/hub-messages.js';
import {
  LINK_FIELDS,
  type LinkContext,
  type LinkValidity,
  type OwnersLink,
  readLink,
  verifyLink,
} from './signed-link.js';

export { LINK_LIFETIME_MAX_SECONDS, LINK_TYPES };

const KIND = {
  types: LINK_TYPES,
  primaryType: 'HubLink',
  lifetimeMaxSeconds: LINK_LIFETIME_MAX_SECONDS,
};

/** One file of an owner for the bearer of the link: the named content, or the newest one of the name. */
export interface ShareLink extends OwnersLink {
  /** Whether the first answer with bytes uses it up. */
  readonly once: boolean;
}

export type SignedShareLink = ShareLink & { readonly signature: string };

const Envelope = z.strictObject({ ...LINK_FIELDS, once: z.boolean() });

/** @param text - base64url of JSON, from the URL. @returns `undefined` for any other text. */
export function readShareLink(text: string): SignedShareLink | undefined {
  return readLink(text, Envelope);
}

/** Checks signature and times; the store knows whether it was used up or revoked. */
export function verifyShareLink(link: SignedShareLink, context: LinkContext): LinkValidity {
  const { signature, ...signed } = link;
  const { issuedAt, until } = signed;
  const message = { ...signed, issuedAt: BigInt(issuedAt), until: BigInt(until) };
  return verifyLink({ ...signed, signature }, message, KIND, context);
}
