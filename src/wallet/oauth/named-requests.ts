import type { IncomingMessage } from 'node:http';
import { resourceOf, type Scope } from './oauth-names.js';

/** As much of a form as the library reads. */
const FORM_MAX_BYTES = 57_344;

/** What the server reads of a request that opens the consent page, and the most characters of each. It is stored. */
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
  // Refused, and said so.
  ['request', 2048],
  ['request_uri', 1024],
]);

/** What requests of clients may name at this authorization server. */
export interface Names {
  readonly publicUrl: string;
  readonly scopes: readonly Scope[];
}

/**
 * The parameters of a request by the names they have here. There is one resource, so that a URL of this
 * server with another end means it. Scopes that are not here are left out (RFC 6749, section 3.3); the
 * answer says which were given.
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
 * Leaves out of a request that opens the consent page what is not read (RFC 6749, section 3.1).
 *
 * @param parameters - are changed.
 * @returns what is too long in it.
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

/** A request whose form is read by our names: the library reads it from the request itself. */
export function withOurNames(request: IncomingMessage, names: Names): IncomingMessage {
  async function* form(): AsyncGenerator<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += (chunk as Buffer).length;
      if (size > FORM_MAX_BYTES) throw new RangeError('the form is too large');
      chunks.push(chunk as Buffer);
    }
    const parameters = new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
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
