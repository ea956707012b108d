import { z } from 'zod';
import { UPLOAD_LIFETIME_MAX_SECONDS, UPLOAD_TYPES } from '../../protocol/hub/hub-messages.js';
import { isMediaType } from '../media-type.js';
import {
  LINK_FIELDS,
  type LinkContext,
  type LinkValidity,
  type OwnersLink,
  readLink,
  verifyLink,
} from './signed-link.js';

export { UPLOAD_LIFETIME_MAX_SECONDS, UPLOAD_TYPES };

const KIND = {
  types: UPLOAD_TYPES,
  primaryType: 'HubUpload',
  lifetimeMaxSeconds: UPLOAD_LIFETIME_MAX_SECONDS,
};

/** One upload under a name of its owner by the bearer of the link, restricted to certain bytes if it names them. */
export interface UploadLink extends OwnersLink {
  /** Maximum bytes of the file, within the hub's own limit. */
  readonly maxBytes: number;
  /** A media type in lower case, without parameters; empty for any. */
  readonly contentType: string;
}

export type SignedUploadLink = UploadLink & { readonly signature: string };

const Envelope = z.strictObject({
  ...LINK_FIELDS,
  maxBytes: z.number().int().positive(),
  contentType: z
    .string()
    .refine((text) => text === '' || isMediaType(text))
    .default(''),
});

/** @param text - base64url of JSON, from the URL. @returns `undefined` for any other text. */
export function readUploadLink(text: string): SignedUploadLink | undefined {
  return readLink(text, Envelope);
}

/** Checks signature and times; the store knows whether it was used up or revoked. */
export function verifyUploadLink(link: SignedUploadLink, context: LinkContext): LinkValidity {
  const { signature, ...signed } = link;
  const { issuedAt, until, maxBytes } = signed;
  const message = {
    ...signed,
    maxBytes: BigInt(maxBytes),
    issuedAt: BigInt(issuedAt),
    until: BigInt(until),
  };
  return verifyLink({ ...signed, signature }, message, KIND, context);
}
