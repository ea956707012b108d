import { z } from 'zod';
import { StoredPasskey } from '../passkeys/passkey.js';

/** Records of the journal, one a line. Amounts are decimal atomic units, times Unix seconds. */

const common = { at: z.int(), wallet: z.string().optional(), owner: z.string().optional() };

/** As `storedSpending` writes it; parsed when it is restored. */
const spending = z.record(z.string(), z.union([z.string(), z.number()]));

/** The owner's answer about one payment of an intent, with the sealed request as stored. */
const answer = {
  ask: z.string(),
  intent: z.object({ id: z.string(), record: z.string() }),
  /** Unix seconds. */
  until: z.int(),
};

/** The charge: an authorization is charged at most once for one deadline. */
const charge = { spending: z.string(), deadline: z.int() };

export const JournalEvent = z.discriminatedUnion('event', [
  /** Written before the provider is asked for a wallet: from here on one may exist. */
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
  /** Written before anything is signed under the rules. */
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
    /** The user code of the agent, if it was approved by one. */
    code: z.string().optional(),
  }),
  /** The passkey made its holder an owner; the key identifies the owner. */
  z.object({ ...common, event: z.literal('passkey_added'), passkey: StoredPasskey }),
  /** Refused before a signature. */
  z.object({
    ...common,
    event: z.literal('refused'),
    what: z.string(),
    rule: z.string(),
    token: z.string().optional(),
  }),
  /** Allowed by a scope, without a budget charge. */
  z.object({
    ...common,
    event: z.literal('allowed'),
    what: z.string(),
    scope: z.string(),
    digest: z.string(),
    token: z.string().optional(),
  }),
  /** Charged to the budget; written before the signature. */
  z.object({
    ...common,
    event: z.literal('reserved'),
    spending,
    digest: z.string(),
    token: z.string().optional(),
    /** For a payment of an intent: the sealed intent as stored. */
    intent: z.object({ id: z.string(), record: z.string() }).optional(),
    /** If the owner was asked: the approval that this charge uses up. */
    ask: z.string().optional(),
  }),
  /** One payment may be charged before `until`; written before it counts. */
  z.object({ ...common, ...answer, event: z.literal('ask_approved') }),
  /** Also after an approval that was not used. */
  z.object({ ...common, ...answer, event: z.literal('ask_denied') }),
  z.object({ ...common, ...charge, event: z.literal('signed') }),
  /**
   * A final block shows that an answered purchase is paid, and by which transaction; empty where that cannot be found.
   * Earlier versions wrote it after the seller's answer, with the seller's transaction.
   */
  z.object({
    ...common,
    event: z.literal('paid'),
    spending: z.string(),
    intent: z.string(),
    transaction: z.string(),
    httpStatus: z.int(),
  }),
  /** The chain shows that the payment was executed. */
  z.object({ ...common, ...charge, event: z.literal('spent') }),
  /** The chain proves that the payment can never be executed. */
  z.object({ ...common, ...charge, event: z.literal('released'), block: z.string() }),
]);

export type JournalEvent = z.infer<typeof JournalEvent>;

/**
 * A line of the journal. `order` counts microseconds. It never goes back in one process, nor behind what that process
 * has read, and records of all files are replayed by it.
 */
export const JournalLine = z.object({ v: z.literal(2), order: z.int(), record: z.unknown() });
