import type { Hex } from 'viem';
import { z } from 'zod';
import { readAddress, readBytes } from '../../../protocol/payment/wire-values.js';

/** The used fields of Privy's answers. No answer is used before it has passed these schemas. */

const hex = z.string().transform((text, context): Hex => {
  const read = readBytes(text);
  if (read !== undefined) return read;
  context.addIssue('must be hex');
  return z.NEVER;
});

const id = z.string().regex(/^[\w-]{1,128}$/);

/**
 * A usable wallet: of this service, for this subject, bound to one policy and to the service's authorization key, and
 * with a key that was never exported.
 */
export const PrivyWallet = z.object({
  id,
  address: z.string().transform((text, context) => {
    const read = readAddress(text);
    if (read !== undefined) return read;
    context.addIssue('must be an address');
    return z.NEVER;
  }),
  chain_type: z.literal('ethereum'),
  external_id: z.string(),
  owner_id: z.string(),
  policy_ids: z.array(id).length(1),
  additional_signers: z.array(z.unknown()).length(0),
  exported_at: z.null(),
  imported_at: z.null(),
  archived_at: z.null().optional(),
});

/** One page; `external_id` is unique, so there is no second page. */
export const PrivyWalletPage = z.object({
  data: z.array(z.looseObject({ external_id: z.string().nullish() })).max(100),
});

export const PrivyPolicy = z.object({
  id,
  owner_id: z.string(),
  rules: z.array(z.unknown()),
});

export const PrivySignature = z.object({
  encoding: z.literal('hex'),
  signature: hex.refine((text) => text.length === 132, 'must have 65 bytes'),
});

export const PrivySignedTransaction = z.object({
  encoding: z.literal('rlp'),
  signed_transaction: hex,
});
