/** Maximum characters of a media type. */
const MEDIA_TYPE_MAX = 127;

/** The two halves (RFC 6838 §4.2), without parameters; in lower case, as two of them are compared. */
export const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/;

/** Whether a text is a media type in its one form. */
export function isMediaType(text: string): boolean {
  return text.length <= MEDIA_TYPE_MAX && MEDIA_TYPE.test(text);
}

/**
 * The media type of a `Content-Type` in canonical form. Parameters are dropped, because they usually belong to the
 * transport.
 *
 * @returns `undefined` without a readable type.
 */
export function mediaTypeIn(header: string | undefined): string | undefined {
  const [type = ''] = (header ?? '').split(';', 1);
  const plain = type.trim().toLowerCase();
  return isMediaType(plain) ? plain : undefined;
}

/** Media types that browsers show without running code. Not SVG and PDF: both may hold scripts. */
const SHOWN: ReadonlySet<string> = new Set([
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
  'audio/flac',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/webm',
  'video/mp4',
  'video/ogg',
  'video/webm',
  'text/plain',
  'text/csv',
]);

/** Whether bytes of this type may be shown in place, for any uploader. Everything else is an attachment. */
export function isShown(type: string | undefined): boolean {
  return type !== undefined && SHOWN.has(type);
}
