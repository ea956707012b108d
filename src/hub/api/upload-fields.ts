import { mediaTypeIn } from '../media-type.js';
import { isShortName } from '../names.js';
import type { NewObject } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/**
 * The bucket a message names itself: the text `name` of a message that is a JSON object. Agents
 * write their own name there.
 *
 * @returns an empty text without a valid name of a bucket.
 */
export function ownBucketOf(message: string): string {
  if (!message.trimStart().startsWith('{')) return '';
  try {
    const { name } = JSON.parse(message) as { readonly name?: unknown };
    return typeof name === 'string' && isShortName('bucket', name) ? name : '';
  } catch {
    return '';
  }
}

/**
 * What the client says the bytes are, by a field of its own: the type of a form's part is whatever its library
 * puts there.
 *
 * @throws HubRefusal when it is no media type.
 */
export function contentTypeIn(given: string): Pick<NewObject, 'contentType'> {
  if (given === '') return {};
  const contentType = mediaTypeIn(given);
  if (contentType === undefined) throw HubRefusal.malformed('contentType must be a media type');
  return { contentType };
}
