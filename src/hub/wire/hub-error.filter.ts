import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Injectable,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../../platform/config/app-config.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { statusOf } from '../../platform/http/error-status.js';
import { sendJson } from '../../platform/http/json.js';
import { StorageUnavailableError } from '../errors.js';
import { HubRefusal } from './hub-refusal.js';

const LEGACY_STATUS = 599;

/** Every answer of the hub that is not data, in the shape its clients know: `{"Type","Message"}`. */
@Injectable()
@Catch()
export class HubErrorFilter implements ExceptionFilter<unknown> {
  /** Whether the original answered these routes with 599. */
  protected readonly hadLegacyStatus: boolean = true;

  constructor(
    private readonly config: AppConfig,
    private readonly logger: PinoLogger,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    if (response.headersSent) {
      // Part of a payload is out: only a broken connection says that the rest is missing.
      this.logger.warn({ err: error }, 'a download was interrupted');
      response.destroy();
      return;
    }
    const refusal = this.#refusalOf(error);
    const { message, status, wasLegacyStatus, retryAfterSeconds } = refusal;
    if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
    // The rest of the body is not read: the connection is of no further use.
    if (!request.complete) response.setHeader('Connection', 'close');
    const isLegacy = this.hadLegacyStatus && wasLegacyStatus && this.config.hub.usesLegacyStatus;
    sendJson(response, isLegacy ? LEGACY_STATUS : status, { Type: 'hub', Message: message });
  }

  #refusalOf(
    error: unknown,
  ): Pick<HubRefusal, 'message' | 'status' | 'wasLegacyStatus' | 'retryAfterSeconds'> {
    if (error instanceof HubRefusal) return error;
    if (error instanceof StorageUnavailableError) {
      this.logger.error({ err: error }, 'the hub storage failed');
      return HubRefusal.unavailable('the storage of the hub is unavailable; try again');
    }
    if (statusOf(error) === 503) {
      return HubRefusal.unavailable('the index of the hub is unavailable; try again');
    }
    if (error instanceof CodedError) {
      return { message: error.message, status: error.status, wasLegacyStatus: false };
    }
    if (error instanceof HttpException && error.getStatus() < 500) {
      return { message: error.message, status: error.getStatus(), wasLegacyStatus: false };
    }
    this.logger.error({ err: error }, 'a hub request failed');
    return { message: 'internal error of the file hub', status: 500, wasLegacyStatus: false };
  }
}

/** The same for `/v1`, whose statuses have always said what is wrong. */
@Catch()
export class HubV1ErrorFilter extends HubErrorFilter {
  protected override readonly hadLegacyStatus = false;
}
