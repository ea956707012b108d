import type { SettlementState } from './settlement.js';

/**
 * The state machine of a settlement, as one table. A stage is where a claim stands; an event moves
 * it to another stage. A transition outside the table cannot happen: the Lua scripts are given the
 * same table and refuse the rest.
 */

/**
 * - `pending`: claimed, its job was not seen yet. `ready`: waits for a lane. `later`: waits for its time.
 *   `work`: in the hands of a lane, nothing signed. All four are `queued`.
 * - `attempt`: bound to an account nonce of a lane. `parked`: its outcome cannot be read now; a background task asks
 *   again. Both are `broadcast`.
 * - `none`: no record exists.
 */
export type Stage =
  | 'none'
  | 'pending'
  | 'ready'
  | 'later'
  | 'work'
  | 'attempt'
  | 'parked'
  | 'included'
  | 'finalized'
  | 'reverted'
  | 'expired'
  | 'foreign'
  | 'withdrawn';

export type StageEvent =
  /** A requester's payment was judged good. */
  | 'claimed'
  /** It was claimed, and there is nothing to send: it is settled by its record. */
  | 'nothing_due'
  /** Its job, or the sweep, reached a process that holds a lane. */
  | 'job_seen'
  /** A lane took it. */
  | 'taken'
  /** The lane will not send it now. */
  | 'given_back'
  /** The lane could not judge it now; it waits for a time. */
  | 'postponed'
  /** That time has come. */
  | 'due'
  /** Signed bytes that carry it are stored. */
  | 'allocated'
  /** More bytes are stored for the same account nonce. */
  | 'replaced'
  /** A block shows it paid. */
  | 'included'
  /** That block is not part of the chain any more. */
  | 'block_replaced'
  /** A final block shows it paid. */
  | 'finalized_paid'
  /** Its attempt is dead, it is unused and goes back to the queue, to be sent alone. */
  | 'finalized_unpaid_requeue'
  /** Its attempt is dead, it is unused and ends. */
  | 'finalized_unpaid_reverted'
  /** A final block shows it paid by a foreign transaction that copied a lane's one. */
  | 'used_by_other_paid'
  /** A final block shows it used without this payment. */
  | 'used_by_other_unpaid'
  /** Its deadline has passed, and it is unused. */
  | 'expired'
  /** Nothing was ever signed for it, and the lane refuses it. */
  | 'refused'
  /** Nothing was ever signed for it, and its requesters left. */
  | 'withdrawn'
  /** Its outcome cannot be read now. */
  | 'parked'
  /** It can be sent again. */
  | 'unparked'
  /** Success was acknowledged, and its attempt died unpaid: it is resubmitted. */
  | 'recollect'
  /** The ledger went back, and the lane still had its signed bytes. */
  | 'restored';

/** The state that everybody outside the engine sees. */
export const STATE_OF: Readonly<Record<Exclude<Stage, 'none'>, SettlementState>> = {
  pending: 'queued',
  ready: 'queued',
  later: 'queued',
  work: 'queued',
  attempt: 'broadcast',
  parked: 'broadcast',
  included: 'included',
  finalized: 'finalized',
  reverted: 'reverted',
  expired: 'expired',
  foreign: 'foreign',
  withdrawn: 'withdrawn',
};

/**
 * Where a settlement is listed while it is in a stage. A transition leaves the lists of the old stage
 * and enters those of the new one.
 *
 * - `live`: it is the live claim of its authorization, and one of the chain's unfinished.
 * - `queued`: it counts for the length of the queue and for the share of the account it is charged to.
 * - `reserved`: its amount counts against the payer's balance.
 * - `pending`, `ready`, `later`, `work`, `parked`: the list of that stage.
 */
type Listing = 'live' | 'queued' | 'reserved' | 'pending' | 'ready' | 'later' | 'work' | 'parked';

