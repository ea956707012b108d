import type { Webhook } from './webhook.js';
import type { DeliveryReport } from './webhook-store.js';

/** A webhook as its owner sees it. Secrets are shown when they are made, and never again. */
export function viewOf(webhook: Webhook): Readonly<Record<string, unknown>> {
  const { id, url, description, payees, events, secretNames, disabled, failingSince } = webhook;
  return {
    id,
    url,
    description,
    payees,
    events,
    secrets: secretNames.map((name) => ({ id: name })),
    createdAt: webhook.createdAt.toISOString(),
    ...(webhook.confirmedAt !== undefined && { confirmedAt: webhook.confirmedAt.toISOString() }),
    status: disabled === undefined ? 'enabled' : 'disabled',
    ...(failingSince !== undefined && { failingSince: failingSince.toISOString() }),
    ...(disabled !== undefined && {
      disabled: { at: disabled.at.toISOString(), reason: disabled.reason },
    }),
  };
}

export function deliveryViewOf(report: DeliveryReport): Readonly<Record<string, unknown>> {
  const { happenedAt, triedAt, dueAt, ...plain } = report;
  return {
    ...plain,
    happenedAt: happenedAt.toISOString(),
    ...(triedAt !== undefined && { triedAt: triedAt.toISOString() }),
    ...(dueAt !== undefined && { dueAt: dueAt.toISOString() }),
  };
}
