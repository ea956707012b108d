import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { eventually, get } from '../support/http.js';
import { World } from '../support/world.js';

const WARN = 40;
const PATIENCE_MS = 30_000;
const WAITS = 'has no tables yet';

describe('a start with an empty database', () => {
  const keys = join(mkdtempSync(join(tmpdir(), 'x402-first-')), 'keys.json');
  let world: World;
  let postgres: SandboxPostgres;
  let services: Service[];

  beforeAll(async () => {
    const { record } = createApiKey('ops', ['history', 'admin']);
    writeFileSync(keys, JSON.stringify({ version: 1, keys: [record] }));
    world = await World.start();
  }, 120_000);
  afterAll(() => world.stop());
  beforeEach(async () => {
    services = [];
    postgres = await startPostgres();
  });
  afterEach(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await postgres.stop();
  });

  const start = async (more: Readonly<Record<string, string>>): Promise<Service> => {
    const service = await world.service({
      DATABASE_URL: postgres.url,
      API_KEYS_FILE: keys,
      WEBHOOK_KEY: 'a key of this test, of no value at all',
      RECONCILE_AT: '00:00',
      ...more,
    });
    services.push(service);
    return service;
  };
  const linesOf = (service: Service) =>
    service
      .log()
      .split('\n')
      .flatMap((line) =>
        line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : [],
      );
  const troublesOf = (service: Service) =>
    linesOf(service).filter(
      ({ level, err }) => Number(level) > WARN || JSON.stringify(err ?? '').includes('42P01'),
    );
  const waitsOf = (service: Service) =>
    linesOf(service).filter(({ msg }) => String(msg).includes(WAITS));
  const isReady = async (service: Service): Promise<boolean> =>
    (await get(`${service.url}/health/ready`)).status === 200;
  /** What each part does at its start has been done. */
  const settleDown = () => new Promise((resolve) => setTimeout(resolve, 3000));

  it('by a process that makes the tables is told of no error', async () => {
    const service = await start({ ROLES: 'api,worker,history' });
    await eventually('it is ready', () => isReady(service), PATIENCE_MS);
    await settleDown();
    expect(troublesOf(service)).toEqual([]);
    expect(service.log()).toContain('the history is archived in PostgreSQL');
  });

  it('by processes that do not make them waits, says so once, and is ready afterwards', async () => {
    const [api, manual] = await Promise.all([
      start({ ROLES: 'api,worker' }),
      start({ ROLES: 'history', SIGNER_KEYS: '', MIGRATE: 'manual' }),
    ]);
    await settleDown();
    for (const service of [api, manual]) {
      expect(await isReady(service)).toBe(false);
      const { body } = await get(`${service.opsUrl}/health/ready`);
      expect(body).toMatchObject({
        error: { history_tables: { status: 'down', code: 'tables_missing' } },
      });
      expect(waitsOf(service)).toHaveLength(1);
      expect(waitsOf(service)[0]).toMatchObject({ level: 30 });
    }
    const history = await start({ ROLES: 'history', SIGNER_KEYS: '' });
    for (const service of [api, manual, history]) {
      await eventually('it is ready', () => isReady(service), PATIENCE_MS);
    }
    await settleDown();
    for (const service of [api, manual, history]) expect(troublesOf(service)).toEqual([]);
    for (const service of [manual, history]) {
      expect(service.log()).toContain('the history is archived in PostgreSQL');
    }
  });
});