export const LISTINGS_OF: Readonly<Record<Stage, readonly Listing[]>> = {
  none: [],
  pending: ['live', 'queued', 'reserved', 'pending'],
  ready: ['live', 'queued', 'reserved', 'ready'],
  later: ['live', 'queued', 'reserved', 'later'],
  work: ['live', 'queued', 'reserved', 'work'],
  attempt: ['live', 'reserved'],
  parked: ['live', 'reserved', 'parked'],
  included: ['live'],
  finalized: [],
  reverted: [],
  expired: [],
  foreign: [],
  withdrawn: [],
};

type Row = Readonly<Partial<Record<StageEvent, Stage>>>;

/** An attempt that is dead, or may be: what a final block can say of it. */
const OUTCOMES: Row = {
  finalized_paid: 'finalized',
  finalized_unpaid_reverted: 'reverted',
  used_by_other_paid: 'foreign',
  used_by_other_unpaid: 'foreign',
  expired: 'expired',
  recollect: 'later',
};

/** The whole table: stage, event, next stage. */
export const TRANSITIONS: Readonly<Record<Stage, Row>> = {
  none: { claimed: 'pending', restored: 'attempt' },
  pending: {
    job_seen: 'ready',
    nothing_due: 'finalized',
    expired: 'expired',
    withdrawn: 'withdrawn',
    restored: 'attempt',
  },
  ready: { taken: 'work', expired: 'expired', withdrawn: 'withdrawn', restored: 'attempt' },
  later: { due: 'ready', expired: 'expired', withdrawn: 'withdrawn', restored: 'attempt' },
  work: {
    ...OUTCOMES,
    given_back: 'ready',
    postponed: 'later',
    allocated: 'attempt',
    parked: 'parked',
    refused: 'withdrawn',
    withdrawn: 'withdrawn',
    restored: 'attempt',
  },
  attempt: {
    ...OUTCOMES,
    replaced: 'attempt',
    included: 'included',
    finalized_unpaid_requeue: 'ready',
    parked: 'parked',
    restored: 'attempt',
  },
  parked: { ...OUTCOMES, parked: 'parked', unparked: 'ready', restored: 'attempt' },
  included: {
    included: 'included',
    block_replaced: 'attempt',
    finalized_paid: 'finalized',
    restored: 'attempt',
  },
  finalized: {},
  reverted: {},
  expired: {},
  foreign: {},
  // A ledger that went back may hold withdrawn what was sent since: the bytes decide.
  withdrawn: { restored: 'attempt' },
};

/** @returns the next stage; `undefined` where the event cannot happen in this stage. */
export function nextStage(stage: Stage, event: StageEvent): Stage | undefined {
  return TRANSITIONS[stage][event];
}

interface Effects {
  readonly leaves: readonly Listing[];
  readonly enters: readonly Listing[];
}

/** The effects of a transition on the lists. */
export function effectsOf(from: Stage, to: Stage): Effects {
  const [before, after] = [LISTINGS_OF[from], LISTINGS_OF[to]];
  return {
    leaves: before.filter((listing) => !after.includes(listing)),
    enters: after.filter((listing) => !before.includes(listing)),
  };
}

export const STAGES = Object.keys(TRANSITIONS) as readonly Stage[];

/**
 * The settlement machine for Lua, as one text that costs nothing to build: `;stage.event=next:lists;`,
 * where the lists are those left (`-`) and entered (`+`).
 */
export function machineLua(): string {
  const cells = STAGES.flatMap((stage) =>
    (Object.keys(TRANSITIONS[stage]) as StageEvent[]).map((event) => {
      const next = nextStage(stage, event) ?? stage;
      const { leaves, enters } = effectsOf(stage, next);
      const lists = [
        ...leaves.map((listing) => `-${listing}`),
        ...enters.map((listing) => `+${listing}`),
      ];
      return `${stage}.${event}=${next}:${lists.join('')}`;
    }),
  );
  return `local CELLS = ';${cells.join(';')};'\n`;
}
