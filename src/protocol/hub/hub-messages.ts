import type { Address } from 'viem';

/** The messages that owners of files sign for a file hub (EIP-712), for signers and verifiers. */

/** The scheme in `Authorization` of a request that its owner has signed. */
export const STRICT_SCHEME = 'Hub-EIP712';

/** Maximum validity of a signature over a request, in seconds. */
export const STRICT_LIFETIME_MAX_SECONDS = 3600;

/** The message of a signed request: valid for this request, at this hub, once. */
export const STRICT_TYPES = {
  HubRequest: [
    { name: 'method', type: 'string' },
    { name: 'path', type: 'string' },
    { name: 'owner', type: 'address' },
    { name: 'bodySha256', type: 'bytes32' },
    { name: 'expiry', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

/** Maximum validity of a link in seconds. The hub remembers used and revoked links for this time. */
export const LINK_LIFETIME_MAX_SECONDS = 30 * 86_400;

/** The message of a share link, in the domain of the requests. */
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

/** Maximum validity of an upload link, in seconds. */
export const UPLOAD_LIFETIME_MAX_SECONDS = 7 * 86_400;

/** The message of an upload link: it permits its bearer one upload of one file under one name. */
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

/** The hub is part of the domain, so a signature for one hub is invalid at another. */
export function strictDomain(hub: Address): {
  readonly name: string;
  readonly version: string;
  readonly verifyingContract: Address;
} {
  return { name: 'x402 file hub', version: '1', verifyingContract: hub };
}
