import type { Secret } from '../platform/config/secret.js';
import { ArchiveError } from './archive.js';

/** By the code of PostgreSQL, or of the connection. */
const MEANINGS: Readonly<Record<string, string>> = {
  '3D000': 'the database does not exist',
  '28P01': 'the password is refused',
  '28000': 'the user is refused',
  '42501': 'the user lacks a right',
  '25006': 'the server takes no writes: it is a replica',
  '3F000': 'the tables are missing or of another version',
  '42P01': 'the tables are missing or of another version',
  '42703': 'the tables are missing or of another version',
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host is unknown',
  EAI_AGAIN: 'the name of the host cannot be looked up',
};

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
  const { condition: trouble, sqlState } = error;
  const meaning =
    (sqlState === undefined ? undefined : MEANINGS[sqlState]) ??
    (trouble === 'database_unreachable' ? 'it does not answer' : undefined);
  if (meaning === undefined) return undefined;
  const { host = '', pathname = '' } = URL.parse(url?.reveal() ?? '') ?? {};
  return `DATABASE_URL: ${host}${pathname}: ${meaning}${sqlState === undefined ? '' : ` (${sqlState})`}`;
}
