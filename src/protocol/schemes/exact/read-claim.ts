import { type Address, type Hex, isAddress } from 'viem';
import type { Eip3009Claim, Permit2Claim, SponsoredPermitClaim } from '../../payment/payment.js';
import {
  type JsonObject,
  readAddress,
  readBytes,
  readInteger,
  readOptionalObject,
  SIGNATURE_MAX_BYTES,
} from '../../payment/wire-values.js';

/** The payer in whichever shape of payload; not looked at yet. */
export function payerAsSent(inner: JsonObject): unknown {
  return (
    readOptionalObject(inner['permit2Authorization'])?.['from'] ??
    readOptionalObject(inner['authorization'])?.['from']
  );
}

/** Permit2 is chosen by the payload's shape, never by `extra.assetTransferMethod` (V2 only). */
export function readExactClaim(
  payload: JsonObject,
  version: 1 | 2,
): Eip3009Claim | Permit2Claim | undefined {
  const inner = readOptionalObject(payload['payload']);
  if (inner === undefined || typeof inner['signature'] !== 'string') return undefined;
  const signature = readBytes(inner['signature'], SIGNATURE_MAX_BYTES);
  if (version === 2 && Object.hasOwn(inner, 'permit2Authorization')) {
    return readPermit2(inner, signature, payload);
  }
  return readEip3009(inner, signature);
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
  const nonceBytes = readBytes(nonce, 32);
  return {
    method: 'eip3009',
    from: readAddress(from),
    to: readAddress(to),
    value,
    validAfter,
    validBefore,
    nonce: nonceBytes?.length === 66 ? nonceBytes : undefined,
    hasValidChecksums: [from, to].every((one) => typeof one === 'string' && isAddress(one)),
    signature,
  };
}

function readPermit2(
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
  return {
    method: 'permit2',
    ...addresses,
    ...integers,
    signature,
    sponsoredPermit: readSponsoredPermit(payload),
  };
}

/** Reads every field with one reader; `undefined` when any of them is not of its form. */
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

/** Complete means all eight fields are truthy: a numeric nonce 0 counts as absent, the string "0" does not. */
function readSponsoredPermit(payload: JsonObject): SponsoredPermitClaim | undefined {
  const extensions = readOptionalObject(payload['extensions']);
  const info = readOptionalObject(
    readOptionalObject(extensions?.['eip2612GasSponsoring'])?.['info'],
  );
  if (info === undefined) return undefined;
  const { from, asset, spender, amount, nonce, deadline, signature, version } = info;
  const claim = { from, asset, spender, amount, nonce, deadline, signature, version };
  return Object.values(claim).every(Boolean) ? claim : undefined;
}
