import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { Answers, type AnswersByStatus, KEY_ALWAYS, problem } from '../../platform/http/openapi.js';

/** Of who has no key, or none that may. */
export const ADMIN_REFUSALS: AnswersByStatus = {
  401: problem('No API key, or an unknown one.', {
    error: 'A valid API key is required.',
    reason: 'unauthorized',
  }),
  403: problem('A key without the scope `admin`.', {
    error: 'The API key does not have the scope that this request needs.',
    reason: 'forbidden',
  }),
};

export const NO_REDIS = problem('Redis does not answer.', {
  error: 'Redis is unavailable. Try again.',
});

/** Describes routes of operators. @param failures - answers that all of them have, besides those about keys. */
export function describedWith(failures: AnswersByStatus) {
  return (
    operationId: string,
    summary: string,
    answers: AnswersByStatus,
    description?: string,
  ): MethodDecorator =>
    applyDecorators(
      ApiOperation({
        operationId,
        tags: ['Operators'],
        summary,
        ...(description !== undefined && { description }),
        security: KEY_ALWAYS,
      }),
      Answers({ ...answers, ...ADMIN_REFUSALS, ...failures }),
    );
}
