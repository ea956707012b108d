import type { Address } from 'viem';
import { z } from 'zod';
import { isCaip2 } from '../../protocol/payment/network.js';
import { EVM_ADDRESS, UINT256_MAX } from '../../protocol/payment/wire-values.js';
import type { HubPrice } from '../api/hub.response.js';
import { isMediaType } from '../media-type.js';
import type { StoredObject } from '../storage/storage-provider.js';

/**
 * The price of a file. It is for the bytes of the name at the time it was set: writing the name
 * again does not change the sold bytes until the owner sets the price again.
 */
export interface Price {
  /** CAIP-2. */
  readonly network: string;
  /** Lower case. */
  readonly asset: Address;
  /** Atomic units, more than none. */
  readonly amount: bigint;
  /** Lower case. */
  readonly payTo: Address;
  /** How long a buyer may download, from the payment on. */
  readonly accessSeconds: number;
  /** Unix seconds; nothing is sold from then on. `undefined` for no end. */
  readonly until: number | undefined;
  /** Facts about the token that buyers need (x402 V2 specification §5.1.2, `extra`). */
  readonly token: PricedToken;
  /** The media type that the owner names. */
  readonly contentType: string;
  /** The bytes that are sold. */
  readonly object: StoredObject;
}

/** The EIP-712 domain of a token that takes authorizations, or the way to pay in any other one. */
export type PricedToken =
  { readonly name: string; readonly version: string } | { readonly assetTransferMethod: 'permit2' };

/** Atomic units. */
const AMOUNT = /^[1-9]\d{0,77}$/;
/** The longest access: a year. Sale records are kept as long. */
const ACCESS_MAX_SECONDS = 31_536_000;
const ACCESS_MIN_SECONDS = 60;
/** Unix seconds of a date that a clock may show. */
const TIME_MAX = 4_102_444_800;

const address = z
  .string()
  .regex(EVM_ADDRESS, 'must be an address')
  .transform((text) => text.toLowerCase() as Address);

const token = z.union([
  z.strictObject({ name: z.string().min(1).max(256), version: z.string().min(1).max(64) }),
  z.strictObject({ assetTransferMethod: z.literal('permit2') }),
]);

const text = {
  network: z.string().refine(isCaip2, 'must be a network such as eip155:56'),
  amount: z
    .string()
    .regex(AMOUNT, 'must be atomic units as decimal text')
    .transform((digits) => BigInt(digits))
    .refine((amount) => amount <= UINT256_MAX, 'must fit uint256'),
};
const access = z.number().int().min(ACCESS_MIN_SECONDS).max(ACCESS_MAX_SECONDS);
const end = z.number().int().positive().max(TIME_MAX).optional();

/** As an owner asks for it. Names of fields come in any case. */
const Wanted = z.object({
  ...text,
  asset: address,
  payto: address.optional(),
  accessseconds: access,
  until: end,
  extra: token.optional(),
  contenttype: z.string().toLowerCase().refine(isMediaType, 'must be a media type').optional(),
});

/** A price without what the hub knows by itself. */
export type WantedPrice = Omit<Price, 'payTo' | 'token' | 'object' | 'contentType'> & {
  readonly contentType: string | undefined;
  readonly payTo: Address | undefined;
  readonly token: PricedToken | undefined;
};

type ReadPrice =
  | { readonly ok: true; readonly price: WantedPrice }
  | { readonly ok: false; readonly problem: string };

/** @param fields - of the request, by their names in lower case. */
export function readPrice(fields: Readonly<Record<string, unknown>>): ReadPrice {
  const parsed = Wanted.safeParse(fields);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = String(issue?.path[0]);
    return { ok: false, problem: `${FIELD_NAMES[field] ?? field}: ${issue?.message ?? 'invalid'}` };
  }
  const { network, asset, amount, payto, accessseconds, until, extra, contenttype } = parsed.data;
  return {
    ok: true,
    price: {
      network,
      asset,
      amount,
      until,
      payTo: payto,
      token: extra,
      accessSeconds: accessseconds,
      contentType: contenttype,
    },
  };
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  accessseconds: 'accessSeconds',
  contenttype: 'contentType',
  payto: 'payTo',
};

/** A price in storage; the names stand beside it. */
const Kept = z.object({
  ...text,
  asset: address,
  payTo: address,
  accessSeconds: access,
  until: end,
  token,
  contentType: z.string(),
  object: z.object({
    bucket: z.string(),
    kind: z.string(),
    contentType: z.string().optional(),
    volume: z.number(),
    start: z.number(),
    size: z.number(),
    sha256: z.string(),
    blocks: z.string(),
    order: z.number(),
  }),
});

/** As text, for the journal and the index. */
export function termsOf({ amount, object, ...price }: Price): string {
  const { bucket, kind, contentType, volume, start, size, sha256, blocks, order } = object;
  return JSON.stringify({
    ...price,
    amount: amount.toString(),
    object: { bucket, kind, contentType, volume, start, size, sha256, blocks, order },
  });
}

/**
 * @param name - whose terms they are.
 * @throws when they are not what {@link termsOf} has written.
 */
export function priceOf(
  kept: string,
  { owner, id }: { readonly owner: string; readonly id: string },
): Price {
  const { object, until, ...price } = Kept.parse(JSON.parse(kept));
  return { ...price, until, object: { op: 'put', owner, id, ...object } };
}

/** As clients are shown it. */
export function priceView(price: Price): HubPrice {
  const { network, asset, amount, payTo, accessSeconds, until, object } = price;
  return {
    owner: object.owner,
    file: object.id,
    network,
    asset,
    amount: amount.toString(),
    payTo,
    accessSeconds,
    ...(until !== undefined && { until }),
    extra: price.token,
    contentType: price.contentType,
    sha256: object.sha256,
    size: object.size,
  };
}
