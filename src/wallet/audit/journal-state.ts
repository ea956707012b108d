import { z } from 'zod';
import { StoredPasskey } from '../passkeys/passkey.js';
import type { JournalEvent } from './journal-record.js';

/** The longest window of rules, plus the longest deadline. */
export const HORIZON_SECONDS = 2_592_000 + 86_400;

/** One charge. Its records may come in any order, because each only adds facts. */
const StoredCharge = z.object({
  id: z.string(),
  deadline: z.int(),
  /** As `storedSpending` writes it; absent until its own record is read. */
  spending: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  intent: z.object({ id: z.string(), record: z.string() }).optional(),
  /** The owner's approval that it used up. */
  ask: z.string().optional(),
  /** The time of the record that charged it. */
  at: z.int(),
  order: z.int(),
  isSigned: z.boolean().default(false),
  isSpent: z.boolean().default(false),
  isReleased: z.boolean().default(false),
});
type StoredCharge = z.infer<typeof StoredCharge>;

/** An issued token. The token itself is not stored. */
export const IssuedToken = z.object({
  id: z.string(),
  role: z.enum(['owner', 'agent']),
  /** How the owner proved its identity: see `Proof`. */
  by: z.string(),
  /** The user code that the owner compared when it approved the agent. */
  code: z.string().optional(),
  /** Unix seconds. */
  createdAt: z.int(),
  /** Unix seconds. */
  expiresAt: z.int(),
});
export type IssuedToken = Readonly<z.infer<typeof IssuedToken>>;

/** An owner's answer about one payment. A refusal wins, in any order of the records. */
const StoredAnswer = z.object({
  id: z.string(),
  intent: z.object({ id: z.string(), record: z.string() }),
  /** Unix seconds. */
  until: z.int(),
  order: z.int(),
  isDenied: z.boolean(),
});
type StoredAnswer = z.infer<typeof StoredAnswer>;

const StoredRules = z.object({ revision: z.int(), policy: z.unknown(), order: z.int() });

/** The state of one wallet by the journal. */
export interface WalletRecord {
  /** The rules in force with the highest revision. */
  rules: z.infer<typeof StoredRules> | undefined;
  /** Unix seconds; tokens issued earlier are void. */
  notBefore: number;
  /** By id and deadline. */
  readonly charges: Map<string, StoredCharge>;
  /** Issued tokens by id, including revoked and expired ones. */
  readonly tokens: Map<string, IssuedToken>;
  /** By id of the request. */
  readonly answers: Map<string, StoredAnswer>;
}

/** Items of a checkpoint, one a line. */
export const StateItem = z.discriminatedUnion('item', [
  z.object({ item: z.literal('owner'), owner: z.string(), wallet: z.string().optional() }),
  z.object({
    item: z.literal('wallet'),
    wallet: z.string(),
    rules: StoredRules.optional(),
    notBefore: z.int(),
  }),
  z.object({ item: z.literal('revoked'), token: z.string(), until: z.int() }),
  z.object({ item: z.literal('passkey'), owner: z.string(), passkey: StoredPasskey }),
  z.object({ item: z.literal('token'), wallet: z.string(), token: IssuedToken }),
  z.object({ item: z.literal('charge'), wallet: z.string(), charge: StoredCharge }),
  z.object({ item: z.literal('answer'), wallet: z.string(), answer: StoredAnswer }),
]);
export type StateItem = z.infer<typeof StateItem>;

/** The whole state of a journal, built from its records. */
export class JournalState {
  readonly wallets = new Map<string, WalletRecord>();
  /** Owners for whom a wallet was requested, with the wallet they got. */
  readonly owners = new Map<string, string | undefined>();
  /** By owner. */
  readonly passkeys = new Map<string, StoredPasskey>();
  /** Revoked tokens with their expiry, Unix seconds. */
  readonly revoked = new Map<string, number>();

  /** Adds one record. Only records about one owner's wallet have to come in order. */
  apply(event: JournalEvent, order: number): void {
    this.#applyToOwner(event);
    if (event.event === 'passkey_added' && event.owner !== undefined) {
      this.passkeys.set(event.owner, event.passkey);
    }
    if (event.event === 'token_revoked') this.revoked.set(event.token, event.until);
    if (event.wallet === undefined) return;
    const wallet = this.#walletOf(event.wallet);
    if (event.event === 'policy_in_force') {
      const { revision, policy } = event;
      const known = wallet.rules;
      const isNewer =
        revision > (known?.revision ?? 0) || (revision === known?.revision && order > known.order);
      if (isNewer) wallet.rules = { revision, policy, order };
    } else if (event.event === 'tokens_revoked') {
      wallet.notBefore = Math.max(wallet.notBefore, event.notBefore);
    } else if (event.event === 'signed_in') {
      const { token: id, by, code, at, until } = event;
      const role = event.role === 'owner' ? 'owner' : 'agent';
      if (until === undefined) return;
      const given = { id, role, by, createdAt: at, expiresAt: until } as const;
      wallet.tokens.set(id, { ...given, ...(code !== undefined && { code }) });
    } else if (event.event === 'reserved') {
      const charge = chargeOf(
        wallet,
        String(event.spending['id']),
        Number(event.spending['deadline']),
      );
      // A repeated record does not change the charge.
      if (charge.spending !== undefined) return;
      const { spending, intent, ask, at } = event;
      Object.assign(charge, { spending, at, order });
      Object.assign(charge, intent !== undefined && { intent }, ask !== undefined && { ask });
    } else if (event.event === 'ask_approved' || event.event === 'ask_denied') {
      const { ask: id, intent, until } = event;
      if (wallet.answers.get(id)?.isDenied === true) return;
      const isDenied = event.event === 'ask_denied';
      wallet.answers.set(id, { id, intent, until, order, isDenied });
    } else if (event.event === 'signed') {
      chargeOf(wallet, event.spending, event.deadline).isSigned = true;
    } else if (event.event === 'spent') {
      chargeOf(wallet, event.spending, event.deadline).isSpent = true;
    } else if (event.event === 'released') {
      chargeOf(wallet, event.spending, event.deadline).isReleased = true;
    }
  }

