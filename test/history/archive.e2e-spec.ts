import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { restartPostgres, type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { migrations } from '../../src/history/postgres/migrator.js';
import { archiverKey, outboxKey } from '../../src/settlement/ledger/keys.js';
import { eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const MIGRATE = fileURLToPath(new URL('../../dist/history/migrate.js', import.meta.url));

/** `npm run migrate`. */
const migrate = (env: Readonly<Record<string, string>>) =>
  spawnSync(process.execPath, [MIGRATE], { env, encoding: 'utf8' });

interface Row {
  readonly id: Buffer;
  readonly state: string;
  readonly is_paid: boolean;
  readonly sale: string;
  readonly transaction: Buffer;
  readonly payer: Buffer;
  readonly pay_to: Buffer;
  readonly amount: string;
}

describe('the history of settlements', () => {
  let world: World;
  let postgres: SandboxPostgres;
  let facilitator: Service;
  let payer: PrivateKeyAccount;
  let redis: Redis;
  const payTo: Address = newAccount().address;
  const archivers = new Set<Service>();
  const settled: string[] = [];

  beforeAll(async () => {
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
    facilitator = await world.service({ DATABASE_URL: postgres.url });
    payer = await world.payer();
    redis = new Redis(world.redis.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await Promise.all([world.stop(), postgres.stop()]);
  });
  afterEach(async () => {
    await Promise.all([...archivers].map((one) => one.stop('SIGKILL')));
    archivers.clear();
    // One that was killed still holds its lease, for five seconds.
    await redis.del(archiverKey(world.chainId));
  });

  async function archiver(more: Record<string, string> = {}): Promise<Service> {
    const service = await world.service({
      ROLES: 'history',
      DATABASE_URL: postgres.url,
      SIGNER_KEYS: '',
      ...more,
    });
    archivers.add(service);
    return service;
  }

  async function settle(): Promise<string> {
    const { chainId, usd: token } = world;
    const body = await eip3009Body({ payer, chainId, token, payTo });
    const answer = await post(`${facilitator.url}/settle`, body);
    expect(answer.body).toMatchObject({ success: true });
    const transaction = String(answer.body['transaction']);
    settled.push(transaction);
    return transaction;
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
  const rows = () => query<Row>('select * from x402.settlements');
  const waiting = () => redis.xlen(outboxKey(world.chainId));
  const finalizeAll = () => world.client.mine({ blocks: 5 });

  /** Every acknowledged settle is one row, final, sold and as the status shows it. */
  async function expectArchived(): Promise<void> {
    await eventually(
      'everything is final and archived',
      async () => {
        await finalizeAll();
        if ((await waiting()) > 0) return false;
        // Until the first archiver has made the tables.
        const found = await rows().catch(() => undefined);
        return (
          found?.length === settled.length && found.every(({ state }) => state === 'finalized')
        );
      },
      30_000,
    );
    const found = await rows();
    expect(found.map(({ transaction }) => `0x${transaction.toString('hex')}`).sort()).toEqual(
      [...settled].sort(),
    );
    for (const row of found) {
      expect(row).toMatchObject({ is_paid: true, sale: 'sold', amount: '1000' });
      expect(`0x${row.payer.toString('hex')}`).toBe(payer.address.toLowerCase());
      expect(`0x${row.pay_to.toString('hex')}`).toBe(payTo.toLowerCase());
      const { body } = await get(
        `${facilitator.url}/v2/settlements/${row.id.toString('base64url')}`,
      );
      expect(body).toMatchObject({ state: row.state });
    }
  }

  it('waits in Redis while nobody archives, and is archived by whoever comes', async () => {
    await settle();
    await settle();
    expect(await waiting()).toBeGreaterThan(1);
    const service = await archiver();
    await expectArchived();
    expect(await query('select * from x402.unreadable_records')).toEqual([]);
    expect(service.log()).not.toContain(new URL(postgres.url).password);
    // The look for the tables is made every so often: the archive may be at work before health has seen them.
    await eventually(
      'health is ok',
      async () => (await get(`${service.opsUrl}/health`)).status === 200,
    );
    const { body } = await get(`${service.opsUrl}/health`);
    expect(body).toMatchObject({
      status: 'ok',
      details: { history: { status: 'up', enabled: true, waiting: 0, lagSeconds: 0 } },
    });
    expect(JSON.stringify(body)).not.toContain('postgres:');
    const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text();
    expect(metrics).toMatch(/x402_history_archived_total\{[^}]*outcome="written"\} [1-9]/);
    expect(metrics).toContain('x402_history_waiting_changes');
  });

  deep('loses nothing of an archiver that is killed before its commit', async () => {
    const service = await archiver();
    await expectArchived();
    const holder = new pg.Client({ connectionString: postgres.url });
    await holder.connect();
    await holder.query('begin; lock table x402.settlements in access exclusive mode');
    await settle();
    await eventually('it waits for the table', async () => (await lockedOut()) > 0);
    await service.stop('SIGKILL');
    await holder.end();
    expect(await waiting()).toBeGreaterThan(0);
    await archiver();
    await expectArchived();
  });

  it('writes nothing twice of an archiver that is killed after its commit', async () => {
    const service = await archiver();
    await expectArchived();
    const holder = new pg.Client({ connectionString: postgres.url });
    await holder.connect();
    await holder.query('begin; lock table x402.settlements in access exclusive mode');
    const transaction = await settle();
    await eventually('it waits for the table', async () => (await lockedOut()) > 0);
    // It has read, and is writing: what it will not come to is to forget.
    await redis.client('PAUSE', 60_000, 'WRITE');
    await holder.end();
    await eventually('the commit', async () =>
      (await rows()).some((row) => `0x${row.transaction.toString('hex')}` === transaction),
    );
    await service.stop('SIGKILL');
    await redis.client('UNPAUSE');
    expect(await waiting()).toBeGreaterThan(0);
    await redis.del(archiverKey(world.chainId));
    await archiver();
    await expectArchived();
  });

  it('goes on when PostgreSQL is away, and catches up when it is back', async () => {
    const service = await archiver();
    await expectArchived();
    await postgres.crash();
    await settle();
    await settle();
    await eventually('it is named', async () => {
      const { body } = await get(`${service.opsUrl}/health`);
      return JSON.stringify(body).includes('"code":"database_unreachable"');
    });
    expect((await get(`${facilitator.url}/health`)).status).toBe(200);
    expect(await waiting()).toBeGreaterThan(0);
    postgres = await restartPostgres(postgres);
    await expectArchived();
    await eventually('it is well again', async () => {
      const { body } = await get(`${service.opsUrl}/health`);
      return !JSON.stringify(body).includes('database_unreachable');
    });
  });

  deep('starts without PostgreSQL, settles, and archives when there is one', async () => {
    await postgres.crash();
    const service = await archiver();
    await settle();
    postgres = await restartPostgres(postgres);
    await expectArchived();
    expect(service.log()).toContain('cannot archive settlements in PostgreSQL');
  });

  deep('has one archiver at a time, and the next within seconds of its end', async () => {
    const [one, other] = [await archiver(), await archiver()];
    const holder = async () => redis.get(archiverKey(world.chainId));
    await expectArchived();
    const first = await holder();
    await settle();
    await expectArchived();
    expect(await holder()).toBe(first);
    // Whichever holds it: one of the two is left.
    await one.stop('SIGTERM');
    expect(one.child.exitCode).toBe(0);
    await settle();
    await expectArchived();
    await other.stop('SIGKILL');
    await archiver();
    await settle();
    await expectArchived();
  });

  deep('with MIGRATE=manual waits for the tables', async () => {
    await query('drop schema x402 cascade');
    settled.length = 0;
    const service = await archiver({ MIGRATE: 'manual' });
    await settle();
    await eventually('it is named', async () => {
      const { body } = await get(`${service.opsUrl}/health`);
      return JSON.stringify(body).includes('"code":"tables_missing"');
    });
    expect(await waiting()).toBeGreaterThan(0);
    expect(migrate({})).toMatchObject({ status: 1, stderr: 'DATABASE_URL: is required\n' });
    const DATABASE_URL = postgres.url;
    const applied = `Applied ${migrations()
      .map(({ name }) => name)
      .join(', ')}.\n`;
    expect(migrate({ DATABASE_URL })).toMatchObject({ status: 0, stdout: applied });
    const nothing = 'The tables are up to date.\n';
    expect(migrate({ DATABASE_URL })).toMatchObject({ status: 0, stdout: nothing });
    await expectArchived();
  });

  it('is nowhere without DATABASE_URL, and that is said', async () => {
    await archiver();
    await expectArchived();
    await facilitator.stop();
    facilitator = await world.service();
    await settle();
    settled.pop();
    expect(await waiting()).toBe(0);
    expect(facilitator.log()).toContain('DATABASE_URL is not set');
    const { body } = await get(`${facilitator.opsUrl}/health`);
    expect(body).toMatchObject({ details: { history: { status: 'up', enabled: false } } });
  });

  /** Processes of the service that wait for a lock of the database. */
  async function lockedOut(): Promise<number> {
    const found = await query<{ count: string }>(
      `select count(*) from pg_stat_activity
        where application_name = 'x402-history' and wait_event_type = 'Lock'`,
    );
    return Number(found[0]?.count);
  }
});
