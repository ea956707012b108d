import type { Address, Hex } from 'viem';
import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';
import { inFlightKindOf } from '../../../../src/protocol/payment/payment-facts.js';
import type { Reason } from '../../../../src/protocol/reasons.js';
import type {
  Ending,
  FailedTransaction,
  ParkReason,
  StoredInclusion,
} from '../../../../src/settlement/ledger/lane-store.js';
import { type Attempt, newestTransactionOf } from '../../../../src/settlement/model/attempt.js';
import type { SettlementState } from '../../../../src/settlement/model/settlement.js';
import {
  nextStage,
  type Stage,
  type StageEvent,
  STATE_OF,
} from '../../../../src/settlement/model/settlement-machine.js';
import {
  sponsoringCell,
  type SponsoringEvent,
  sponsoringEvent,
  type SponsoringState,
} from '../../../../src/settlement/model/sponsoring-machine.js';

export interface Claim {
  readonly id: string;
  readonly payment: AcceptedPayment;
  readonly claimedAt: number;
  stage: Stage;
  isAcknowledged: boolean;
  isAsync: boolean;
  wasIncluded: boolean;
  isResubmitted: boolean;
  resubmissions: number;
  lane: string | undefined;
  accountNonce: number | undefined;
  hashes: Hex[];
  sinceBlock: bigint | undefined;
  inclusion: StoredInclusion | undefined;
  tries: number;
  dueAt: number;
  why: ParkReason | undefined;
  failed: FailedTransaction | undefined;
  parkTries: number;
  ending: Ending | undefined;
  reason: Reason | undefined;
  approval: SponsoringState;
}

/** Pauses before a told settlement is sent again, milliseconds. */
const COLLECT_PAUSES_MS = [0, 5000, 15_000, 60_000] as const;
const RESUBMISSIONS_MOST = 60;

/** The claims of a ledger in memory, and what requesters and workers without a lane do with them. */
export class MemoryClaims {
  #claims = new Map<string, Claim>();

  /** @param blame - counts what came to nothing against its payer. */
  constructor(
    private readonly now: () => number,
    private readonly blame: (payer: Address) => void,
  ) {}

  // ---------------------------------------------------------------- what requesters do

