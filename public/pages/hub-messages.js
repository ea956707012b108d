/**
 * What owners of files sign for a hub (docs/hub.md, "Private hubs and signatures"), and how it is written down.
 */

/** SHA-256 of nothing. */
const EMPTY = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
export const ANY_CONTENT = `0x${'00'.repeat(32)}`;

export const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'verifyingContract', type: 'address' },
];
export const REQUEST_TYPE = [
  { name: 'method', type: 'string' },
  { name: 'path', type: 'string' },
  { name: 'owner', type: 'address' },
  { name: 'bodySha256', type: 'bytes32' },
  { name: 'expiry', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
];
export const LINK_TYPE = [
  { name: 'owner', type: 'address' },
  { name: 'name', type: 'string' },
  { name: 'sha256', type: 'bytes32' },
  { name: 'issuedAt', type: 'uint256' },
  { name: 'until', type: 'uint256' },
  { name: 'once', type: 'bool' },
  { name: 'nonce', type: 'bytes32' },
];

export const UPLOAD_TYPE = [
  { name: 'owner', type: 'address' },
  { name: 'name', type: 'string' },
  { name: 'maxBytes', type: 'uint256' },
  { name: 'contentType', type: 'string' },
  { name: 'sha256', type: 'bytes32' },
  { name: 'issuedAt', type: 'uint256' },
  { name: 'until', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
];

const hexOf = (bytes) =>
  `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;

export const newNonce = () => hexOf(crypto.getRandomValues(new Uint8Array(32)));

/** @param body - text, or `undefined` for nothing. */
export async function sha256Of(body) {
  if (body === undefined) return EMPTY;
  if (crypto.subtle === undefined) throw new Error('This works by https only.');
  const bytes = new TextEncoder().encode(body);
  return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

export function base64urlOf(value) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const text = btoa(String.fromCodePoint(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
