import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { asked } from '../postgres/database.js';
import { InjectTables } from '../postgres/database.module.js';
import type { Tables } from '../postgres/tables.js';

/** The pending deliveries of all endpoints that are enabled and have answered the challenge. */
export interface WebhookBacklog {
  readonly waiting: number;
  /** Seconds since the oldest event happened. */
  readonly oldestSeconds: number;
  /** Seconds since the first attempt was due. */
  readonly overdueSeconds: number;
  readonly disabledEndpoints: number;
}

@Injectable()
export class WebhookHealth {
  constructor(@InjectTables('background') private readonly db: Kysely<Tables>) {}

  /** @throws ArchiveError */
  async backlog(): Promise<WebhookBacklog> {
    const { rows } = await asked(
      sql<Record<'waiting' | 'oldest' | 'overdue' | 'disabled', string | null>>`
        select count(*) as waiting,
          extract(epoch from now() - min(event.created_at)) as oldest,
          extract(epoch from now() - min(due_at)) as overdue,
          (select count(*) from x402.webhook_endpoints where disabled_at is not null) as disabled
        from x402.webhook_deliveries
          join x402.webhook_endpoints endpoint on endpoint.id = endpoint_id
            and disabled_at is null and confirmed_at is not null
          join x402.webhook_events event using (sequence)
        where state = 'waiting'`.execute(this.db),
    );
    const [row] = rows;
    return {
      waiting: Number(row?.waiting ?? 0),
      oldestSeconds: Math.max(0, Number(row?.oldest ?? 0)),
      overdueSeconds: Math.max(0, Number(row?.overdue ?? 0)),
      disabledEndpoints: Number(row?.disabled ?? 0),
    };
  }
}
