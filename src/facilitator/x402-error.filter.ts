import { Catch } from '@nestjs/common';
import { ErrorFilter, type Problem } from '../platform/http/error.filter.js';

/** Errors of verify, with the fields that stock clients look for. */
@Catch()
export class VerifyErrorFilter extends ErrorFilter {
  protected override bodyOf({ reason, message }: Problem): Readonly<Record<string, unknown>> {
    return {
      isValid: false,
      invalidReason: reason ?? 'invalid_payload',
      invalidMessage: message,
    };
  }
}

/** Errors of settle, with the fields that stock clients look for. */
@Catch()
export class SettleErrorFilter extends ErrorFilter {
  protected override bodyOf({ reason, message }: Problem): Readonly<Record<string, unknown>> {
    return {
      success: false,
      errorReason: reason ?? 'invalid_payload',
      errorMessage: message,
      transaction: '',
      network: '',
    };
  }
}
