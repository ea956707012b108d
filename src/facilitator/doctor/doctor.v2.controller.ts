import {
  BadRequestException,
  Controller,
  HttpException,
  HttpStatus,
  Post,
  Req,
  Res,
  UseFilters,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { TooBusyError } from '../../platform/concurrency/limited.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { callerOf, RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import { limitHeaders } from '../../platform/rate-limit/rate-limiter.js';
import { isWithinBounds } from '../../protocol/payment/json-bounds.js';
import { LookUpErrorFilter } from '../status/look-up-error.filter.js';
import { Doctor } from './doctor.js';
import { DoctorLimiter } from './doctor-fetch.js';
import { readDoctorRequest } from './doctor-request.js';

const MINUTE_SECONDS = 60;
const CROWD_RETRY_SECONDS = 10;
const BODY_BOUNDS = { maxDepth: 16, maxValues: 2000 } as const;

/** The check of sellers, for programs. Who may verify may use it. */
@Controller('v2/doctor')
@RequireScope('verify')
@UseFilters(LookUpErrorFilter)
export class DoctorV2Controller {
  constructor(
    private readonly doctor: Doctor,
    private readonly bodies: JsonBodyReader,
    private readonly limiter: DoctorLimiter,
    private readonly config: AppConfig,
  ) {}

  @Post()
  async examine(@Req() request: Request, @Res() response: Response): Promise<void> {
    await this.#count(request, response);
    const body = await this.bodies.json(request, response);
    if (!isWithinBounds(body, BODY_BOUNDS)) {
      throw new BadRequestException('The body is nested too deep, or has too many values.');
    }
    const { examined, problem } = readDoctorRequest(body);
    if (examined === undefined) throw new BadRequestException(problem);
    try {
      sendJson(response, 200, await this.doctor.examine(examined));
    } catch (error) {
      if (!(error instanceof TooBusyError)) throw error;
      throw tooMany(response, CROWD_RETRY_SECONDS);
    }
  }

  /** Every check is counted, also where no other limit is set: it makes this service ask others. */
  async #count(request: Request, response: Response): Promise<void> {
    const { checksPerMinute = 1 } = this.config.doctor ?? {};
    const key = callerOf(request);
    const caller = key === undefined ? `ip:${addressGroup(request.ip)}` : `key:${key}`;
    const rate = { requests: checksPerMinute, seconds: MINUTE_SECONDS, burst: checksPerMinute };
    const verdict = await this.limiter.take(caller, rate);
    for (const [name, value] of Object.entries(limitHeaders(verdict))) {
      response.setHeader(name, value);
    }
    if (!verdict.isAllowed) throw tooMany(response, verdict.retryAfterSeconds);
  }
}

function tooMany(response: Response, seconds: number): HttpException {
  response.setHeader('Retry-After', seconds);
  return new HttpException('Too many requests.', HttpStatus.TOO_MANY_REQUESTS);
}
