import type { IncomingMessage } from 'node:http';
import { StatedProblem } from '../platform/http/stated-problem.js';
import { REASONS } from '../protocol/reasons.js';
import type { Finality } from '../settlement/model/settlement.js';

/**
 * `Settle-Finality: included | finalized`.
 *
 * @param otherwise - without the header.
 * @throws StatedProblem for another value: a seller that misspells the header would deliver before the block is final.
 */
export function finalityOf(request: IncomingMessage, otherwise: Finality): Finality {
  const wanted = textOf(request, 'settle-finality')?.trim().toLowerCase();
  if (wanted === undefined) return otherwise;
  if (wanted === 'included' || wanted === 'finalized') return wanted;
  const message = 'Settle-Finality: included or finalized is expected.';
  throw new StatedProblem(400, 'invalid_payload', message);
}

/** `Prefer: respond-async` (RFC 7240). */
export function wantsAsync(request: IncomingMessage): boolean {
  const preferences = textOf(request, 'prefer')?.split(',') ?? [];
  return preferences.some((one) => one.trim().toLowerCase() === 'respond-async');
}

/**
 * The seller's `Idempotency-Key`.
 *
 * @throws StatedProblem for a key that cannot be an order's: all orders of that seller would share it, and only the
 *   first would be settled.
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

/** Texts that programming languages write for a missing value or a value that is not text. */
const SLIPS = /^(?:undefined|null|nan|none|nil|<nil>|true|false|\[object [a-z]{1,20}\])$/i;

/** Node joins repeated headers, except the few that it knows to be single. */
function textOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.join(', ');
}
