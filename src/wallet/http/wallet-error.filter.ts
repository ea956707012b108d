import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { sendJson } from '../../platform/http/json.js';
import { FacilitatorError } from '../../protocol/errors.js';
import { refusalOf } from '../tools/refusal.js';
import { WalletError, type WalletErrorCode } from '../wallet-error.js';

const STATUS: Readonly<Record<WalletErrorCode, number>> = {
  policy_violation: 403,
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  rate_limited: 429,
  wallet_locked: 423,
  INSUFFICIENT_FUNDS: 400,
  INVALID_TRANSACTION: 400,
  unsupported_method: 400,
  provider_refused: 403,
  provider_unavailable: 503,
  outcome_unknown: 502,
  fetch_refused: 403,
  fetch_failed: 502,
  no_acceptable_offer: 422,
  unavailable: 503,
};

/** Answers of the wallet's routes that are not data. Whatever it does not know the others handle. */
@Catch(FacilitatorError)
export class WalletErrorFilter implements ExceptionFilter<FacilitatorError> {
  constructor(private readonly config: AppConfig) {}

  catch(error: FacilitatorError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    if (response.headersSent) {
      response.end();
      return;
    }
    const status = error instanceof WalletError ? STATUS[error.code] : 503;
    if (error instanceof WalletError && error.facts.retryAfterSeconds !== undefined) {
      response.setHeader('Retry-After', error.facts.retryAfterSeconds);
    }
    if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
    sendJson(response, status, refusalOf(error, this.config.wallet?.publicUrl ?? ''));
  }
}
