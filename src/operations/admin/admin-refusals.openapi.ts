import { jsonAnswer, type JsonObject } from '../../platform/http/openapi.js';

/** Of who has no key, or none that may. */
export const ADMIN_REFUSALS: Readonly<Record<number, JsonObject>> = {
  401: jsonAnswer('No API key, or an unknown one.', 'Problem', {
    error: 'An API key that is known here is required.',
    reason: 'unauthorized',
  }),
  403: jsonAnswer('A key without the scope `admin`.', 'Problem', {
    error: 'The API key does not allow this.',
    reason: 'forbidden',
  }),
};

export const NO_REDIS = jsonAnswer('Redis does not answer.', 'Problem', {
  error: 'Redis does not answer; ask again.',
});
