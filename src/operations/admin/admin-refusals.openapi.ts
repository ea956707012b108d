import {
  type AnswersByStatus,
  describing,
  KEY_ALWAYS,
  NO_KEY,
  problem,
} from '../../platform/http/openapi.js';

/** Answers to a request without a key, or with a key that lacks the scope. */
export const ADMIN_REFUSALS: AnswersByStatus = {
  401: NO_KEY,
  403: problem('The API key lacks the scope `admin`.', {
    error: 'This API key does not have the scope `admin`.',
  }),
};

export const NO_REDIS = problem('Redis does not answer.', {
  error: 'Redis is unavailable. Try again.',
});

/** Describes routes of operators. @param failures - their common answers, besides those about keys. */
export const describedWith = (failures: AnswersByStatus): ReturnType<typeof describing> =>
  describing({ tag: 'Operators', security: KEY_ALWAYS }, { ...ADMIN_REFUSALS, ...failures });
