import type { Hex } from 'viem';
import { hasValidChecksum } from '../../evm/checksum-address.js';
import type { Eip3009Claim, Permit2Claim } from '../../payment/payment.js';
import {
  isShortText,
  type JsonObject,
  readAddress,
  readBytes,
  readBytes32,
  readInteger,
  readOptionalObject,
  SIGNATURE_MAX_BYTES,
} from '../../payment/wire-values.js';
import { readPermit2Claim } from '../permit2/read-claim.js';
import type { Scheme } from '../scheme.js';
import { EXACT_EIP3009 } from './exact-eip3009.js';
import { EXACT_PERMIT2 } from './exact-permit2.js';

/** The x402 scheme `exact` on EVM chains: one payment of one amount, by EIP-3009 or Permit2. */
export const EXACT: Scheme = {
  name: 'exact',
  versions: [1, 2],
  extensions: ['eip2612GasSponsoring'],
  sponsoredExtensions: ['erc20ApprovalGasSponsoring'],
  actions: [EXACT_EIP3009, EXACT_PERMIT2],
  // EIP-3009 needs no contract besides the token.
  contracts: [],
  readClaim: readExactClaim,
  payerAsSent,
};

/** The payer in a payload of either form, not checked yet. */
function payerAsSent(inner: JsonObject): unknown {
  return (
    readOptionalObject(inner['permit2Authorization'])?.['from'] ??
    readOptionalObject(inner['authorization'])?.['from']
  );
}

/** The form of the payload selects Permit2, never `extra.assetTransferMethod` (V2 only). */
function readExactClaim(
  payload: JsonObject,
  version: 1 | 2,
): Eip3009Claim | Permit2Claim | undefined {
  const inner = readOptionalObject(payload['payload']);
  if (inner === undefined || typeof inner['signature'] !== 'string') return undefined;
  const signature = readBytes(inner['signature'], SIGNATURE_MAX_BYTES);
  if (version === 2 && Object.hasOwn(inner, 'permit2Authorization')) {
    return readPermit2Claim(inner, signature, payload);
  }
  const isSignatureTooLong = !isShortText(inner['signature'], 2 + SIGNATURE_MAX_BYTES * 2);
  const claim = readEip3009(inner, signature);
  return claim && isSignatureTooLong ? { ...claim, isSignatureTooLong } : claim;
}

function readEip3009(inner: JsonObject, signature: Hex | undefined): Eip3009Claim | undefined {
  const sent = readOptionalObject(inner['authorization']);
  if (sent === undefined) return undefined;
  const { from, to, nonce } = sent;
  const value = readInteger(sent['value']);
  const validAfter = readInteger(sent['validAfter']);
  const validBefore = readInteger(sent['validBefore']);
  if (value === undefined || validAfter === undefined || validBefore === undefined) {
    return undefined;
  }
  return {
    method: 'eip3009',
    from: readAddress(from),
    to: readAddress(to),
    value,
    validAfter,
    validBefore,
    nonce: readBytes32(nonce),
    hasValidChecksums: [from, to].every((one) => typeof one === 'string' && hasValidChecksum(one)),
    signature,
  };
}
