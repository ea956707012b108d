import { isShortName } from '../names.js';

/** What the original's validator says of a field that is missing. */
export const REQUIRED_FIELDS = {
  owner: requiredMessage('Owner'),
  id: requiredMessage('ID'),
  message: requiredMessage('Message'),
} as const;

function requiredMessage(field: string): string {
  return `Key: 'MemeStruct.${field}' Error:Field validation for '${field}' failed on the 'required' tag`;
}

/**
 * The bucket a message names itself: the text `name` of a message that is a JSON object. Agents write
 * their own name there.
 *
 * @returns an empty text where there is none, or none that is a name of a bucket.
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
