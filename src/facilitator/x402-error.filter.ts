import { Catch } from '@nestjs/common';
import { ErrorFilter, type Problem } from '../platform/http/error.filter.js';
import { diagnosisOf } from '../protocol/diagnosis/diagnosis.js';
import type { Reason } from '../protocol/reasons.js';
import type { Refused } from './refusal.js';

const NOT_A_REQUEST: Reason = 'invalid_payload';

function told(reason: Reason): Pick<Refused, 'extensions'> {
  return { extensions: { diagnosis: diagnosisOf(reason) } };
}

/** Errors of verify, with the fields that stock clients look for. */
@Catch()
export class VerifyErrorFilter extends ErrorFilter {
  protected override bodyOf({ reason, message }: Problem): Readonly<Record<string, unknown>> {
    return {
      isValid: false,
      invalidReason: reason ?? NOT_A_REQUEST,
      invalidMessage: message,
      // Which version was meant is not known, and clients of V1 in Python fail without one.
      payer: '',
      ...told(reason ?? NOT_A_REQUEST),
    };
  }
}

/** Errors of settle, with the fields that stock clients look for. */
@Catch()
export class SettleErrorFilter extends ErrorFilter {
  protected override bodyOf({ reason, message }: Problem): Readonly<Record<string, unknown>> {
    return {
      success: false,
      errorReason: reason ?? NOT_A_REQUEST,
      errorMessage: message,
      transaction: '',
      network: '',
      ...told(reason ?? NOT_A_REQUEST),
    };
  }
}