  claim(id: string, payment: AcceptedPayment, { isAsync = false } = {}): void {
    this.#claims.set(id, {
      id,
      payment,
      claimedAt: this.now(),
      stage: 'pending',
      isAcknowledged: false,
      isAsync,
      wasIncluded: false,
      isResubmitted: false,
      resubmissions: 0,
      lane: undefined,
      accountNonce: undefined,
      hashes: [],
      sinceBlock: undefined,
      inclusion: undefined,
      tries: 0,
      dueAt: 0,
      why: undefined,
      failed: undefined,
      parkTries: 0,
      ending: undefined,
      reason: undefined,
      approval: 'none',
    });
    this.sponsor(this.mustHave(id), 'claimed');
  }

  /** Acknowledges success to a requester. */
  tell(id: string, resubmissions = 0): void {
    const claim = this.#claims.get(id);
    if (claim === undefined) return;
    claim.isAcknowledged = true;
    claim.resubmissions = resubmissions;
  }

  withdraw(id: string): boolean {
    const claim = this.#claims.get(id);
    return claim !== undefined && this.move(claim, 'withdrawn');
  }

  stateOf(id: string): SettlementState | undefined {
    const stage = this.stageOf(id);
    return stage === 'none' ? undefined : STATE_OF[stage];
  }

  stageOf(id: string): Stage {
    return this.#claims.get(id)?.stage ?? 'none';
  }

  endingOf(id: string): { readonly ending?: Ending; readonly reason?: Reason } {
    const { ending, reason } = this.#claims.get(id) ?? {};
    return { ...(ending && { ending }), ...(reason && { reason }) };
  }

  hashesOf(id: string): readonly Hex[] {
    return this.#claims.get(id)?.hashes ?? [];
  }

  /** Returns a function that restores the present state. */
  snapshot(): () => void {
    const copy = structuredClone(this.#claims);
    return () => {
      this.#claims = copy;
    };
  }

  // ---------------------------------------------------------------- what lanes do

  /** Its signed bytes are stored again; a lost record is rebuilt. */
  restore(id: string, payment: AcceptedPayment, lane: string, attempt: Attempt): void {
    if (!this.#claims.has(id)) {
      this.claim(id, payment);
      this.mustHave(id).stage = 'none';
    }
    const claim = this.mustHave(id);
    if (this.move(claim, 'restored')) this.bind(claim, lane, attempt);
  }

  move(claim: Claim, event: StageEvent): boolean {
    const next = nextStage(claim.stage, event);
    if (next === undefined) return false;
    this.sponsor(claim, sponsoringEvent(event, claim.reason));
    claim.stage = next;
    return true;
  }

  /** What it means for the approval that comes before it. */
  sponsor(claim: Claim, event: SponsoringEvent): void {
    if (inFlightKindOf(claim.payment) !== 'a') return;
    const cell = sponsoringCell(claim.approval, event);
    if (cell === undefined) return;
    if (cell.marks.includes('payer')) this.blame(claim.payment.authorization.from);
    claim.approval = cell.next;
  }

  end(claim: Claim, ending: Ending): void {
    const isOurs = claim.isAcknowledged || (claim.isAsync && claim.wasIncluded);
    const isUnused = ending.state === 'reverted' && ending.isUsed !== true;
    if (isUnused && isOurs && !this.isGivenUp(claim)) {
      this.collect(claim);
      return;
    }
    if (!this.move(claim, eventOf(ending))) return;
    claim.ending = ending;
    this.unbind(claim);
  }

  /** Whether it was resubmitted often enough: no goods depend on it. */
  isGivenUp({ payment, resubmissions }: Claim): boolean {
    return ['n', 'c'].includes(inFlightKindOf(payment)) && resubmissions >= RESUBMISSIONS_MOST;
  }

  collect(claim: Claim): boolean {
    if (!this.move(claim, 'recollect')) return false;
    const step = Math.min(claim.resubmissions, COLLECT_PAUSES_MS.length - 1);
    const pause = COLLECT_PAUSES_MS[step] ?? 0;
    claim.isResubmitted = true;
    claim.dueAt = this.now() + pause;
    claim.resubmissions += 1;
    claim.sinceBlock ??= 0n;
    this.unbind(claim);
    return true;
  }

  /** Nothing was tried, so that it does not count. */
  putOff(claim: Claim): void {
    if (!this.move(claim, 'recollect')) return;
    claim.dueAt = this.now() + (COLLECT_PAUSES_MS.at(-1) ?? 0);
    this.unbind(claim);
  }

  bind(claim: Claim, lane: string, attempt: Attempt): void {
    claim.lane = lane;
    claim.accountNonce = attempt.accountNonce;
    const { hash, isNoop } = newestTransactionOf(attempt);
    if (!isNoop && !claim.hashes.includes(hash)) claim.hashes.push(hash);
  }

  unbind(claim: Claim): void {
    claim.lane = undefined;
    claim.accountNonce = undefined;
    claim.inclusion = undefined;
  }

  /** Oldest first. */
  get all(): readonly Claim[] {
    return [...this.#claims.values()];
  }

  of(chainId: number, stage: Stage): Claim[] {
    return this.all.filter((claim) => claim.stage === stage && claim.payment.chainId === chainId);
  }

  inWork(lane: string, ids: readonly string[]): Claim[] {
    return ids.flatMap((id) => {
      const claim = this.#claims.get(id);
      return claim?.stage === 'work' && claim.lane === lane ? [claim] : [];
    });
  }

  bound(lane: string, accountNonce: number, ids: readonly string[]): Claim[] {
    return ids.flatMap((id) => {
      const claim = this.#claims.get(id);
      return claim?.lane === lane && claim.accountNonce === accountNonce ? [claim] : [];
    });
  }

  allInWork(lane: string): Claim[] {
    return this.inWork(lane, [...this.#claims.keys()]);
  }

  get(id: string): Claim | undefined {
    return this.#claims.get(id);
  }

  mustHave(id: string): Claim {
    const claim = this.#claims.get(id);
    if (claim === undefined) throw new TypeError(`no claim ${id}`);
    return claim;
  }
}

function eventOf({ state, isPaid }: Ending): StageEvent {
  switch (state) {
    case 'finalized':
      return 'finalized_paid';
    case 'reverted':
      return 'finalized_unpaid_reverted';
    case 'expired':
      return 'expired';
    case 'foreign':
      return isPaid ? 'used_by_other_paid' : 'used_by_other_unpaid';
  }
}
