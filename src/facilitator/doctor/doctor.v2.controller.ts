import { Body, Controller, HttpCode, Post, UseFilters, UseGuards } from '@nestjs/common';
import { TooBusyError } from '../../platform/concurrency/semaphore.js';
import { RequireScope } from '../../platform/http/access.js';
import { invalidRequest } from '../../platform/http/coded-error.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import { placeOf } from '../../protocol/diagnosis/place.js';
import { Doctor, type Examined } from './doctor.js';
import { DescribesCheck } from './doctor.openapi.js';
import { DoctorRateGuard, tooMany } from './doctor-rate.guard.js';
import type { DoctorReport } from './dto/doctor-report.response.js';
import { BODY_MAX_CHARACTERS, DoctorRequestDto } from './dto/doctor-request.dto.js';

const CROWD_RETRY_SECONDS = 10;

/** The API of the seller check. An API key with the scope `verify` may use it. */
@Controller('v2/doctor')
@RequireScope('verify')
@UseGuards(DoctorRateGuard)
@UseFilters(LookUpErrorFilter)
export class DoctorV2Controller {
  constructor(private readonly doctor: Doctor) {}

  @Post()
  @HttpCode(200)
  @DescribesCheck()
  async examine(@Body() asked: DoctorRequestDto): Promise<DoctorReport> {
    try {
      return await this.doctor.examine(examinedOf(asked));
    } catch (error) {
      if (!(error instanceof TooBusyError)) throw error;
      throw tooMany(CROWD_RETRY_SECONDS);
    }
  }
}

function examinedOf({ url, method, body: given }: DoctorRequestDto): Examined {
  const body = given === undefined || typeof given === 'string' ? given : JSON.stringify(given);
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
    const place = placeOf('body', 'nothing, with GET and HEAD', given);
    throw invalidRequest('body must be absent with GET and HEAD.', place);
  }
  if (body !== undefined && body.length > BODY_MAX_CHARACTERS) {
    const expected = `at most ${BODY_MAX_CHARACTERS} characters`;
    throw invalidRequest(`body must be ${expected}.`, placeOf('body', expected, body));
  }
  return { url, method, body };
}
