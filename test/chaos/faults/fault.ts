import type { SeededRandom } from '../../support/seeded-random.js';
import type { Expectations } from '../invariants.js';
import type { Stage } from '../stage.js';

/** Something that goes wrong while payments are on their way. */
export interface Fault {
  /** What is counted: all faults of one kind differ in details only. */
  readonly kind: string;
  readonly name: string;
  readonly expectations?: Partial<Expectations>;
  /** Nodes alone were at fault: ten seconds after, all is as if nothing had been. */
  readonly isOfNodes?: boolean;
  /** Whether a lane may be without its key until every seller has its answer. */
  readonly areLanesTaken?: boolean;
  /** All answering processes may be new ones afterwards: what they remember of requests is gone. */
  readonly areRequestsForgotten?: boolean;
  /** Reasons that say nothing about a payment while this goes on. */
  readonly meaningless?: readonly string[];
  /** Reasons that say nothing about a payment where another fault takes the other node away: a liar is alone then. */
  readonly meaninglessAlone?: readonly string[];
  /** The same, of a payment whose payer's own transaction comes before it. */
  readonly meaninglessAfterApproval?: readonly string[];
  /** Before any payment is made; nothing is on its way. */
  prepare?(stage: Stage, random: SeededRandom): Promise<void>;
  run(stage: Stage, random: SeededRandom): Promise<void>;
  /** When every seller has its answer, or has waited long. */
  undo?(stage: Stage): Promise<void>;
}

/** A moment that never comes is waited for this long. */
export const MOMENT_TIMEOUT_MS = 3000;
