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
 */
export function bucketOf(message: string): string | undefined {
  if (!message.trimStart().startsWith('{')) return undefined;
  try {
    const { name } = JSON.parse(message) as { readonly name?: unknown };
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}