  /** Loads an item of a checkpoint. */
  load(stored: StateItem): void {
    switch (stored.item) {
      case 'owner':
        this.owners.set(stored.owner, stored.wallet);
        break;
      case 'revoked':
        this.revoked.set(stored.token, stored.until);
        break;
      case 'wallet': {
        const wallet = this.#walletOf(stored.wallet);
        wallet.rules = stored.rules;
        wallet.notBefore = stored.notBefore;
        break;
      }
      case 'passkey':
        this.passkeys.set(stored.owner, stored.passkey);
        break;
      case 'token':
        this.#walletOf(stored.wallet).tokens.set(stored.token.id, stored.token);
        break;
      case 'charge': {
        const { charge } = stored;
        this.#walletOf(stored.wallet).charges.set(nameOf(charge.id, charge.deadline), charge);
        break;
      }
      case 'answer':
        this.#walletOf(stored.wallet).answers.set(stored.answer.id, stored.answer);
    }
  }

  /**
   * The items of a checkpoint: only state that can still count.
   *
   * @param now - Unix seconds.
   * @param retentionSeconds - how long intents are kept.
   */
  *items(now: number, retentionSeconds: number): Generator<StateItem> {
    for (const [owner, wallet] of this.owners) {
      yield { item: 'owner', owner, ...(wallet !== undefined && { wallet }) };
    }
    for (const [owner, passkey] of this.passkeys) yield { item: 'passkey', owner, passkey };
    for (const [token, until] of this.revoked) {
      if (until > now) yield { item: 'revoked', token, until };
    }
    for (const [wallet, { rules, notBefore, charges, answers }] of this.wallets) {
      yield { item: 'wallet', wallet, notBefore, ...(rules !== undefined && { rules }) };
      for (const token of this.goodTokens(wallet, now)) yield { item: 'token', wallet, token };
      for (const { intent, ...charge } of charges.values()) {
        const isIntentKept = intent !== undefined && charge.at >= now - retentionSeconds;
        if (charge.deadline < now - HORIZON_SECONDS && !isIntentKept) continue;
        yield { item: 'charge', wallet, charge: isIntentKept ? { ...charge, intent } : charge };
      }
      for (const answer of answers.values()) {
        if (answer.until > now) yield { item: 'answer', wallet, answer };
      }
    }
  }

  /** The tokens of a wallet that are neither expired nor revoked. @param now - Unix seconds. */
  goodTokens(wallet: string, now: number): readonly IssuedToken[] {
    const { tokens, notBefore } = this.#walletOf(wallet);
    return [...tokens.values()].filter(
      ({ id, createdAt, expiresAt }) =>
        expiresAt > now && createdAt >= notBefore && !this.revoked.has(id),
    );
  }

  #applyToOwner({ event, owner, wallet }: JournalEvent): void {
    if (owner === undefined) return;
    if (event === 'wallet_wanted' && !this.owners.has(owner)) this.owners.set(owner, undefined);
    // The first wallet is the owner's; another one never replaces it.
    if (event === 'wallet_created') this.owners.set(owner, this.owners.get(owner) ?? wallet);
  }

  #walletOf(address: string): WalletRecord {
    const known = this.wallets.get(address);
    if (known !== undefined) return known;
    const made: WalletRecord = {
      rules: undefined,
      notBefore: 0,
      charges: new Map<string, StoredCharge>(),
      tokens: new Map<string, IssuedToken>(),
      answers: new Map<string, StoredAnswer>(),
    };
    this.wallets.set(address, made);
    return made;
  }
}

function chargeOf({ charges }: WalletRecord, id: string, deadline: number): StoredCharge {
  const name = nameOf(id, deadline);
  const known = charges.get(name);
  if (known !== undefined) return known;
  const made = {
    id,
    deadline,
    at: 0,
    order: 0,
    isSigned: false,
    isSpent: false,
    isReleased: false,
  };
  charges.set(name, made);
  return made;
}

function nameOf(id: string, deadline: number): string {
  return `${id}@${deadline}`;
}
