import { isJsonObject, type JsonObject, readOptionalObject } from '../payment/wire-values.js';

/** Alternative names for one field, as sellers use them. */
const QUERY = ['queryParams', 'query_params', 'query', 'params'];
const BODY = ['bodyFields', 'body_fields', 'bodyParams', 'body', 'data', 'properties'];
const HEADERS = ['headerFields', 'header_fields', 'headers'];
const BODY_TYPE = ['bodyType', 'body_type'];

/**
 * `outputSchema` of V1, converted to `info` of the V2 extension. `undefined` if nothing is declared, or the seller
 * does not want to be listed.
 */
export function infoOfOutputSchema(outputSchema: unknown): JsonObject | undefined {
  const schema = readOptionalObject(outputSchema);
  const input = readOptionalObject(schema?.['input']);
  if (schema === undefined || input === undefined || input['discoverable'] === false) {
    return undefined;
  }
  const { type, method: declared } = input;
  const method = typeof declared === 'string' ? declared.slice(0, 16).toUpperCase() : declared;
  const takesBody = method === 'POST' || method === 'PUT' || method === 'PATCH';
  const [queryParams, body, headers] = [QUERY, BODY, HEADERS].map((names) => first(input, names));
  return {
    input: {
      type,
      method,
      ...(takesBody && { bodyType: bodyTypeOf(input), body: body ?? {} }),
      ...(queryParams && { queryParams }),
      ...(headers && { headers }),
    },
    ...(isJsonObject(schema['output']) && { output: { type: 'json', example: schema['output'] } }),
  };
}

function first(input: JsonObject, names: readonly string[]): JsonObject | undefined {
  for (const name of names) {
    const value = readOptionalObject(input[name]);
    if (value !== undefined) return value;
  }
  return undefined;
}

function bodyTypeOf(input: JsonObject): string {
  const [declared] = BODY_TYPE.map((name) => input[name]).filter((one) => typeof one === 'string');
  const type = declared?.slice(0, 64).toLowerCase() ?? '';
  if (type.includes('form') || type.includes('multipart')) return 'form-data';
  return type.includes('text') || type.includes('plain') ? 'text' : 'json';
}
