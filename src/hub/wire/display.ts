/**
 * Whether a download is to be *displayed*, as `{"File","Start","Size"}`, and not sent as bytes:
 *
 * - `display=json` asks for it in words;
 * - so does a GET whose `Accept` names `application/json` and nothing that bytes would satisfy
 *   (stock clients send `Accept: application/json` with POST, or beside `text/plain` and `*` +
 *   `/*`, and want bytes);
 * - a browser that is led to the address (`Accept` begins with `text/html`) shows it to a person;
 *   what strangers have stored is not run there. `download=1` gives the bytes all the same.
 */
export function isDisplayed(request: {
  readonly method: string;
  readonly accept: string | undefined;
  readonly display: string;
  readonly download: string;
}): boolean {
  if (request.display === 'json') return true;
  if (request.download === '1' || request.method === 'POST') return false;
  const types = acceptedTypes(request.accept ?? '');
  if (types[0] === 'text/html') return true;
  const takesBytes = types.some((type) => type === '*/*' || type.startsWith('text/'));
  return types.includes('application/json') && !takesBytes;
}

/** Media types in lower case without parameters; those with weight 0 are refused, not accepted. */
function acceptedTypes(accept: string): string[] {
  return accept
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim()))
    .filter(([, ...parameters]) => !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one)))
    .map(([type = '']) => type)
    .filter((type) => type !== '');
}
