import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { RequestListener, Server } from 'node:http';
import { join } from 'node:path';
import { createApiKey } from '../src/operations/access/api-key.js';
import { SELLER } from './accounts.js';
import { listen } from './seller.js';

export interface SandboxKeys {
  /** For `/admin` on the operators' port. */
  readonly operator: string;
  /** Lists, exports, receipts, webhooks and simulated settles of the demo seller. */
  readonly seller: string;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * API keys of an operator and of the demo seller; verify, settle and the hub stay open, as the examples use them.
 *
 * @param folder - for the file with their hashes.
 */
export function makeKeys(folder: string): SandboxKeys {
  const operator = createApiKey('operator', ['admin']);
  const seller = createApiKey('seller', ['history', 'simulate', 'settle'], [SELLER.address]);
  const file = join(folder, 'api-keys.json');
  const keys = [operator.record, seller.record];
  writeFileSync(file, JSON.stringify({ version: 1, keys }), { mode: 0o600 });
  const settings = {
    API_KEYS_FILE: file,
    OPEN_SCOPES: 'verify,settle,hub',
    RECEIPT_KEY: `0x${randomBytes(32).toString('hex')}`,
    WEBHOOK_KEY: randomBytes(32).toString('hex'),
    WEBHOOK_ALLOW: '127.0.0.1',
  };
  return { operator: operator.key, seller: seller.key, settings };
}

const BODY_MAX_CHARACTERS = 64 * 1024;

interface Event {
  readonly type: string;
  readonly data: {
    readonly challenge?: string;
    readonly settlementId?: string;
    readonly transaction?: string;
  };
}

/**
 * A server that takes the seller's webhooks and prints a line for each. It answers the challenge by which its URL is
 * confirmed, and checks no signature: docs/webhooks.md shows how a real one does.
 *
 * @throws Error when the facilitator does not take the webhook.
 */
export async function printWebhooks(
  facilitatorUrl: string,
  key: string,
  port: number,
): Promise<Server> {
  const print: RequestListener = (request, response) => {
    let text = '';
    request.on('data', (part: Buffer) => {
      if (text.length < BODY_MAX_CHARACTERS) text += part.toString();
    });
    request.on('end', () => {
      try {
        const { type, data } = JSON.parse(text) as Event;
        const id = data.settlementId ?? '';
        if (data.challenge === undefined) console.log(`  webhook  ${type}  ${id}`);
        response.end(data.challenge ?? '');
      } catch {
        response.statusCode = 400;
        response.end('This takes webhooks.\n');
      }
    });
  };
  const server = await listen(print, port);
  const response = await fetch(`${facilitatorUrl}/v2/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ url: `http://127.0.0.1:${port}/`, events: EVENTS }),
  });
  if (!response.ok) throw new Error(`The webhook was not taken: ${await response.text()}`);
  return server;
}

const EVENTS = [
  'settlement.included',
  'settlement.finalized',
  'settlement.failed',
  'settlement.unclaimed',
];
