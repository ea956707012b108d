import { z } from 'zod';

/**
 * One line of the journal. `prev` is the SHA-256 of the line before in the same file, so that a line
 * cannot be changed or taken out without all that follow it. Amounts are decimal atomic units.
 */

const common = { at: z.int(), wallet: z.string().optional(), owner: z.string().optional() };

/** As {@link StoredSpending} writes it; read where it is restored. */
const spending = z.record(z.string(), z.union([z.string(), z.number()]));

export const JournalEvent = z.discriminatedUnion('event', [
  /** Before the provider is asked for a wallet: from here on one may exist. */
  z.object({ ...common, event: z.literal('wallet_wanted') }),
  z.object({ ...common, event: z.literal('wallet_created') }),
  z.object({
    ...common,
    event: z.literal('policy_set'),
    revision: z.int(),
    policy: z.unknown(),
    by: z.string(),
  }),
  z.object({ ...common, event: z.literal('tokens_revoked'), notBefore: z.int(), by: z.string() }),
  z.object({ ...common, event: z.literal('token_revoked'), token: z.string(), until: z.int() }),
  z.object({
    ...common,
    event: z.literal('signed_in'),
    token: z.string(),
    role: z.string(),
    by: z.string(),
  }),
  /** Refused before anything was signed. */
  z.object({
    ...common,
    event: z.literal('refused'),
    what: z.string(),
    rule: z.string(),
    token: z.string().optional(),
  }),
  /** Allowed by a scope, with no budget charged. */
  z.object({
    ...common,
    event: z.literal('allowed'),
    what: z.string(),
    scope: z.string(),
    digest: z.string(),
    token: z.string().optional(),
  }),
  /** Charged to the budget; written before it is signed. */
  z.object({
    ...common,
    event: z.literal('reserved'),
    spending,
    digest: z.string(),
    token: z.string().optional(),
    /** Where it is for an intent: the intent as stored. */
    intent: z.object({ id: z.string(), record: z.string() }).optional(),
  }),
  z.object({ ...common, event: z.literal('signed'), spending: z.string() }),
  z.object({
    ...common,
    event: z.literal('paid'),
    spending: z.string(),
    intent: z.string(),
    transaction: z.string(),
    httpStatus: z.int(),
  }),
  /** The chain shows that it was executed. */
  z.object({ ...common, event: z.literal('spent'), spending: z.string() }),
  /** The chain proves that it never will be. */
  z.object({ ...common, event: z.literal('released'), spending: z.string(), block: z.string() }),
]);

export type JournalEvent = z.infer<typeof JournalEvent>;

export const JournalLine = z.object({ v: z.literal(1), prev: z.string(), record: z.unknown() });
