import { z } from 'zod';
import { isMediaType } from '../media-type.js';
import {
  LINK_FIELDS,
  type LinkJudge,
  type LinkVerdict,
  type OwnersLink,
  readLink,
  verifyLink,
} from './signed-link.js';

/** An upload link is good for so long at most, in seconds: that it was used up is remembered until then. */
export const UPLOAD_LIFETIME_MAX_SECONDS = 7 * 86_400;

/** What an upload link is signed over (EIP-712), in the domain of the strict form. */
export const UPLOAD_TYPES = {
  HubUpload: [
    { name: 'owner', type: 'address' },
    { name: 'name', type: 'string' },
    { name: 'maxBytes', type: 'uint256' },
    { name: 'contentType', type: 'string' },
    { name: 'sha256', type: 'bytes32' },
    { name: 'issuedAt', type: 'uint256' },
    { name: 'until', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

const KIND = {
  types: UPLOAD_TYPES,
  primaryType: 'HubUpload',
  lifetimeMaxSeconds: UPLOAD_LIFETIME_MAX_SECONDS,
};

/** One upload under a name of its owner, by whoever has the link: of these bytes, where it names them. */
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
export function verifyUploadLink(link: SignedUploadLink, judge: LinkJudge): LinkVerdict {
  const { signature, ...signed } = link;
  const { issuedAt, until, maxBytes } = signed;
  const message = {
    ...signed,
    ...{ maxBytes: BigInt(maxBytes), issuedAt: BigInt(issuedAt), until: BigInt(until) },
  };
  return verifyLink({ ...signed, signature }, message, KIND, judge);
}
