/** A header stays far below what servers and proxies take. */
const NAME_MAX = 255;

/**
 * `Content-Disposition` with a name from outside (RFC 6266): plain ASCII for old clients, and
 * the name itself percent-encoded (RFC 5987). Neither can end the header or the quotes.
 */
export function disposition(how: 'attachment' | 'inline', name: string): string {
  const short = Array.from(name).slice(0, NAME_MAX).join('');
  const plain = short.replaceAll(/[^\x20-\x7e]|["\\%;]/g, '_');
  const header = `${how}; filename="${plain}"`;
  return plain === short ? header : `${header}; filename*=UTF-8''${extValue(short)}`;
}

/** RFC 5987 `value-chars`. */
function extValue(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
