import { Catch } from '@nestjs/common';
import { ErrorFilter, type Problem } from '../platform/http/error.filter.js';
import { type Diagnosis, diagnosisOf } from '../protocol/diagnosis/diagnosis.js';
import type { Reason, Retry } from '../protocol/reasons.js';

interface DescribedError {
  readonly reason: Reason;
  readonly extensions: { readonly diagnosis: Diagnosis };
}

/**
 * What came is no request for a payment: no JSON, an empty body, a wrong method. The resource server made it, so the
 * buyer cannot mend it by a new payment.
 */
function described({ status, reason }: Problem, failure: Reason): DescribedError {
  const known = reason ?? (status >= 500 ? failure : undefined);
  if (known !== undefined) return { reason: known, extensions: { diagnosis: diagnosisOf(known) } };
  const { docs } = diagnosisOf('invalid_payload');
  return {
    reason: 'invalid_payload',
    extensions: { diagnosis: { fault: 'seller', retry: RETRY_OF_STATUS[status] ?? 'never', docs } },
  };
}

/** A body that was too slow may come in time, and what is not known yet may be later. */
const RETRY_OF_STATUS: Readonly<Record<number, Retry>> = { 404: 'later', 408: 'same' };

/** Errors of verify, with the fields that stock clients look for. */
@Catch()
export class VerifyErrorFilter extends ErrorFilter {
  protected override bodyOf(problem: Problem): Readonly<Record<string, unknown>> {
    const { reason, extensions } = described(problem, 'unexpected_verify_error');
    return {
      isValid: false,
      invalidReason: reason,
      invalidMessage: problem.message,
      // Which version was meant is not known, and clients of V1 in Python fail without one.
      payer: '',
      extensions,
    };
  }
}

/** Errors of settle, with the fields that stock clients look for. */
@Catch()
export class SettleErrorFilter extends ErrorFilter {
  protected override bodyOf(problem: Problem): Readonly<Record<string, unknown>> {
    const { reason, extensions } = described(problem, 'unexpected_settle_error');
    return {
      success: false,
      errorReason: reason,
      errorMessage: problem.message,
      transaction: '',
      network: '',
      extensions,
    };
  }
}
