import type { Address } from 'viem';
import type { SponsoredPermit } from '../../evm/authorization.js';
import { PERMIT2 } from '../../evm/contracts.js';
import type { SponsoredPermitClaim } from '../../payment/payment.js';
import {
  isShortText,
  isUint256,
  readAddress,
  SIGNATURE_MAX_BYTES,
} from '../../payment/wire-values.js';
import type { Reason } from '../../reasons.js';

const DIGITS = /^\d+$/;
const HEX = /^0x[a-fA-F0-9]+$/;
const DOTTED_VERSION = /^\d+(\.\d+)*$/;
/** 78 digits hold any uint256, and a version is shorter. */
const TEXT_MAX_CHARACTERS = 100;
const SIGNATURE_CHARACTERS = 2 + 65 * 2;

export type CheckedSponsoredPermit =
  | { readonly ok: true; readonly permit: SponsoredPermit | undefined }
  | { readonly ok: false; readonly reason: Reason };

/**
 * Checks the `eip2612GasSponsoring` info against the payment (x402 extension, in the order of the reference). A
 * well-formed info whose signature cannot be split into r, s and v yields no permit. Its settlement cannot succeed,
 * so it counts as a failed simulation.
 *
 * @param earliestDeadline - Unix seconds before which the permit must not expire.
 */
export function checkSponsoredPermit(
  claim: SponsoredPermitClaim,
  payer: Address,
  token: Address,
  earliestDeadline: bigint,
): CheckedSponsoredPermit {
  const from = readAddress(claim.from);
  const asset = readAddress(claim.asset);
  const spender = readAddress(claim.spender);
  if (
    from === undefined ||
    asset === undefined ||
    spender === undefined ||
    !isDigits(claim.amount) ||
    !isDigits(claim.nonce) ||
    !isDigits(claim.deadline) ||
    !isShortText(claim.signature, 2 + SIGNATURE_MAX_BYTES * 2) ||
    !HEX.test(claim.signature) ||
    !DOTTED_VERSION.test(asText(claim.version))
  ) {
    return { ok: false, reason: 'invalid_eip2612_extension_format' };
  }
  if (from !== payer) return { ok: false, reason: 'eip2612_from_mismatch' };
  if (asset !== token) return { ok: false, reason: 'eip2612_asset_mismatch' };
  if (spender !== PERMIT2) return { ok: false, reason: 'eip2612_spender_not_permit2' };
  const deadline = BigInt(claim.deadline);
  if (deadline < earliestDeadline) return { ok: false, reason: 'eip2612_deadline_expired' };
  return { ok: true, permit: splitSignature(BigInt(claim.amount), deadline, claim.signature) };
}

/** A number counts as its decimal text, as in the reference. Empty for a text that is too long. */
function asText(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number') return '';
  const text = String(value);
  return text.length <= TEXT_MAX_CHARACTERS ? text : '';
}

function isDigits(value: unknown): value is string | number {
  return DIGITS.test(asText(value));
}

function splitSignature(
  value: bigint,
  deadline: bigint,
  signature: string,
): SponsoredPermit | undefined {
  if (signature.length !== SIGNATURE_CHARACTERS) return undefined;
  if (!isUint256(value) || !isUint256(deadline)) return undefined;
  const digits = signature.slice(2).toLowerCase();
  const v = Number.parseInt(digits.slice(128), 16);
  return {
    value,
    deadline,
    r: `0x${digits.slice(0, 64)}`,
    s: `0x${digits.slice(64, 128)}`,
    v: v < 27 ? v + 27 : v,
  };
}
