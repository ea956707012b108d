import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from '../platform/http/json.js';
import { whenAnswered, whenOver } from '../platform/http/response-end.js';
import { StatedProblem } from '../platform/http/stated-problem.js';
import { REASONS } from '../protocol/reasons.js';
import type { Finality } from '../settlement/model/settlement.js';
import type { Connection } from './settle/requester-wait.js';
import type { SettleAnswer } from './settle/settle-answer.js';

/** The client's side of a settle request, as its socket shows it. */
export function connectionOf(response: ServerResponse): Connection {
  const closed = new Promise<void>((resolve) => {
    whenOver(response, () => {
      if (!response.writableFinished) resolve();
    });
  });
  return {
    closed,
    get isWritable(): boolean {
      return !response.destroyed && response.socket?.writable === true;
    },
  };
}

/**
 * Writes a settle answer. One that sells is taken back when the connection closes before the last
 * byte of it was handed over.
 */
export function sendSettleAnswer(response: ServerResponse, answer: SettleAnswer): void {
  const { rollBack, settlementId, finality, retryAfterSeconds, status, body } = answer;
  const { extensionResponses } = answer;
  if (rollBack !== undefined) {
    if (response.destroyed || response.socket?.writable !== true) {
      void rollBack();
      return;
    }
    whenAnswered(response, (isHandedOver) => {
      if (!isHandedOver) void rollBack();
    });
  }
  if (settlementId !== undefined) response.setHeader('Settlement-Id', settlementId);
  response.setHeader('Settle-Finality', finality);
  if (extensionResponses !== undefined) {
    response.setHeader('EXTENSION-RESPONSES', extensionResponses);
  }
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
  if (status === 202 && settlementId !== undefined) {
    response.setHeader('Preference-Applied', 'respond-async');
    response.setHeader('Location', `/v2/settlements/${settlementId}`);
  }
  sendJson(response, status, body);
}

/** `Settle-Finality: included | finalized`; anything else leaves the setting in force. */
export function finalityOf(request: IncomingMessage, otherwise: Finality): Finality {
  const wanted = textOf(request, 'settle-finality')?.trim().toLowerCase();
  return wanted === 'included' || wanted === 'finalized' ? wanted : otherwise;
}

/** `Prefer: respond-async` (RFC 7240). */
export function wantsAsync(request: IncomingMessage): boolean {
  const preferences = textOf(request, 'prefer')?.split(',') ?? [];
  return preferences.some((one) => one.trim().toLowerCase() === 'respond-async');
}

/**
 * The seller's `Idempotency-Key`.
 *
 * @throws StatedProblem for one that no order has: all orders of that seller would share it, and every one but the
 * first would be refused.
 */
export function idempotencyKeyOf(request: IncomingMessage): string | undefined {
  const key = textOf(request, 'idempotency-key')?.trim();
  if (key === undefined) return undefined;
  if (key !== '' && !SLIPS.test(key)) return key;
  const shown = key === '' ? 'empty' : `"${key}"`;
  throw new StatedProblem(
    400,
    'invalid_idempotency_key',
    `${REASONS.invalid_idempotency_key.meaning} Idempotency-Key is ${shown}. Send one key per order, or leave the header out.`,
  );
}

/** What languages write for a value that is not there, or that is no text. */
const SLIPS = /^(?:undefined|null|nan|none|nil|<nil>|true|false|\[object [a-z]{1,20}\])$/i;

/** Node joins repeated headers, except the few that it knows to be single. */
function textOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.join(', ');
}
