import {
  type CanActivate,
  type ExecutionContext,
  HttpException,
  HttpStatus,
  Injectable,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { callerOf } from '../../platform/http/access.js';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import { limitHeaders } from '../../platform/rate-limit/rate-limiter.js';
import { DoctorLimiter } from './doctor-fetch.js';

const MINUTE_SECONDS = 60;

/** Every check is counted, also where no other limit is set: it makes this service ask others. */
@Injectable()
export class DoctorRateGuard implements CanActivate {
  constructor(
    private readonly limiter: DoctorLimiter,
    private readonly config: AppConfig,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const [request, response] = [http.getRequest<Request>(), http.getResponse<Response>()];
    const { checksPerMinute = 1 } = this.config.doctor ?? {};
    const key = callerOf(request);
    const caller = key === undefined ? `ip:${addressGroup(request.ip)}` : `key:${key}`;
    const rate = { requests: checksPerMinute, seconds: MINUTE_SECONDS, burst: checksPerMinute };
    const verdict = await this.limiter.take(caller, rate);
    for (const [name, value] of Object.entries(limitHeaders(verdict))) {
      response.setHeader(name, value);
    }
    if (!verdict.isAllowed) throw tooMany(response, verdict.retryAfterSeconds);
    return true;
  }
}

export function tooMany(response: Response, seconds: number): HttpException {
  response.setHeader('Retry-After', seconds);
  return new HttpException('Too many requests.', HttpStatus.TOO_MANY_REQUESTS);
}
