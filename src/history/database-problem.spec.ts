import { describe, expect, it } from '@jest/globals';
import { Secret } from '../platform/config/secret.js';
import { ArchiveError } from './archive.js';
import { databaseProblem } from './database-problem.js';

const url = new Secret('postgres://x402:hidden@db.example:5432/x402');

describe('the problem of a database', () => {
  it.each([
    ['28P01', 'database_failed', 'the server refuses the password (28P01)'],
    ['3D000', 'database_failed', 'the database does not exist (3D000)'],
    [undefined, 'database_unreachable', 'the server does not answer'],
  ] as const)(
    'by the code %s names the setting, the host and what was found',
    (code, kind, text) => {
      const problem = databaseProblem(url, new ArchiveError(kind, code, new Error('x')));
      expect(problem).toBe(`DATABASE_URL: db.example:5432/x402: ${text}`);
    },
  );

  it('says that a password is asked for', () => {
    const text = 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string';
    const cause = new Error(text);
    expect(databaseProblem(url, new ArchiveError('database_unreachable', undefined, cause))).toBe(
      'DATABASE_URL: db.example:5432/x402: the server requires a password, and the URL has none',
    );
  });

  it('is nothing where the code is not known', () => {
    expect(databaseProblem(url, new ArchiveError('database_failed', 'XX000', undefined))).toBe(
      undefined,
    );
    expect(databaseProblem(url, new Error('x'))).toBe(undefined);
  });
});
