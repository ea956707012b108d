import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { Answers, jsonAnswer, type JsonObject, KEY_ALWAYS } from '../../platform/http/openapi.js';

/** Of who has no key, or none that may. */
export const ADMIN_REFUSALS: Readonly<Record<number, JsonObject>> = {
  401: jsonAnswer('No API key, or an unknown one.', 'Problem', {
    error: 'A valid API key is required.',
    reason: 'unauthorized',
  }),
  403: jsonAnswer('A key without the scope `admin`.', 'Problem', {
    error: 'The API key does not have the scope that this needs.',
    reason: 'forbidden',
  }),
};

export const NO_REDIS = jsonAnswer('Redis does not answer.', 'Problem', {
  error: 'Redis is unavailable. Try again.',
});

type AnswersOf = Parameters<typeof Answers>[0];

/** Describes routes of operators. @param failures - answers that all of them have, besides those about keys. */
export function describedWith(failures: AnswersOf) {
  return (
    operationId: string,
    summary: string,
    answers: AnswersOf,
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
