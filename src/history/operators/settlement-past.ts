import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import { CodedError } from '../../platform/http/coded-error.js';
import type { DifferenceView, OperatorAction } from './dto/operator.response.js';
import { forOperators } from './operator-answers.js';
import {
  type ArchivedNote,
  OPERATOR_ARCHIVE,
  type OperatorArchive,
  type ReportedEvent,
} from './operator-archive.js';
import { actionView, differenceView } from './operator-history.js';

/** The facts by which the past of a settlement is found. */
interface PastOf {
  readonly id: string;
  readonly chainId: number;
  /** Milliseconds since the epoch; missing if the ledger lost it. */
  readonly claimedAt: number | undefined;
  readonly finishedAt: number | undefined;
}

/** The archived facts of one settlement, beside its record. */
export type SettlementPast =
  | { readonly status: 'off' }
  /** The archive does not answer, so nothing is known about the settlement. */
  | { readonly status: 'unavailable'; readonly code: string; readonly error: string }
  | {
      readonly status: 'known';
      /** Missing while the settlement is not archived. */
      readonly row: ArchivedNote | undefined;
      readonly events: readonly ReportedEvent[];
      readonly differences: readonly DifferenceView[];
      /** Actions of operators on it, and on its network from one hour before its claim to its end. */
      readonly actions: readonly OperatorAction[];
    };

const ROWS_MOST = 100;
const ACTIONS_MOST = 20;
const BEFORE_MS = 3_600_000;

/** The archived past of one settlement. Without the archive, the facts of the ledger are still shown. */
@Injectable()
export class SettlementPasts {
  /** @param archive - `undefined` without a database. */
  constructor(
    @Optional() @Inject(OPERATOR_ARCHIVE) private readonly archive: OperatorArchive | undefined,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  async of(settlement: PastOf): Promise<SettlementPast> {
    if (this.archive === undefined) return { status: 'off' };
    try {
      return await forOperators(this.#read(this.archive, settlement));
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      return { status: 'unavailable', code: error.code, error: error.message };
    }
  }

  async #read(archive: OperatorArchive, settlement: PastOf): Promise<SettlementPast> {
    const { id, chainId, claimedAt, finishedAt } = settlement;
    const times =
      claimedAt === undefined
        ? undefined
        : { from: new Date(claimedAt - BEFORE_MS), to: new Date(finishedAt ?? this.clock.now()) };
    // From its claim on, so that the index bounds the search.
    const since = {
      from: claimedAt === undefined ? undefined : new Date(claimedAt),
      to: undefined,
    };
    const [row, events, differences, own, actions] = await Promise.all([
      archive.note(id),
      archive.eventsOf(id, ROWS_MOST),
      archive.differencesOf(id, ROWS_MOST),
      archive.actions({ chainId, by: undefined, subject: id, ...since }, undefined, ACTIONS_MOST),
      times &&
        archive.actions(
          { chainId, by: undefined, subject: undefined, ...times },
          undefined,
          ACTIONS_MOST,
        ),
    ]);
    const all = new Map([...(own ?? []), ...(actions ?? [])].map((one) => [one.id, one]));
    return {
      status: 'known',
      row,
      events,
      differences: differences.map(differenceView),
      actions: [...all.values()].map(actionView),
    };
  }
}
