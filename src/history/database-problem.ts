import type { Secret } from '../platform/config/secret.js';
import { ArchiveError } from './archive.js';

/** By the SQLSTATE of PostgreSQL, or by the error code of the connection. */
const MEANINGS: Readonly<Record<string, string>> = {
  '3D000': 'the database does not exist',
  '28P01': 'the server refuses the password',
  '28000': 'the server refuses the user',
  '42501': 'the user lacks a permission',
  '25006': 'the server is a read-only replica; name the primary',
  '3F000': 'the tables are missing or of another version',
  '42P01': 'the tables are missing or of another version',
  '42703': 'the tables are missing or of another version',
  ECONNREFUSED: 'no server listens at this address',
  ENOTFOUND: 'the host is unknown',
  EAI_AGAIN: 'the name of the host cannot be looked up',
};

/** The driver reports a missing password without a code. */
function wantsPassword(cause: unknown): boolean {
  return cause instanceof Error && cause.message.includes('client password must be a');
}

/**
 * The problem of the database in one line, with the setting, the host and the database, without the
 * password.
 *
 * @returns `undefined` for an unknown error code.
 */
export function databaseProblem(
  url: Secret<string> | undefined,
  error: unknown,
): string | undefined {
  if (!(error instanceof ArchiveError)) return undefined;
  const { condition, sqlState } = error;
  const meaning =
    (wantsPassword(error.cause)
      ? 'the server requires a password, and the URL has none'
      : undefined) ??
    (sqlState === undefined ? undefined : MEANINGS[sqlState]) ??
    (condition === 'database_unreachable' ? 'the server does not answer' : undefined);
  if (meaning === undefined) return undefined;
  const { host = '', pathname = '' } = URL.parse(url?.reveal() ?? '') ?? {};
  return `DATABASE_URL: ${host}${pathname}: ${meaning}${sqlState === undefined ? '' : ` (${sqlState})`}`;
}
