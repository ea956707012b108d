import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { restartPostgres, type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { connectDatabase } from '../../src/history/postgres/database.js';
import { PostgresArchive } from '../../src/history/postgres/postgres-archive.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { Secret } from '../../src/platform/config/secret.js';
import { aRecorded, CLAIMED_AT } from '../builders/history/recorded-settlement.js';
import { eventually } from '../support/http.js';
import type { Json } from '../support/payments.js';
import { World } from '../support/world.js';

/** More than the buffers between two processes hold. */
const ROWS = 30_000;

describe('an export of the history', () => {
  const dir = mkdtempSync(join(tmpdir(), 'x402-export-'));
  const shop = createApiKey('shop', ['history'], [`0x${'c3'.repeat(20)}`]);
  const stranger = createApiKey('stranger', ['history'], [`0x${'d4'.repeat(20)}`]);
  let world: World;
  let postgres: SandboxPostgres;
  let service: Service;

  beforeAll(async () => {
    const file = join(dir, 'keys.json');
    writeFileSync(file, JSON.stringify({ version: 1, keys: [shop.record, stranger.record] }));
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
    await fill();
    service = await world.service({ DATABASE_URL: postgres.url, API_KEYS_FILE: file });
  });
  afterAll(async () => {
    await world.stop();
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** One settlement by the archive, and as many like it as are wanted. */
  async function fill(): Promise<void> {
    const database = connectDatabase(new Secret(postgres.url));
    const archive = new PostgresArchive(
      database,
      { history: { migrates: true, months: undefined } },
      { now: () => CLAIMED_AT },
    );
    await archive.open();
    const epoch = await archive.epochNumber({ chainId: 56, epoch: 'first' });
    const settlement = aRecorded('first', 'finalized');
    const { id } = settlement.view;
    await archive.store(56, epoch, [
      { kind: 'recorded', id, version: { ms: 1, sequence: 1 }, settlement },
    ]);
    await database.db.destroy();
    await query(
      `insert into x402.settlements select made.*
        from x402.settlements one, generate_series(1, ${ROWS - 1}) nth,
          lateral jsonb_populate_record(one, jsonb_build_object(
            'id', '\\x' || encode(sha256(nth::text::bytea), 'hex'),
            'claimed_at', one.claimed_at - nth * interval '10 milliseconds')) made`,
    );
  }

  async function query<T extends object>(text: string): Promise<T[]> {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    try {
      return (await client.query<T>(text)).rows;
    } finally {
      await client.end();
    }
  }

  const ask = (parameters: string, { key } = shop, signal?: AbortSignal): Promise<Response> =>
    fetch(`${service.url}/v2/settlements/export?${parameters}`, {
      headers: { 'X-API-Key': key },
      ...(signal !== undefined && { signal }),
    });

  it('is streamed whole, in every format', async () => {
    const csv = await ask('format=csv');
    expect(csv.headers.get('content-type')).toContain('text/csv');
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="settlements.csv"');
    expect((await csv.text()).split('\r\n')).toHaveLength(ROWS + 2);
    const lines = (await (await ask('format=ndjson')).text()).trimEnd().split('\n');
    const ids = lines.map((line) => (JSON.parse(line) as Json)['settlementId']);
    expect(new Set(ids).size).toBe(ROWS);
  });

  it('is narrowed as a list is, and empty for others', async () => {
    const from = new Date(CLAIMED_AT - 95).toISOString();
    const lines = (await (await ask(`format=csv&from=${from}`)).text()).split('\r\n');
    expect(lines).toHaveLength(10 + 2);
    expect(await (await ask('format=ndjson', stranger)).text()).toBe('');
    expect((await ask(`format=csv&payTo=0x${'c3'.repeat(20)}`, stranger)).status).toBe(403);
    expect((await fetch(`${service.url}/v2/settlements/export?format=csv`)).status).toBe(401);
    expect((await ask('format=xlsx')).status).toBe(400);
    // A key is asked for before the query is read.
    expect((await fetch(`${service.url}/v2/settlements/export?format=xlsx`)).status).toBe(401);
  });

  it('holds nothing of the database for a client that stalls, and ends with it', async () => {
    const leave = new AbortController();
    const stalled = await Promise.all([1, 2].map(() => ask('format=ndjson', shop, leave.signal)));
    const busy = await ask('format=csv');
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '30']);
    expect(await busy.json()).toMatchObject({ code: 'export_busy' });
    // Others have their places.
    expect((await ask('format=csv', stranger)).status).toBe(200);
    await eventually('the database waits for nobody', async () => {
      const held = await query(
        `select 1 from pg_stat_activity where application_name = 'x402-exports' and state <> 'idle'`,
      );
      return held.length === 0;
    });
    leave.abort();
    for (const { body } of stalled) await body?.cancel().catch(() => undefined);
    await eventually('its place is free', async () => {
      const answer = await ask('format=csv&from=2030-01-01');
      await answer.text();
      return answer.status === 200;
    });
  });

  it('is broken off, and never ended, when the database goes away', async () => {
    const answer = await ask('format=csv');
    expect(answer.status).toBe(200);
    const reader = answer.body?.getReader();
    await reader?.read();
    await postgres.crash();
    const rest = async (): Promise<void> => {
      for (;;) {
        const piece = await reader?.read();
        if (piece?.done !== false) return;
      }
    };
    await expect(rest()).rejects.toThrow();
    // The line may come a moment after the connection is gone.
    await eventually('it is logged', () =>
      service.log().includes('an export to a seller was interrupted'),
    );
    expect(service.child.exitCode).toBeNull();
    expect((await ask('format=csv')).status).toBe(503);
    postgres = await restartPostgres(postgres);
    await eventually('exports run again', async () => {
      const again = await ask('format=csv');
      return (await again.text()).split('\r\n').length === ROWS + 2;
    });
  });
});
