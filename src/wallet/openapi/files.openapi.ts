import { type Json, jsonAnswer } from '../../platform/http/openapi.js';
import { CONFLICT, DescribesWithToken, FORBIDDEN, OUTSIDE, refusal } from './operations.js';

export const NAMED = { name: 'report.md' };

/** The description of a file operation. @param answered - the schema of the answer. */
export const DescribesFile = (
  operationId: string,
  summary: string,
  body: readonly [schema: string, example: Json],
  answered: string,
): MethodDecorator =>
  DescribesWithToken(operationId, summary, {
    body,
    answer: jsonAnswer(summary, answered),
    more: {
      ...FORBIDDEN,
      ...CONFLICT,
      404: refusal('There is no such file, or no file hub.', {
        error: 'There is no such file.',
        code: 'not_found',
      }),
      502: OUTSIDE[502],
    },
  });
