import { Body, Controller, HttpCode, Post, Res, UseFilters, UseGuards } from '@nestjs/common';
import type { Response } from 'express';
import { TooBusyError } from '../../platform/concurrency/semaphore.js';
import { RequireScope } from '../../platform/http/access.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import { Doctor, type Examined } from './doctor.js';
import { DescribesCheck } from './doctor.openapi.js';
import { DoctorRateGuard, tooMany } from './doctor-rate.guard.js';
import type { DoctorReport } from './dto/doctor-report.response.js';
import { BODY_MAX_CHARACTERS, DoctorRequestDto } from './dto/doctor-request.dto.js';

const CROWD_RETRY_SECONDS = 10;

/** The check of sellers, for programs. A key that may verify may use it. */
@Controller('v2/doctor')
@RequireScope('verify')
@UseGuards(DoctorRateGuard)
@UseFilters(LookUpErrorFilter)
export class DoctorV2Controller {
  constructor(private readonly doctor: Doctor) {}

  @Post()
  @HttpCode(200)
  @DescribesCheck()
  async examine(
    @Body() asked: DoctorRequestDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<DoctorReport> {
    try {
      return await this.doctor.examine(examinedOf(asked));
    } catch (error) {
      if (!(error instanceof TooBusyError)) throw error;
      throw tooMany(response, CROWD_RETRY_SECONDS);
    }
  }
}

function examinedOf({ url, method, body: given }: DoctorRequestDto): Examined {
  const body = given === undefined || typeof given === 'string' ? given : JSON.stringify(given);
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
    throw invalid('body must be absent with GET and HEAD.');
  }
  if (body !== undefined && body.length > BODY_MAX_CHARACTERS) {
    throw invalid(`body must be at most ${BODY_MAX_CHARACTERS} characters.`);
  }
  return { url, method, body };
}

const invalid = (message: string): CodedError => new CodedError(400, 'invalid_request', message);
