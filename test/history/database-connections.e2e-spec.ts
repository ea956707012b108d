import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { POOLS } from '../../src/platform/database/database-pools.js';
import { eventually, get } from '../support/http.js';
import { newAccount } from '../support/payments.js';
import { World } from '../support/world.js';
import { WalletWorld } from '../wallet/wallet-world.js';

/** More than any pool has connections. */
const AT_ONCE = Array.from({ length: 12 });

describe('the connections of a process with everything on', () => {
  const dir = mkdtempSync(join(tmpdir(), 'x402-connections-'));
  const shop = createApiKey('shop', ['settle', 'history'], [newAccount().address]);
  const operator = createApiKey('operator', ['history', 'admin']);
  let world: World;
  let postgres: SandboxPostgres;
  let service: Service;
  let database: pg.Client;

  beforeAll(async () => {
    const keys = join(dir, 'keys.json');
    writeFileSync(keys, JSON.stringify({ version: 1, keys: [shop.record, operator.record] }));
    [world, postgres] = await Promise.all([
      World.start({ blockTime: 0.3 }),
      startPostgres(undefined, ['max_connections=100']),
    ]);
    database = new pg.Client({ connectionString: postgres.url });
    await database.connect();
    service = await world.service({
      ...WalletWorld.settingsOf(world, dir),
      ROLES: 'all',
      API_KEYS_FILE: keys,
      DATABASE_URL: postgres.url,
      HUB_DATA_DIR: join(dir, 'hub'),
      HUB_ADDRESS: newAccount().address,
      RECONCILE_AT: '03:30',
      WEBHOOK_KEY: 'a key of this test, of no value at all',
    });
    const tables = async () => (await get(`${service.url}/discovery/resources`)).status === 200;
    await eventually('the tables', tables, 60_000);
  }, 180_000);
  afterAll(async () => {
    await world.stop();
    await database.end();
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Of the service, by the name the database knows them by. */
  async function connections(): Promise<ReadonlyMap<string, number>> {
    const { rows } = await database.query<{ name: string; count: string }>(
      `select application_name as name, count(*) from pg_stat_activity
        where application_name like 'x402-%' group by 1 order by 1`,
    );
    return new Map(rows.map(({ name, count }) => [name, Number(count)]));
  }

  async function ask(url: string, { key }: { readonly key: string }): Promise<void> {
    const response = await fetch(url, { headers: { 'X-API-Key': key } });
    await response.arrayBuffer();
  }

  it('are few at rest, no more than their pools allow, and closed with it', async () => {
    const { url, opsUrl } = service;
    expect(sumOf(await connections())).toBeLessThanOrEqual(
      POOLS.archive.most + POOLS.background.most,
    );

    const locking = new pg.Client({ connectionString: postgres.url });
    await locking.connect();
    await locking.query('begin');
    await locking.query(
      `lock table x402.settlements, x402.catalogue_entries, x402.webhook_endpoints, x402.audit
        in access exclusive mode`,
    );
    const from = new Date().toISOString().slice(0, 10);
    const asked = [
      ...AT_ONCE.map(() => ask(`${url}/v2/settlements`, shop)),
      ...AT_ONCE.map(() => ask(`${url}/v2/settlements/totals?from=${from}`, shop)),
      ...AT_ONCE.map(() => ask(`${url}/v2/settlements/export?format=csv&from=${from}`, shop)),
      ...AT_ONCE.map(() => ask(`${url}/v2/settlements/${'a'.repeat(43)}`, shop)),
      ...AT_ONCE.map(() => ask(`${url}/v2/webhooks`, shop)),
      ...AT_ONCE.map(() => ask(`${url}/discovery/resources`, shop)),
      ...AT_ONCE.map(() => ask(`${opsUrl}/admin/api/history/settlements?from=${from}`, operator)),
      ...AT_ONCE.map(() => ask(`${opsUrl}/admin/api/history/totals?from=${from}`, operator)),
      ...AT_ONCE.map(() => ask(`${opsUrl}/admin/api/catalogue/entries`, operator)),
    ];
    const used = new Map<string, number>();
    for (let look = 0; look < 20; look += 1) {
      for (const [name, count] of await connections()) {
        used.set(name, Math.max(used.get(name) ?? 0, count));
      }
      await pause(100);
    }
    await locking.query('rollback');
    await locking.end();
    await Promise.all(asked);

    // How many a pool opened depends on the machine: it may have given up before it had all.
    expect([...used.keys()].sort()).toEqual(
      Object.values(POOLS)
        .map(({ name }) => name)
        .sort(),
    );
    for (const { name, most } of Object.values(POOLS)) {
      expect([name, (used.get(name) ?? 0) <= most]).toEqual([name, true]);
    }

    const ended = new Promise<number | null>((resolve) => service.child.once('exit', resolve));
    service.child.kill('SIGTERM');
    expect(await ended).toBe(0);
    // The database notices a moment later.
    await eventually('all are closed', async () => (await connections()).size === 0);
  }, 60_000);
});

function sumOf(connections: ReadonlyMap<string, number>): number {
  return [...connections.values()].reduce((sum, count) => sum + count, 0);
}
