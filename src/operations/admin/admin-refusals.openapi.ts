import {
  type AnswersByStatus,
  describing,
  KEY_ALWAYS,
  problem,
} from '../../platform/http/openapi.js';

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
export const describedWith = (failures: AnswersByStatus): ReturnType<typeof describing> =>
  describing({ tag: 'Operators', security: KEY_ALWAYS }, { ...ADMIN_REFUSALS, ...failures });
