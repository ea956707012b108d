import { APIConnectionError, APIConnectionTimeoutError, APIError } from '@privy-io/node';
import { WalletError } from '../../wallet-error.js';
import type { ProviderOutcome } from '../../wallet-observer.js';

/** A failed request to Privy. */
export interface PrivyFailure {
  readonly outcome: Exclude<ProviderOutcome, 'ok'>;
  /** The pause that Privy asks for, if any. */
  readonly retryAfterMs: number | undefined;
}

/** The request was never sent: no server listened, or the name is unknown. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

/** Reads errors of the SDK. Privy's own text is not used, because it may repeat the request. */
export function failureOf(error: unknown): PrivyFailure {
  if (error instanceof APIConnectionTimeoutError) return failure('timeout');
  if (error instanceof APIConnectionError) {
    const code = codeOf(error);
    return failure(code !== undefined && NOT_SENT.has(code) ? 'unreachable' : 'timeout');
  }
  if (!(error instanceof APIError) || error.status === undefined) return failure('wrong_answer');
  const { status, headers, error: body } = error as APIError<number>;
  if (status === 429) return { outcome: 'rate_limited', retryAfterMs: retryAfterMs(headers) };
  if (status === 408 || status >= 500) {
    return { outcome: 'server_error', retryAfterMs: retryAfterMs(headers) };
  }
  if (errorCode(body) === 'policy_violation') return failure('policy_violation');
  if (status === 401) return failure('credentials_refused');
  if (status === 409) return failure('conflict');
  return failure(status >= 400 ? 'refused' : 'wrong_answer');
}

/** In the terms of the port; see `WalletProvider`. */
export function errorOf({ outcome, retryAfterMs: waitMs }: PrivyFailure): WalletError {
  const facts = waitMs === undefined ? {} : { retryAfterSeconds: Math.ceil(waitMs / 1000) };
  switch (outcome) {
    case 'policy_violation':
      return new WalletError(
        'provider_refused',
        'The policy of the custody provider does not allow this request.',
      );
    case 'credentials_refused':
      return new WalletError(
        'provider_refused',
        'The custody provider refused the credentials of this service. The operator has to check them.',
      );
    case 'refused':
    case 'conflict':
      return new WalletError('provider_refused', 'The custody provider refused the request.');
    case 'rate_limited':
    case 'unreachable':
      return new WalletError(
        'provider_unavailable',
        'The custody provider is unavailable. Try again.',
        facts,
      );
    case 'server_error':
    case 'timeout':
    case 'wrong_answer':
      return new WalletError(
        'outcome_unknown',
        'The custody provider did not report a result. Repeat the same request.',
        facts,
      );
  }
}

function failure(outcome: PrivyFailure['outcome']): PrivyFailure {
  return { outcome, retryAfterMs: undefined };
}

/** The code of the socket error, inside the errors of fetch and the SDK. */
function codeOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  return undefined;
}

function errorCode(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined;
}

/** Seconds or an HTTP date (RFC 9110); any other value counts as absent. */
function retryAfterMs(headers: Headers | undefined): number | undefined {
  const text = headers?.get('retry-after');
  if (!text) return undefined;
  const ms = /^\d{1,6}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}
