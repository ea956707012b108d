import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import type { Secret } from '../../platform/config/secret.js';

/** Prefix of secrets in Standard Webhooks. */
const PREFIX = 'whsec_';

/** The secrets of endpoints. They are not stored, but derived from their names and `WEBHOOK_KEY`. */
@Injectable()
export class WebhookSecrets {
  readonly #key: Secret<string>;

  constructor({ webhooks }: AppConfig) {
    if (webhooks === undefined) throw new TypeError('WEBHOOK_KEY is not set');
    this.#key = webhooks.key;
  }

  /** The secret in the form that its owner gets, once. */
  textOf(endpointId: string, name: string): string {
    return `${PREFIX}${this.#bytesOf(endpointId, name).toString('base64')}`;
  }

  /**
   * The headers of one attempt, after Standard Webhooks: a signature by each secret, so that a receiver may
   * know the old one or the new one.
   *
   * @param seconds - when it is sent, since the epoch.
   */
  headersOf(
    endpointId: string,
    names: readonly string[],
    { eventId, body, seconds }: SignedEvent,
  ): Readonly<Record<string, string>> {
    const signatures = names.map((name) => {
      const mac = createHmac('sha256', this.#bytesOf(endpointId, name));
      return `v1,${mac.update(`${eventId}.${seconds}.${body}`).digest('base64')}`;
    });
    return {
      'content-type': 'application/json',
      'webhook-id': eventId,
      'webhook-timestamp': String(seconds),
      'webhook-signature': signatures.join(' '),
    };
  }

  #bytesOf(endpointId: string, name: string): Buffer {
    const mac = createHmac('sha256', this.#key.reveal());
    return mac.update(JSON.stringify(['webhook secret', endpointId, name])).digest();
  }
}

interface SignedEvent {
  readonly eventId: string;
  readonly body: string;
  readonly seconds: number;
}
