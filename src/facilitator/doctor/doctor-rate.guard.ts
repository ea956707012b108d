import { type CanActivate, type ExecutionContext, HttpStatus, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { callerOf } from '../../platform/http/access.js';
import { HttpRefusal, setHeaders } from '../../platform/http/answer.js';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import { limitHeaders } from '../../platform/rate-limit/rate-limiter.js';
import { DoctorLimiter } from './doctor-fetch.js';

const MINUTE_SECONDS = 60;

/** Counts every check, also where no other limit is set, because a check makes this service send requests to others. */
@Injectable()
export class DoctorRateGuard implements CanActivate {
  constructor(
    private readonly limiter: DoctorLimiter,
    private readonly config: AppConfig,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const { checksPerMinute = 1 } = this.config.doctor ?? {};
    const key = callerOf(request);
    const caller = key === undefined ? `ip:${addressGroup(request.ip)}` : `key:${key}`;
    const rate = { requests: checksPerMinute, seconds: MINUTE_SECONDS, burst: checksPerMinute };
    const verdict = await this.limiter.take(caller, rate);
    setHeaders(http.getResponse<Response>(), limitHeaders(verdict));
    if (!verdict.isAllowed) throw tooMany(verdict.retryAfterSeconds);
    return true;
  }
}

export function tooMany(seconds: number): HttpRefusal {
  const headers = { 'Retry-After': seconds };
  return new HttpRefusal('Too many requests.', HttpStatus.TOO_MANY_REQUESTS, headers);
}
