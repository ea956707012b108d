import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { SIGNER } from '../../sandbox/accounts.js';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { eventually } from '../support/http.js';
import { World } from '../support/world.js';

interface Row {
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
}

describe('the audit of what operators do', () => {
  const operator = createApiKey('night-shift', ['admin']);
  const file = join(mkdtempSync(join(tmpdir(), 'x402-audit-')), 'keys.json');
  let world: World;
  let postgres: SandboxPostgres;
  let service: Service;
  let database: pg.Client;
  let lane: string;

  beforeAll(async () => {
    writeFileSync(file, JSON.stringify({ version: 1, keys: [operator.record] }));
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
    const DATABASE_URL = postgres.url;
    service = await world.service({ API_KEYS_FILE: file, DATABASE_URL });
    lane = `${world.chainId}:${SIGNER.address.toLowerCase()}`;
    database = new pg.Client({ connectionString: postgres.url });
    await database.connect();
  });
  afterAll(async () => {
    await database.end();
    await Promise.all([world.stop(), postgres.stop()]);
  });

  const act = async (what: string): Promise<number> => {
    const response = await fetch(`${service.opsUrl}/admin/api/lanes/${lane}/${what}`, {
      method: 'POST',
      headers: { 'X-API-Key': operator.key },
    });
    return response.status;
  };
  const actions = async (): Promise<readonly string[]> => {
    const { rows } = await database.query<Row>('select * from x402.audit order by happened_at');
    expect(rows.every(({ actor, subject }) => actor === 'night-shift' && subject === lane)).toBe(
      true,
    );
    return rows.map(({ action }) => action);
  };
  const archiver = (): Promise<Service> =>
    world.service({ ROLES: 'history', SIGNER_KEYS: '', DATABASE_URL: postgres.url });

  it('has each action once, also of the time without an archiver, and whoever archives', async () => {
    await eventually('the lane is there', async () => (await act('pause')) === 200);
    expect(await act('resume')).toBe(200);
    const [one, other] = [await archiver(), await archiver()];
    const expected = ['lane_paused', 'lane_not_paused'];
    await eventually('they are rows', async () => {
      const found = await actions().catch(() => []);
      return found.length === expected.length;
    });
    expect(await actions()).toEqual(expected);
    await one.stop('SIGKILL');
    expect(await act('retire')).toBe(200);
    await eventually('the next one', async () => (await actions()).length === 3);
    await other.stop('SIGTERM');
    expect(other.child.exitCode).toBe(0);
    expect(await act('reinstate')).toBe(200);
    await archiver();
    await eventually('the last one', async () => (await actions()).length === 4);
    expect((await actions()).slice(2)).toEqual(['lane_retiring', 'lane_not_retiring']);
  });

  it.each([
    `update x402.audit set actor = 'somebody'`,
    'delete from x402.audit',
    'truncate x402.audit',
  ])('refuses: %s', async (change) => {
    await expect(database.query(change)).rejects.toThrow('rows of audit are only added');
    expect(await actions()).toHaveLength(4);
  });
});
