import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const read = (file: string): string =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

/** Where what is stored has a version, and how the source says it. */
const WRITTEN = {
  'the ledger in Redis': ['src/settlement/ledger/keys.ts', /^export const FORMAT = '(\d+)'/m],
  'attempts in it': ['src/settlement/model/attempt.ts', /^const FORMAT = (\d+)/m],
  'the journal of the hub': ['src/hub/storage/journal-line.ts', /^const FORMAT = (\d+)/m],
  'the index of the hub': ['src/hub/index/index-tables.ts', /^const FORMAT = '(\d+)'/m],
  'sealed records of the wallet': ['src/wallet/seal/record-seal.ts', /^const FORMAT = '(\d+)'/m],
  'purchases of the wallet': ['src/wallet/pay/intent.ts', /^ {2}v: z\.literal\((\d+)\)/m],
  'answers of the wallet to signing': [
    'src/wallet/signing/reply-store.ts',
    /^ {2}v: z\.literal\((\d+)\)/m,
  ],
  'questions to owners': ['src/wallet/asks/ask.ts', /^ {2}v: z\.literal\((\d+)\)/m],
  'grants of OAuth': ['src/wallet/oauth/grant-store.ts', /^ {2}v: z\.literal\((\d+)\)/m],
  'codes of devices': ['src/wallet/auth/device-codes.ts', /^ {2}v: z\.literal\((\d+)\)/m],
  'key files': ['src/wallet/provider/local/keystore.ts', /^ {2}format: z\.literal\((\d+)\)/m],
  'places in lists of sellers': ['src/history/sellers/cursor.ts', /^const VERSION = (\d+)/m],
} as const satisfies Readonly<Record<string, readonly [string, RegExp]>>;

/** The version of this build. */
const OTHERS = ['src/platform/config/version.ts'];

const page = read('docs/running.md');
const rows = new Map(
  [...page.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|/gm)].map(
    ([, what = '', writes = '', reads = '']) => [what.trim(), [writes.trim(), reads.trim()]],
  ),
);

describe('docs/running.md', () => {
  it.each(Object.entries(WRITTEN))('says which version is written of %s', (what, [file, rule]) => {
    const version = rule.exec(read(file))?.[1];
    expect(version).toBeDefined();
    expect([what, rows.get(what)?.[0]]).toEqual([what, version]);
  });

  it('says which migrations of PostgreSQL there are', () => {
    const names = readdirSync(new URL('../../src/history/migrations', import.meta.url))
      .filter((name) => name.endsWith('.sql'))
      .map((name) => name.slice(0, 4))
      .sort();
    expect(rows.get('tables in PostgreSQL')?.[0]).toBe(
      `${names[0] ?? ''} to ${names.at(-1) ?? ''}`,
    );
    expect(names).toHaveLength(Number(names.at(-1)));
  });

  it('knows every place in the source that names a version of something stored', () => {
    const named = readdirSync(new URL('../../src', import.meta.url), { recursive: true })
      .map((name) => `src/${String(name)}`)
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
      .filter((name) =>
        /^(export )?const (FORMAT|VERSION)(: string)? = ['"\d(]|^ {2}(v|format): z\.literal\(/m.test(
          read(name),
        ),
      );
    const known = [...Object.values(WRITTEN).map(([file]) => file), ...OTHERS];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });
});
