/** Asks this service, wherever below its host it stands. */

const FAILED = 'It did not work. Try again.';
const AWAY = 'The service does not answer. Try again.';
const ROOT = new URL('../', import.meta.url);

/** @param path - below the root of the service. */
export function urlOf(path, query = {}) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') url.searchParams.set(name, value);
  }
  return url;
}

/** What the service says no with. `status` is that of HTTP; `code` is for programs. */
export class Refusal extends Error {
  constructor({ error, Message, code } = {}, status) {
    super([error, Message].find((text) => typeof text === 'string') ?? FAILED);
    this.status = status;
    this.code = code;
  }
}

/**
 * Sends a request, and returns the whole answer.
 *
 * @throws Refusal
 */
export async function send(url, options = {}) {
  let response;
  try {
    response = await fetch(url, options);
  } catch {
    throw new Error(AWAY);
  }
  if (response.ok) return response;
  throw new Refusal(await response.json().catch(() => ({})), response.status);
}

/**
 * The JSON that is answered: by GET, or by POST where there is a body.
 *
 * @param path - below the root of the service.
 * @throws Refusal
 */
export async function ask(path, { body, method, query, token, key } = {}) {
  const response = await send(urlOf(path, query), {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(key !== undefined && key !== '' && { 'x-api-key': key }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return response.json();
}
