import { Injectable } from '@nestjs/common';
import { type Kysely, sql, type Transaction } from 'kysely';
import { asked } from '../postgres/database.js';
import { InjectTables } from '../postgres/database.module.js';
import type { Tables } from '../postgres/tables.js';
import { addDeliveries } from './event-writer.js';
import type { LaneChange, LaneLevels } from './lane-levels.js';
import { newEventId } from './rows.js';

/**
 * {@link LaneLevels} in PostgreSQL. The deciding process holds a lock until the level is stored, or its connection is
 * lost.
 */
@Injectable()
export class PostgresLaneLevels implements LaneLevels {
  constructor(@InjectTables('background') private readonly db: Kysely<Tables>) {}

  change(
    decide: (isLow: ReadonlyMap<string, boolean>) => Promise<readonly LaneChange[]>,
  ): Promise<void> {
    return asked(
      this.db.transaction().execute(async (transaction) => {
        const { rows } = await sql<{ readonly isMine: boolean }>`
          select pg_try_advisory_xact_lock(hashtextextended('levels of lanes', 0)) as "isMine"`.execute(
          transaction,
        );
        if (rows[0]?.isMine !== true) return;
        const known = await transaction
          .selectFrom('lane_levels')
          .select(['lane', 'is_low'])
          .execute();
        const changes = await decide(new Map(known.map(({ lane, is_low }) => [lane, is_low])));
        for (const change of changes) await keep(transaction, change);
      }),
    );
  }
}

async function keep(
  transaction: Transaction<Tables>,
  { lane, isLow, body }: LaneChange,
): Promise<void> {
  await transaction
    .insertInto('lane_levels')
    .values({ lane, is_low: isLow })
    .onConflict((conflict) =>
      conflict.column('lane').doUpdateSet({ is_low: isLow, changed_at: sql<Date>`now()` }),
    )
    .execute();
  if (body === undefined) return;
  const listeners = await transaction
    .selectFrom('webhook_endpoints')
    .select('id')
    .where('disabled_at', 'is', null)
    .where(sql<boolean>`'lane.low' = any (event_types)`)
    .forKeyShare()
    .execute();
  const line = Buffer.from(lane);
  // The event is stored also without a subscriber, so that a later one can replay it.
  const { sequence } = await transaction
    .insertInto('webhook_events')
    .values({ id: newEventId(), type: 'lane.low', line, pay_to: null, body })
    .returning('sequence')
    .executeTakeFirstOrThrow();
  await addDeliveries(
    transaction,
    listeners.map(({ id }) => ({ endpoint_id: id, sequence, line })),
  );
}
