/** The action of closing a payment that was not delivered, in the ledger or in the history. */
export const UNCLAIMED_CLOSED = 'unclaimed_closed';

/** One action of an operator. */
export interface AuditEntry {
  /** A UUID, so that an entry archived twice is one row. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Id of the API key. */
  readonly by: string;
  readonly action: string;
  /** The object of the action, such as a lane. */
  readonly subject: string;
}

/** @returns `undefined` for a text that is no entry. */
export function readAuditEntry(text: string): AuditEntry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { id, at, by, action, subject } = value as Readonly<Record<string, unknown>>;
  const isText = (one: unknown): one is string => typeof one === 'string';
  if (!isText(id) || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return undefined;
  if (typeof at !== 'number' || !Number.isSafeInteger(at)) return undefined;
  return isText(by) && isText(action) && isText(subject)
    ? { id, at, by, action, subject }
    : undefined;
}
