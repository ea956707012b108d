import { Catch } from '@nestjs/common';
import { ErrorFilter, type Problem } from '../platform/http/error.filter.js';
import { type Diagnosis, diagnosisOf } from '../protocol/diagnosis/diagnosis.js';
import type { Reason, Retry } from '../protocol/reasons.js';

interface DescribedError {
  readonly reason: Reason;
  readonly extensions: { readonly diagnosis: Diagnosis };
}

/**
 * A request that is not a payment: no JSON, an empty body, a wrong method. The resource server made it, so the buyer
 * cannot correct it with a new payment.
 */
function described({ status, reason, place }: Problem, failure: Reason): DescribedError {
  const known = reason ?? (status >= 500 ? failure : 'invalid_payload');
  const general = diagnosisOf(known);
  if (known !== 'invalid_payload') return { reason: known, extensions: { diagnosis: general } };
  const retry = RETRY_OF_STATUS[status] ?? 'never';
  return {
    reason: known,
    extensions: { diagnosis: { ...place, ...general, fault: 'seller', retry } },
  };
}

/** A body that was too slow may arrive in time later, and an unknown state may be known later. */
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
      // The version of the request is unknown, and Python clients of V1 fail without a payer.
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
