import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import { CodedError } from '../../platform/http/coded-error.js';
import type { DifferenceView, OperatorAction } from './dto/operator.response.js';
import { withinTime } from './operator-answers.js';
import {
  type ArchivedNote,
  OPERATOR_ARCHIVE,
  type OperatorArchive,
  type ReportedEvent,
} from './operator-archive.js';
import { actionView, differenceView } from './operator-history.js';

/** A settlement, as far as its past is looked for by it. */
interface PastOf {
  readonly id: string;
  readonly chainId: number;
  /** Milliseconds since the epoch; missing where the ledger lost it. */
  readonly claimedAt: number | undefined;
  readonly finishedAt: number | undefined;
}

/** What the history has about one settlement, beside the settlement itself. */
export type SettlementPast =
  | { readonly status: 'off' }
  /** It cannot be asked: nothing is said of it. */
  | { readonly status: 'unavailable'; readonly code: string; readonly error: string }
  | {
      readonly status: 'known';
      /** Missing for one that is not archived yet. */
      readonly row: ArchivedNote | undefined;
      readonly events: readonly ReportedEvent[];
      readonly differences: readonly DifferenceView[];
      /** What operators did on its network while it was under way, and an hour before. */
      readonly actions: readonly OperatorAction[];
    };

const ROWS_MOST = 100;
const ACTIONS_MOST = 20;
const BEFORE_MS = 3_600_000;

/** The past of one settlement. A history that is away takes nothing from what the ledger shows. */
@Injectable()
export class SettlementPasts {
  /** @param archive - `undefined` without a history. */
  constructor(
    @Inject(OPERATOR_ARCHIVE) private readonly archive: OperatorArchive | undefined,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  async of(settlement: PastOf): Promise<SettlementPast> {
    if (this.archive === undefined) return { status: 'off' };
    try {
      return await withinTime(this.#read(this.archive, settlement));
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
    const [row, events, differences, actions] = await Promise.all([
      archive.note(id),
      archive.eventsOf(id, ROWS_MOST),
      archive.differencesOf(id, ROWS_MOST),
      times &&
        archive.actions(
          { chainId, by: undefined, subject: undefined, ...times },
          undefined,
          ACTIONS_MOST,
        ),
    ]);
    return {
      status: 'known',
      row,
      events,
      differences: differences.map(differenceView),
      actions: (actions ?? []).map(actionView),
    };
  }
}
