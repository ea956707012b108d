import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Address, encodeFunctionData, type Hex, parseEther } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { sandboxAccount, SIGNER } from '../../sandbox/accounts.js';
import { sandboxClient, sendNow } from '../../sandbox/deploy.js';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { mint, TOKEN_ABI } from '../../sandbox/tokens.js';
import { eventually, get, post } from '../support/http.js';
import { eip3009Body, newAccount, permit2Body } from '../support/payments.js';
import { World } from '../support/world.js';

const RECONCILE = fileURLToPath(new URL('../../dist/history/reconcile.js', import.meta.url));
const LANE = SIGNER.address.toLowerCase();

interface Found {
  readonly name: string;
  readonly is_note: boolean;
  readonly expected: string | null;
  readonly found: string | null;
  readonly lane: Buffer | null;
  readonly transaction: Buffer | null;
}

describe('reconciliation', () => {
  let world: World;
  let postgres: SandboxPostgres;
  let facilitator: Service;
  let archiver: Service;
  let payer: PrivateKeyAccount;
  let database: pg.Client;
  const payTo: Address = newAccount().address;

  beforeAll(async () => {
    [world, postgres] = await Promise.all([World.start({ blockTime: 1 }), startPostgres()]);
    facilitator = await world.service({ DATABASE_URL: postgres.url });
    archiver = await world.service({
      ROLES: 'history',
      SIGNER_KEYS: '',
      DATABASE_URL: postgres.url,
    });
    payer = await world.payer({ approves: true });
    database = new pg.Client({ connectionString: postgres.url });
    await database.connect();
  });
  afterAll(async () => {
    await database.end();
    await Promise.all([world.stop(), postgres.stop()]);
  });

  const settings = (more: Readonly<Record<string, string>> = {}) =>
    world.settings({ DATABASE_URL: postgres.url, ...more });

  /** The command, as an operator runs it. */
  function reconcile(
    args: readonly string[] = [],
    env: Readonly<Record<string, string>> = settings(),
  ): SpawnSyncReturns<string> {
    return spawnSync(process.execPath, [RECONCILE, ...args], { env, encoding: 'utf8' });
  }

  async function query<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
    return (await database.query<T>(text, values)).rows;
  }

  /** What the newest run has kept. */
  const found = () =>
    query<Found>(
      `select * from x402.reconciliation_differences
        where reconciliation_id = (select max(id) from x402.reconciliations) order by number`,
    );
  const names = async () => (await found()).map(({ name }) => name);

  /** Changes rows as an intruder with the password might, has them found, and puts them back. */
  async function tampered(change: string, expected: readonly string[]): Promise<void> {
    await query('create table if not exists kept as select * from x402.settlements');
    await query(change);
    const { status, stdout } = reconcile();
    expect([status, await names()]).toEqual([1, expected]);
    for (const name of expected) expect(stdout).toContain(name);
    await query('truncate x402.settlements');
    await query('insert into x402.settlements select * from kept');
  }

  async function settle(body: object): Promise<void> {
    expect((await post(`${facilitator.url}/settle`, body)).body).toMatchObject({ success: true });
  }

  it('finds no difference in what was settled, alone, in batches and by either method', async () => {
    const { chainId, usd: token, coin } = world;
    for (let count = 0; count < 4; count += 1) {
      await settle(await eip3009Body({ payer, chainId, token, payTo }));
    }
    const bodies = await Promise.all([
      ...Array.from({ length: 12 }, () => eip3009Body({ payer, chainId, token, payTo })),
      ...Array.from({ length: 4 }, () => permit2Body({ payer, chainId, token: coin, payTo })),
    ]);
    await Promise.all(bodies.map(settle));
    await eventually(
      'everything is final and archived',
      async () => {
        const rows = await query<{ state: string }>('select state from x402.settlements');
        return rows.length === 20 && rows.every(({ state }) => state === 'finalized');
      },
      60_000,
    );
    const [most] = await query<{ max: number }>('select max(batch_size) from x402.settlements');
    expect(most?.max).toBeGreaterThan(1);
    const { status, stdout, stderr } = reconcile();
    expect({ status, stderr, found: await found() }).toEqual({ status: 0, stderr: '', found: [] });
    expect(stdout).toContain('20 settlements');
    expect(stdout).toContain('no differences');
    const [lane] = await query<{ lane: Buffer; fees: string; received: string }>(
      'select * from x402.reconciliation_lanes',
    );
    expect(`0x${lane?.lane.toString('hex')}`).toBe(LANE);
    expect([BigInt(lane?.fees ?? 0) > 0n, lane?.received]).toEqual([true, '0']);
  });

  it('does so by itself, and shows a zero', async () => {
    const service = await world.service(
      settings({ ROLES: 'history', SIGNER_KEYS: '', RECONCILE_AT: '00:00' }),
    );
    await eventually(
      'the first run',
      async () => {
        const { body } = await get(`${service.opsUrl}/health`);
        return JSON.stringify(body).includes('lastRun');
      },
      30_000,
    );
    const { body } = await get(`${service.opsUrl}/health`);
    expect(body).toMatchObject({
      details: { reconciliation: { status: 'up', enabled: true, differences: 0, notChecked: 0 } },
    });
    const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text();
    const of = (name: string) =>
      `x402_reconciliation_differences{network="eip155:${world.chainId}",name="${name}"}`;
    expect(metrics).toContain(`${of('amount_differs')} 0\n`);
    expect(metrics).toContain(`${of('not_checked')} 0\n`);
    expect(metrics).toMatch(/x402_reconciliation_settlements\{[^}]*\} 20\n/);
    await service.stop('SIGTERM');
    expect(service.child.exitCode).toBe(0);
    expect(service.log()).toContain('reconciliation: the ledger agrees with the chain');
    const runs = await query(`select 1 from x402.reconciliations where started_by = 'daily'`);
    expect(runs).toHaveLength(1);
  });

  it('names what somebody has changed in the books', async () => {
    // From here on nothing is settled: what follows is done to the books, and by hand.
    await facilitator.stop('SIGTERM');
    await archiver.stop('SIGTERM');
    const one = '(select id from x402.settlements order by claimed_at limit 1)';
    await tampered(`update x402.settlements set amount = amount + 1 where id = ${one}`, [
      'amount_differs',
    ]);
    await tampered(
      `update x402.settlements set pay_to = decode(repeat('99', 20), 'hex') where id = ${one}`,
      ['payee_differs'],
    );
    await tampered(`delete from x402.settlements where id = ${one}`, ['log_without_settlement']);
    await tampered(
      `delete from x402.settlements where id =
        (select id from x402.settlements where batch_size > 1 limit 1)`,
      ['log_without_settlement'],
    );
    await tampered(
      `create temporary table extra as select * from x402.settlements where id = ${one};
       update extra set id = decode(repeat('77', 32), 'hex'), transaction = decode(repeat('88', 32), 'hex'),
         transactions = array[decode(repeat('88', 32), 'hex')];
       insert into x402.settlements select * from extra; drop table extra`,
      ['settled_without_log'],
    );
    await tampered(
      `update x402.settlements set is_paid = false, state = 'expired', block_number = null where id = ${one}`,
      ['state_differs'],
    );
    await tampered(
      `update x402.settlements set block_hash = decode(repeat('66', 32), 'hex') where id = ${one}`,
      ['block_differs'],
    );
    expect(reconcile().status).toBe(0);
  });

  it('does not call right what it could not read', async () => {
    const rpcUrls = `${world.anvil.url},http://127.0.0.1:9`;
    const { status, stdout } = reconcile([], settings({ [`RPC_URLS_${world.chainId}`]: rpcUrls }));
    expect([status, new Set(await names())]).toEqual([2, new Set(['not_checked'])]);
    expect(stdout).toContain('not checked');
    expect(reconcile(['--from', 'yesterday'])).toMatchObject({ status: 3 });
    expect(reconcile(['--network', 'eip155:5'])).toMatchObject({ status: 3 });
    const DATABASE_URL = 'postgres://x402:hunter2@127.0.0.1:9/x402';
    const away = reconcile([], settings({ DATABASE_URL }));
    expect(away).toMatchObject({ status: 3, stdout: '' });
    expect(away.stderr).toContain('database_unreachable');
    expect(away.stderr).not.toContain('hunter2');
  });

  it('names what was sent with the key of a lane by hand, and what the lane was sent', async () => {
    const lane = SIGNER.address;
    await mint(world.client, world.usd, lane, 5000n);
    const byHand = sandboxClient(world.anvil.url, SIGNER.key);
    const data: Hex = encodeFunctionData({
      abi: TOKEN_ABI,
      functionName: 'transfer',
      args: [payTo, 5000n],
    });
    await sendNow(byHand, { to: world.usd, data });
    await sendNow(byHand, { to: payTo, value: 77n });
    await sendNow(world.client, { to: lane, value: 1234n });
    await world.client.mine({ blocks: 5 });
    expect(reconcile().status).toBe(1);
    const all = await found();
    expect(all).toMatchObject([
      { name: 'log_without_settlement', is_note: false },
      { name: 'lane_sent_native', is_note: false, found: '77 wei' },
      { name: 'lane_funded', is_note: true, found: '1234 wei' },
    ]);
    expect(all[0]?.found).toContain(`5000 of ${world.usd.toLowerCase()} from ${LANE}`);
    expect(all.map((one) => `0x${one.lane?.toString('hex')}`)).toEqual([LANE, LANE, LANE]);
  });

  it('counts a treasury among the lanes, and what it sends them as right', async () => {
    const id = world.chainId;
    const treasury = sandboxAccount(15);
    await world.client.setBalance({ address: SIGNER.address, value: parseEther('1') });
    expect(reconcile().status).toBe(1);
    const refilling = await world.service({
      DATABASE_URL: postgres.url,
      [`TREASURY_KEY_${id}`]: treasury.key,
      // Whatever the lane has is too little.
      [`TREASURY_REFILL_BELOW_${id}`]: '100000000',
      [`TREASURY_REFILL_TO_${id}`]: '200000000',
      [`TREASURY_DAILY_CAP_${id}`]: '1000000',
    });
    await world.client.setBalance({ address: treasury.address, value: parseEther('1000000') });
    await eventually('it has refilled', () => refilling.log().includes('lane refilled'), 30_000);
    await refilling.stop();
    await world.client.mine({ blocks: 5 });
    const { stdout } = reconcile();
    const all = await found();
    expect(stdout).toContain('lane_refilled');
    const ofTreasury = all.filter(
      ({ lane }) => `0x${lane?.toString('hex')}` === treasury.address.toLowerCase(),
    );
    expect(ofTreasury.map(({ name, is_note }) => [name, is_note])).toContainEqual([
      'lane_refilled',
      true,
    ]);
    expect(ofTreasury.filter(({ is_note }) => !is_note)).toEqual([]);
  });
});
