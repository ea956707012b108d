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

/**
 * One upload under a name of its owner, by the bearer of the link: of these bytes, where it names
 * them.
 */
export interface UploadLink extends OwnersLink {
  /** Bytes of the file; what the hub takes at most is the bound all the same. */
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

/** @param text - base64url of JSON, as it stands in the address. @returns `undefined` for anything else. */
export function readUploadLink(text: string): SignedUploadLink | undefined {
  return readLink(text, Envelope);
}

/** Signature and times; whether it was used up or taken back is asked of who remembers. */
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
