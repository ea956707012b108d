import type { Address, Hex } from 'viem';
import type {
  Permit2Claim,
  SponsoredApprovalClaim,
  SponsoredPermitClaim,
} from '../../payment/payment.js';
import {
  type JsonObject,
  readAddress,
  readInteger,
  readOptionalObject,
} from '../../payment/wire-values.js';

/** Reads a Permit2 permit with a witness; `undefined` if a field is missing or of the wrong type. */
export function readPermit2Claim(
  inner: JsonObject,
  signature: Hex | undefined,
  payload: JsonObject,
): Permit2Claim | undefined {
  const sent = readOptionalObject(inner['permit2Authorization']);
  const permitted = readOptionalObject(sent?.['permitted']);
  const witness = readOptionalObject(sent?.['witness']);
  if (sent === undefined || permitted === undefined || witness === undefined) return undefined;
  const addresses = readAll(readAddress, {
    from: sent['from'],
    token: permitted['token'],
    spender: sent['spender'],
    witnessTo: witness['to'],
  });
  const integers = readAll(readInteger, {
    amount: permitted['amount'],
    nonce: sent['nonce'],
    deadline: sent['deadline'],
    witnessValidAfter: witness['validAfter'],
  });
  if (addresses === undefined || integers === undefined) return undefined;
  const sponsoredApproval = readSponsoredApproval(payload);
  return {
    method: 'permit2',
    ...addresses,
    ...integers,
    signature,
    sponsoredPermit: readSponsoredPermit(payload),
    ...(sponsoredApproval && { sponsoredApproval }),
  };
}

/** Reads every field with the same reader; `undefined` if one field is malformed. */
function readAll<Name extends string, Value extends Address | bigint>(
  read: (value: unknown) => Value | undefined,
  fields: Readonly<Record<Name, unknown>>,
): Record<Name, Value> | undefined {
  const values: Partial<Record<Name, Value>> = {};
  for (const name of Object.keys(fields) as Name[]) {
    const value = read(fields[name]);
    if (value === undefined) return undefined;
    values[name] = value;
  }
  return values as Record<Name, Value>;
}

/**
 * Reads the info if all eight fields are truthy, as in the reference: a numeric nonce 0 counts as absent, the string
 * "0" does not.
 */
export function readSponsoredPermit(payload: JsonObject): SponsoredPermitClaim | undefined {
  const info = infoOf(payload, 'eip2612GasSponsoring');
  if (info === undefined) return undefined;
  const { from, asset, spender, amount, nonce, deadline, signature, version } = info;
  const claim = { from, asset, spender, amount, nonce, deadline, signature, version };
  return Object.values(claim).every(Boolean) ? claim : undefined;
}

/** Reads the info if all six fields are truthy. */
export function readSponsoredApproval(payload: JsonObject): SponsoredApprovalClaim | undefined {
  const info = infoOf(payload, 'erc20ApprovalGasSponsoring');
  if (info === undefined) return undefined;
  const { from, asset, spender, amount, signedTransaction, version } = info;
  const claim = { from, asset, spender, amount, signedTransaction, version };
  return Object.values(claim).every(Boolean) ? claim : undefined;
}

function infoOf(payload: JsonObject, extension: string): JsonObject | undefined {
  const extensions = readOptionalObject(payload['extensions']);
  return readOptionalObject(readOptionalObject(extensions?.[extension])?.['info']);
}
