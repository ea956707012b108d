import type { Reason } from '../../protocol/reasons.js';
import { type StageEvent, STAGES, TRANSITIONS } from './settlement-machine.js';

/**
 * The state machine of an approval that the operator pays for, as one table beside that of its
 * settlement. Its events are those of the settlement, and two of its own. The Lua scripts are given
 * the same table. An event that is not listed for a state leaves the approval in it.
 */
export type SponsoringState =
  'none' | 'asked' | 'waiting' | 'funded' | 'approved' | 'sponsored' | 'wasted' | 'ended';

export type SponsoringEvent =
  | StageEvent
  /** The transaction that sends its payer native coins is stored. */
  | 'funded'
  /** The lane refuses it for a reason that is not its payer's: see {@link isBlameless}. */
  | 'turned_away';

/**
 * What an end leaves behind.
 *
 * - `payer`: it counts against the payer, who is suspended after three within ten minutes.
 * - `time`: how long it had a place is counted for its payer, who has {@link PLACE_MS} of that an hour, whatever it signs.
 * - `payment`: likewise, and the signed payment has no place again.
 */
type SponsoringMark = 'payer' | 'time' | 'payment';

interface SponsoringCell {
  readonly next: SponsoringState;
  readonly marks: readonly SponsoringMark[];
}

/**
 * How long a payment may have a place, and a payer in all where its places come to nothing. After this time its
 * transaction is one that no node mines.
 */
export const PLACE_MS = 60_000;

/** Refusals for what the operator is short of. Nothing of the payer's has failed. */
const BLAMELESS: readonly Reason[] = ['no_gas', 'budget_exhausted'];

export function isBlameless(reason: Reason): boolean {
  return BLAMELESS.includes(reason);
}

type Row = Readonly<Partial<Record<SponsoringEvent, SponsoringCell>>>;

const to = (next: SponsoringState, ...marks: SponsoringMark[]): SponsoringCell => ({ next, marks });

const SPONSORING: Readonly<Record<SponsoringState, Row>> = {
  none: { claimed: to('asked'), restored: to('approved') },
  asked: {
    taken: to('waiting'),
    expired: to('ended'),
    withdrawn: to('ended'),
    restored: to('approved'),
  },
  waiting: {
    given_back: to('asked'),
    postponed: to('asked'),
    funded: to('funded'),
    allocated: to('approved'),
    parked: to('approved'),
    recollect: to('asked'),
    refused: to('ended', 'payer', 'payment'),
    expired: to('ended', 'payer', 'payment'),
    turned_away: to('ended'),
    withdrawn: to('ended', 'time'),
    finalized_paid: to('ended'),
    finalized_unpaid_reverted: to('ended'),
    used_by_other_paid: to('ended'),
    used_by_other_unpaid: to('ended'),
    restored: to('approved'),
  },
  funded: {
    allocated: to('sponsored'),
    parked: to('sponsored'),
    refused: to('wasted', 'payer', 'payment'),
    expired: to('wasted', 'payer', 'payment'),
    turned_away: to('wasted', 'payer'),
    withdrawn: to('wasted', 'payer', 'time'),
    finalized_paid: to('ended'),
    finalized_unpaid_reverted: to('wasted', 'payer', 'payment'),
    used_by_other_paid: to('ended'),
    used_by_other_unpaid: to('wasted', 'payer', 'payment'),
    restored: to('sponsored'),
  },
  approved: {
    finalized_unpaid_requeue: to('asked'),
    recollect: to('asked'),
    unparked: to('asked'),
    expired: to('ended'),
    finalized_paid: to('ended'),
    finalized_unpaid_reverted: to('ended'),
    used_by_other_paid: to('ended'),
    used_by_other_unpaid: to('ended'),
  },
  sponsored: {
    finalized_unpaid_requeue: to('funded'),
    recollect: to('funded'),
    unparked: to('funded'),
    expired: to('wasted', 'payer'),
    finalized_paid: to('ended'),
    // A payment that reverts counts against its payer in any case.
    finalized_unpaid_reverted: to('wasted'),
    used_by_other_paid: to('ended'),
    used_by_other_unpaid: to('wasted', 'payer'),
  },
  wasted: {},
  ended: {},
};

export const SPONSORING_STATES = Object.keys(SPONSORING) as readonly SponsoringState[];

/** Every event that some state handles. */
export const SPONSORING_EVENTS: readonly SponsoringEvent[] = [
  ...new Set<SponsoringEvent>([
    ...STAGES.flatMap((stage) => Object.keys(TRANSITIONS[stage]) as StageEvent[]),
    'funded',
    'turned_away',
  ]),
];

export function sponsoringCell(
  state: SponsoringState,
  event: SponsoringEvent,
): SponsoringCell | undefined {
  return SPONSORING[state][event];
}

/** The event for an approval, given that of its settlement and why that ends. */
export function sponsoringEvent(event: StageEvent, reason?: Reason): SponsoringEvent {
  return event === 'refused' && reason !== undefined && isBlameless(reason) ? 'turned_away' : event;
}

/** Preparations of one lane at once. */
export const PLACES = 64;

/** Places of a lane that are in use. */
export interface PlacesInUse {
  readonly free: number;
  /** How many of the others are held, by asset. */
  readonly held: ReadonlyMap<string, number>;
}

export const ALL_PLACES: PlacesInUse = { free: PLACES, held: new Map() };

/**
 * Whether another payment of an asset may have a place: one asset alone gets half of them, and each that comes later
 * half of what is left. So there is room for seven, of which the last two have one place each. A payer has one
 * payment at a time.
 */
export function mayHavePlace(held: number, free: number): boolean {
  return held < free;
}

/** How many of `queueMax` settlements may wait for a sponsoring place. */
export function sponsoredMost(queueMax: number): number {
  return Math.ceil(queueMax / 4);
}

/** The table for Lua, as one text: `;state.event=next:marks;`, and the reasons that blame no payer. */
export function sponsoringLua(): string {
  const cells = SPONSORING_STATES.flatMap((state) =>
    SPONSORING_EVENTS.flatMap((event) => {
      const cell = sponsoringCell(state, event);
      if (cell === undefined) return [];
      return [`${state}.${event}=${cell.next}:${cell.marks.map((mark) => `+${mark}`).join('')}`];
    }),
  );
  return [
    `local SPONSORING = ';${cells.join(';')};'`,
    `local BLAMELESS = { ${BLAMELESS.map((reason) => `${reason} = true`).join(', ')} }`,
    `local PLACE_MS = ${PLACE_MS}`,
    '',
  ].join('\n');
}
