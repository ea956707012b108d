import type { WebhookDelivery, WebhookView } from './dto/webhook.response.js';
import type { DeliveryReport, Webhook } from './webhook.js';

export function viewOf(webhook: Webhook): WebhookView {
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

export function deliveryViewOf(report: DeliveryReport): WebhookDelivery {
  const { happenedAt, triedAt, dueAt, ...plain } = report;
  return {
    ...plain,
    happenedAt: happenedAt.toISOString(),
    ...(triedAt !== undefined && { triedAt: triedAt.toISOString() }),
    ...(dueAt !== undefined && { dueAt: dueAt.toISOString() }),
  };
}
