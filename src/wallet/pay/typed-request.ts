import type { FetchRequest } from '../../platform/fetch/safe-fetch.js';

/**
 * The same request with the type of its body, where the agent named none and it is JSON: most sellers read no body
 * without its type, and would take the money for a request they find empty.
 */
export function withContentType(request: FetchRequest): FetchRequest {
  const { headers, body } = request;
  const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  if (body === undefined || isTyped || !isJson(body)) return request;
  return { ...request, headers: { ...headers, 'content-type': 'application/json' } };
}

/** An object or a list: other JSON may as well be plain text. */
function isJson(body: string): boolean {
  if (!/^\s*[[{]/.test(body)) return false;
  try {
    JSON.parse(body);
    return true;
  } catch {
    return false;
  }
}
