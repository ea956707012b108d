/** A member of a conversation, by its id. */
interface Membership {
  readonly conversation: string;
  /** The number after the last underscore; `undefined` for any other text. */
  readonly number: number | undefined;
}

/**
 * The conversation of an id is the text before its last underscore: `c_1_0` is number 0 of `c_1`
 * and of no other one. Ids without one belong to no conversation.
 */
export function membershipOf(id: string): Membership | undefined {
  const at = id.lastIndexOf('_');
  if (at <= 0) return undefined;
  const suffix = id.slice(at + 1);
  const number = /^\d{1,15}$/.test(suffix) ? Number(suffix) : undefined;
  return { conversation: id.slice(0, at), number };
}
