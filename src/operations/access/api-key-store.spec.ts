import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Scope } from '../../platform/config/access-settings.js';
import { type ApiKeyRecord, createApiKey } from './api-key.js';
import { ApiKeyStore } from './api-key-store.js';

const scopes: readonly Scope[] = ['verify'];
const fileOf = (...keys: readonly ApiKeyRecord[]): string => JSON.stringify({ version: 1, keys });

describe('ApiKeyStore', () => {
  let folder: string;
  let events: string[];
  let store: ApiKeyStore;
  const first = createApiKey('first', scopes);
  const second = createApiKey('second', scopes);

  /** As Kubernetes mounts a secret: the file is a link into a folder that is itself a link. */
  function mount(version: string, text: string): void {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, 'keys.json'), text);
    symlinkSync(version, join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, '..data'));
  }

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'api-keys-'));
    mount('..1', fileOf(first.record));
    symlinkSync('..data/keys.json', join(folder, 'keys.json'));
    events = [];
    store = new ApiKeyStore(join(folder, 'keys.json'), {
      info: (line: unknown) => events.push(`loaded ${(line as { keys: number }).keys}`),
      error: (line: unknown) => events.push((line as { reason: string }).reason),
    });
    await store.start();
    store.stop();
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('knows the keys of the file and no others', () => {
    expect(store.find(first.key)).toEqual({
      id: 'first',
      scopes: new Set(scopes),
      payees: new Set(),
    });
    for (const key of [second.key, '', `${first.key} `, first.record.sha256, 'x'.repeat(10_000)]) {
      expect(store.find(key)).toBeUndefined();
    }
  });

  it('follows a mounted secret when it is swapped', async () => {
    mount('..2', fileOf(second.record));
    await store.reload();
    expect(store.find(first.key)).toBeUndefined();
    expect(store.find(second.key)?.id).toBe('second');
    expect(events).toEqual(['loaded 1', 'loaded 1']);
  });

  it('knows the payees of all keys of an id that may list them', async () => {
    const [one, two, three] = [
      `0x${'a1'.repeat(20)}`,
      `0x${'b2'.repeat(20)}`,
      `0x${'c3'.repeat(20)}`,
    ];
    mount(
      '..2',
      fileOf(
        createApiKey('books', ['history'], [one]).record,
        createApiKey('books', ['history'], [two]).record,
        createApiKey('books', ['verify'], [three]).record,
        createApiKey('other', ['history'], [three]).record,
      ),
    );
    await store.reload();
    expect(store.payeesOfOwner('books')).toEqual(new Set([one, two]));
    expect(store.payeesOfOwner('first')).toEqual(new Set());
    mount('..3', fileOf(createApiKey('books', ['history'], [one]).record));
    await store.reload();
    expect(store.payeesOfOwner('books')).toEqual(new Set([one]));
    expect(store.payeesOfOwner('other')).toEqual(new Set());
  });

  it('knows an operator by all keys of an id that may read settlements', async () => {
    mount(
      '..2',
      fileOf(
        createApiKey('ops', ['history', 'admin']).record,
        // A page of operators is not a webhook of one.
        createApiKey('ops', ['admin']).record,
        createApiKey('page', ['admin']).record,
        createApiKey('shop', ['history'], [`0x${'a1'.repeat(20)}`]).record,
        // A seller that shares the id of an operator would get the operator's events.
        createApiKey('both', ['history', 'admin']).record,
        createApiKey('both', ['history']).record,
      ),
    );
    await store.reload();
    const operators = ['ops', 'page', 'shop', 'both', 'nobody'].filter((id) =>
      store.isOperator(id),
    );
    expect(operators).toEqual(['ops']);
    mount('..3', fileOf(createApiKey('ops', ['history']).record));
    await store.reload();
    expect(store.isOperator('ops')).toBe(false);
  });

  it('keeps the keys it has while the file cannot be used, says so once, and recovers', async () => {
    mount('..2', '{"version":1');
    await store.reload();
    await store.reload();
    expect(store.find(first.key)?.id).toBe('first');
    expect(store.status).toMatchObject({ keys: 1, code: 'api_keys_file_unusable' });
    rmSync(join(folder, '..data'));
    await store.reload();
    expect(store.find(first.key)?.id).toBe('first');
    expect(events.slice(1)).toEqual([
      'API_KEYS_FILE: the file is not JSON',
      `API_KEYS_FILE: ${join(folder, 'keys.json')} cannot be read (ENOENT)`,
    ]);
    mount('..3', fileOf());
    await store.reload();
    expect(store.find(first.key)).toBeUndefined();
    expect(store.status).toEqual({ keys: 0, loadedAt: store.status.loadedAt });
  });

  it('does not start without a usable file', async () => {
    mount('..2', 'keys');
    await expect(
      new ApiKeyStore(join(folder, 'keys.json'), {
        info: () => undefined,
        error: () => undefined,
      }).start(),
    ).rejects.toThrow('API_KEYS_FILE: the file is not JSON');
  });
});
