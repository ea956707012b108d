/** Asks the operators' API. The key stays in this tab and goes nowhere but into the header of requests to this service. */

const KEY = 'x402-admin-key';
const TIMEOUT_MS = 30_000;

export const storedKey = () => sessionStorage.getItem(KEY);
export const storeKey = (key) => sessionStorage.setItem(KEY, key);
export const forgetKey = () => sessionStorage.removeItem(KEY);

/** The key is not one that may ask. */
export class Refused extends Error {}

let onRefused = () => undefined;

/** @param leave - takes what was wrong with the key. */
export function whenRefused(leave) {
  onRefused = leave;
}

async function answerOf(path, options) {
  try {
    return await fetch(path, {
      ...options,
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch {
    throw new Error('The service does not answer.');
  }
}

const REFUSALS = {
  401: 'This API key is not known here.',
  403: 'This API key does not have the scope admin.',
};

/** @throws Error with the words of the service. */
export async function ask(path, options = {}) {
  const headers = { 'X-API-Key': storedKey() ?? '' };
  const response = await answerOf(`admin/api/${path}`, { ...options, headers });
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  const refusal = REFUSALS[response.status];
  if (refusal === undefined) {
    throw new Error(body.error ?? `The service answered ${response.status}.`);
  }
  const refused = new Refused(refusal);
  onRefused(refused);
  throw refused;
}

/** Symbols and decimals of the tokens that are known here. */
export async function askAssets() {
  const response = await answerOf('v2/assets', {});
  return response.ok ? (await response.json()).assets : [];
}
