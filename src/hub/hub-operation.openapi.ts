import { type Json, jsonAnswer, type JsonObject } from '../platform/http/openapi.js';

/** On the hub `Authorization` is for signatures, never for keys. */
const KEY_IF_IN_USE: Json = [{}, { apiKey: [] }];

/** Where a file lies, for examples. */
export const DESCRIPTOR = {
  File: '3f9a51c2a0d14f5c8f1b6f0a2c7be9aa',
  Start: 62,
  Size: 11,
};

export const refusal = (
  description: string,
  message: string,
  headers?: readonly string[],
): JsonObject => jsonAnswer(description, 'HubRefusal', { Type: 'hub', Message: message }, headers);

const REFUSALS: JsonObject = {
  400: refusal('The request cannot be understood, or a field is missing.', 'owner is required'),
  401: refusal('A private hub could not tell whose request this is, or there is no API key.', 'no'),
  403: refusal(
    'Over the quota, the hub is full, or the API key lacks the scope `hub`.',
    'quota exceeded: 10 of 10 bytes are used',
  ),
  408: refusal('The body did not come in time.', 'too slow'),
  413: refusal('Over a limit.', 'too large'),
  429: refusal('Too many requests, downloads or long bodies at once.', 'too many requests', [
    'Retry-After',
  ]),
  503: refusal('Storage or index cannot be used now, or are nearly full.', 'try again', [
    'Retry-After',
  ]),
};
export const NOT_FOUND: JsonObject = { 404: refusal('No such file.', 'not found') };

export const TAKEN_DOWN: JsonObject = {
  451: refusal('The operator serves these bytes to nobody.', 'taken_down: a court has ordered it'),
};

export const query = (
  name: string,
  description: string,
  required = false,
  schema: JsonObject = {},
): JsonObject => ({
  name,
  in: 'query',
  required,
  description,
  schema: { type: 'string', ...schema },
});
export const OWNER = query('owner', 'Whose; an address in any case, or any other text.');
export const NAME = query('name', 'The id it was stored under; `id` means the same.');
export const PAGE: Json = [
  query('offset', 'Rows to leave out.'),
  query('length', 'Rows at most: 32 if absent, 1024 if more.'),
];

export function operation(operationId: string, summary: string, more: JsonObject): JsonObject {
  const { responses, ...rest } = more as JsonObject & { responses: JsonObject };
  return {
    operationId,
    tags: ['File hub'],
    summary,
    security: KEY_IF_IN_USE,
    ...rest,
    responses: { ...responses, ...REFUSALS },
  };
}
