import { randomBytes } from 'node:crypto';
import type { Selectable } from 'kysely';
import { hexOf } from '../postgres/bytea.js';
import type { Tables } from '../postgres/tables.js';
import type { DisabledReason, EventType, Webhook } from './webhook.js';

export function webhookOf(row: Selectable<Tables['webhook_endpoints']>): Webhook {
  const { disabled_at, disabled_reason } = row;
  return {
    id: row.id,
    owner: row.owner,
    url: row.url,
    description: row.description,
    payees: row.payees.map((payee) => hexOf(payee)),
    events: row.event_types as EventType[],
    secretNames: row.secret_names,
    createdAt: row.created_at,
    confirmedAt: row.confirmed_at ?? undefined,
    failingSince: row.failing_since ?? undefined,
    disabled:
      disabled_at === null
        ? undefined
        : { at: disabled_at, reason: disabled_reason as DisabledReason },
  };
}

/** A random id for an event that has no natural id. */
export const newEventId = (): string => `evt_${randomBytes(24).toString('base64url')}`;
/** The text with which a URL has to answer. Only that URL sees it. */
export const newChallenge = (): string => randomBytes(24).toString('base64url');
export const newWebhookId = (): string => `we_${randomBytes(18).toString('base64url')}`;
export const newSecretName = (): string => `ws_${randomBytes(9).toString('base64url')}`;
