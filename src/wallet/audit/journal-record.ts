import { z } from 'zod';
import { StoredPasskey } from '../passkeys/passkey.js';

/** What the journal says, one record a line. Amounts are decimal atomic units, times Unix seconds. */

const common = { at: z.int(), wallet: z.string().optional(), owner: z.string().optional() };

/** As `storedSpending` writes it; read where it is restored. */
const spending = z.record(z.string(), z.union([z.string(), z.number()]));

/** The owner's answer about one payment of an intent; the ask as stored, which is sealed. */
const answer = {
  ask: z.string(),
  intent: z.object({ id: z.string(), record: z.string() }),
  /** Unix seconds. */
  until: z.int(),
};

/** The charge: an authorization is charged at most once under one deadline. */
const charge = { spending: z.string(), deadline: z.int() };

export const JournalEvent = z.discriminatedUnion('event', [
  /** Before the provider is asked for a wallet: from here on one may exist. */
  z.object({ ...common, event: z.literal('wallet_wanted') }),
  z.object({ ...common, event: z.literal('wallet_created') }),
  /** Rules were requested. They count once they are in force. */
  z.object({
    ...common,
    event: z.literal('policy_set'),
    revision: z.int(),
    policy: z.unknown(),
    by: z.string(),
  }),
  /** Before anything is signed under them. */
  z.object({
    ...common,
    event: z.literal('policy_in_force'),
    revision: z.int(),
    policy: z.unknown(),
  }),
  z.object({ ...common, event: z.literal('tokens_revoked'), notBefore: z.int(), by: z.string() }),
  z.object({ ...common, event: z.literal('token_revoked'), token: z.string(), until: z.int() }),
  z.object({
    ...common,
    event: z.literal('signed_in'),
    token: z.string(),
    role: z.string(),
    by: z.string(),
    /** Of an issued token; absent for a grant. */
    until: z.int().optional(),
    /** The user code of an agent that was let in by one. */
    code: z.string().optional(),
  }),
  /** The passkey made its holder an owner. Its key says which. */
  z.object({ ...common, event: z.literal('passkey_added'), passkey: StoredPasskey }),
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
    /** Where it is for an intent: the intent as stored, which is sealed. */
    intent: z.object({ id: z.string(), record: z.string() }).optional(),
    /** Where the owner was asked: the approval that this charge uses up. */
    ask: z.string().optional(),
  }),
  /** One payment may be charged before `until`; written before it counts. */
  z.object({ ...common, ...answer, event: z.literal('ask_approved') }),
  /** Also after a yes that was not used. */
  z.object({ ...common, ...answer, event: z.literal('ask_denied') }),
  z.object({ ...common, ...charge, event: z.literal('signed') }),
  /**
   * A final block shows that a purchase which was answered is paid, and by which transaction; empty where that cannot be found.
   * Earlier versions wrote it when the seller had answered, with the transaction that the seller named.
   */
  z.object({
    ...common,
    event: z.literal('paid'),
    spending: z.string(),
    intent: z.string(),
    transaction: z.string(),
    httpStatus: z.int(),
  }),
  /** The chain shows that it was executed. */
  z.object({ ...common, ...charge, event: z.literal('spent') }),
  /** The chain proves that it never will be. */
  z.object({ ...common, ...charge, event: z.literal('released'), block: z.string() }),
]);

export type JournalEvent = z.infer<typeof JournalEvent>;

/**
 * A line of the journal. `order` counts microseconds and never goes back in one process, nor behind
 * what that process has read: records are replayed by it, whichever file they are in.
 */
export const JournalLine = z.object({ v: z.literal(2), order: z.int(), record: z.unknown() });
