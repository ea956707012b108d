import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from '@nestjs/common';
import type { Response } from 'express';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { STATUS_OF_CODE, statusOf } from '../../platform/http/error-status.js';
import { sendJson } from '../../platform/http/json.js';
import { FacilitatorError } from '../../protocol/errors.js';
import { refusalOf } from '../tools/refusal.js';
import { WalletError, type WalletErrorCode } from '../wallet-error.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';

/** Every error code of the wallet is in this table. */
const STATUS: Readonly<Record<WalletErrorCode, number>> = STATUS_OF_CODE;

/** Error answers of the wallet's routes. Other filters handle other errors. */
@Catch(FacilitatorError)
export class WalletErrorFilter implements ExceptionFilter<FacilitatorError> {
  constructor(@Inject(WALLET_SETTINGS) private readonly settings: WalletConfig) {}

  catch(error: FacilitatorError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    if (response.headersSent) {
      response.end();
      return;
    }
    const status = error instanceof WalletError ? STATUS[error.code] : (statusOf(error) ?? 503);
    if (error instanceof WalletError && error.facts.retryAfterSeconds !== undefined) {
      response.setHeader('Retry-After', error.facts.retryAfterSeconds);
    }
    const challenge = error instanceof WalletError ? error.facts.challenge : undefined;
    if (challenge !== undefined || status === 401) {
      response.setHeader('WWW-Authenticate', challenge ?? 'Bearer');
    }
    const place = error instanceof WalletError ? error.facts.place : undefined;
    sendJson(response, status, { ...refusalOf(error, this.settings.publicUrl), ...place });
  }
}
