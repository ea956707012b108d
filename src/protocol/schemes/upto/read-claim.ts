import type { UptoClaim } from '../../payment/payment.js';
import {
  isUint256,
  type JsonObject,
  readAddress,
  readBytes,
  readInteger,
  readOptionalObject,
  SIGNATURE_MAX_BYTES,
} from '../../payment/wire-values.js';
import type { Reason } from '../../reasons.js';
import { readPermit2Claim } from '../permit2/read-claim.js';

const DECIMAL_DIGITS = /^\d{1,78}$/;

export function payerAsSent(inner: JsonObject): unknown {
  return readOptionalObject(inner['permit2Authorization'])?.['from'];
}

export function readUptoClaim(payload: JsonObject): UptoClaim | undefined {
  const inner = readOptionalObject(payload['payload']);
  if (inner === undefined || !hasShape(inner)) return undefined;
  const signature = readBytes(inner['signature'], SIGNATURE_MAX_BYTES);
  const permit = readPermit2Claim(inner, signature, payload);
  const facilitator = readAddress(witnessIn(inner)?.['facilitator']);
  if (permit === undefined || facilitator === undefined) return undefined;
  return { ...permit, scheme: 'upto', facilitator };
}

/** The reference tells a payload of another shape from one whose values are malformed. */
export function whyUnreadable(payload: JsonObject): Reason {
  const inner = readOptionalObject(payload['payload']);
  return inner !== undefined && hasShape(inner) ? 'invalid_payload' : 'unsupported_payload_type';
}

/** Whether every leaf is there, as a text. */
function hasShape(inner: JsonObject): boolean {
  const permit = readOptionalObject(inner['permit2Authorization']);
  const permitted = readOptionalObject(permit?.['permitted']);
  const witness = witnessIn(inner);
  const leaves = [
    inner['signature'],
    permit?.['from'],
    permit?.['spender'],
    permit?.['nonce'],
    permit?.['deadline'],
    permitted?.['token'],
    permitted?.['amount'],
    witness?.['facilitator'],
    witness?.['to'],
    witness?.['validAfter'],
  ];
  return leaves.every((leaf) => typeof leaf === 'string');
}

function witnessIn(inner: JsonObject): JsonObject | undefined {
  const permit = readOptionalObject(inner['permit2Authorization']);
  return readOptionalObject(permit?.['witness']);
}

/** What a seller settles is a text of its own making: decimal digits, within uint256. */
export function readUptoAmount(sent: unknown): bigint | undefined {
  if (typeof sent !== 'string' || !DECIMAL_DIGITS.test(sent)) return undefined;
  const amount = readInteger(sent);
  return amount !== undefined && isUint256(amount) ? amount : undefined;
}
