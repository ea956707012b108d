import type { IncomingMessage } from 'node:http';
import { resourceOf, type Scope } from './oauth-names.js';

/** The library's own limit for a form. */
const FORM_MAX_BYTES = 57_344;

/** Limit of a field of a token request. A longer value is cut: the rest names no client, code or resource. */
const FIELD_MAX_CHARACTERS = 2048;

/** The fields that the server reads and stores of a request for the consent page, with the maximum of characters. */
const AUTHORIZATION: ReadonlyMap<string, number> = new Map([
  ['response_type', 64],
  ['response_mode', 64],
  ['client_id', 1024],
  ['redirect_uri', 512],
  ['scope', 2048],
  ['state', 2048],
  ['code_challenge', 128],
  ['code_challenge_method', 16],
  ['resource', 1024],
  ['prompt', 64],
  // Refused with an answer that says so.
  ['request', 2048],
  ['request_uri', 1024],
]);

/** Names that requests of clients may use at this authorization server. */
export interface Names {
  readonly publicUrl: string;
  readonly scopes: readonly Scope[];
}

/**
 * The parameters of a request under the names used here. There is only one resource, so a URL of this server with
 * another path means it. Unknown scopes are removed (RFC 6749, section 3.3); the answer names the granted ones.
 *
 * @param parameters - are changed.
 */
export function useOurNames(parameters: URLSearchParams, { publicUrl, scopes }: Names): void {
  const resource = resourceOf(publicUrl);
  const resources = parameters.getAll('resource').filter((one) => one !== '');
  const meant = resources.map((one) => (isOurs(one, publicUrl) ? resource : one));
  parameters.delete('resource');
  for (const one of new Set(meant)) parameters.append('resource', one);
  const asked = parameters.get('scope');
  if (asked === null) return;
  const known = asked.split(' ').filter((one) => (scopes as readonly string[]).includes(one));
  if (known.length === 0) parameters.delete('scope');
  else parameters.set('scope', known.join(' '));
}

/**
 * Removes unused parameters of a request for the consent page (RFC 6749, section 3.1).
 *
 * @param parameters - are changed.
 * @returns the parameter that is too long.
 */
export function keepBounded(parameters: URLSearchParams): string | undefined {
  for (const [name, value] of [...parameters]) {
    const most = AUTHORIZATION.get(name);
    if (most === undefined) parameters.delete(name);
    else if (value.length > most) return `${name} must be at most ${most} characters`;
  }
  return undefined;
}

function isOurs(text: string, publicUrl: string): boolean {
  if (!URL.canParse(text)) return false;
  const named = new URL(text).href.replace(/\/+$/, '');
  return named === publicUrl || named === resourceOf(publicUrl);
}

/** A request whose form has the names used here, because the library reads the request itself. */
export function withOurNames(request: IncomingMessage, names: Names): IncomingMessage {
  async function* form(): AsyncGenerator<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += (chunk as Buffer).length;
      if (size > FORM_MAX_BYTES) throw new RangeError('the form is too large');
      chunks.push(chunk as Buffer);
    }
    const parameters = new URLSearchParams();
    for (const [name, value] of new URLSearchParams(Buffer.concat(chunks).toString('utf8'))) {
      parameters.append(name, value.slice(0, FIELD_MAX_CHARACTERS));
    }
    useOurNames(parameters, names);
    yield Buffer.from(parameters.toString());
  }
  const headers = { ...request.headers, 'transfer-encoding': 'chunked' };
  // The length differs from the announced one.
  delete headers['content-length'];
  return Object.create(request, {
    iterator: { value: form },
    headers: { value: headers },
  }) as IncomingMessage;
}
