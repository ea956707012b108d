import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { Address, Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { SIGNER } from '../../sandbox/accounts.js';
import { restartPostgres, type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { archiverKey, listKey, outboxKey, recordKey } from '../../src/settlement/ledger/keys.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import { type Body, eip3009Body, type Json, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const LABEL = 'label-of-a-payment-0001';

/** A payment that was settled: as it was sent, and as it was answered. */
interface Settled {
  readonly body: Body;
  readonly key: string | undefined;
  readonly id: string;
  readonly transaction: Hex;
}

describe('settlements that have left Redis', () => {
  let world: World;
  let postgres: SandboxPostgres;
  let facilitator: Service;
  let payer: PrivateKeyAccount;
  let redis: Redis;
  const payTo: Address = newAccount().address;
  const archivers = new Set<Service>();

  beforeAll(async () => {
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
    facilitator = await world.service({ DATABASE_URL: postgres.url, SALE_GRACE_MS: '0' });
    payer = await world.payer();
    redis = new Redis(world.redis.url);
    await archiver();
  });
  afterAll(async () => {
    redis.disconnect();
    await Promise.all([world.stop(), postgres.stop()]);
  });
  afterEach(async () => {
    if (archivers.size === 0) await archiver();
  });

  async function archiver(): Promise<Service> {
    const service = await world.service({
      ROLES: 'history',
      DATABASE_URL: postgres.url,
      SIGNER_KEYS: '',
      HOT_MINUTES: '1',
    });
    archivers.add(service);
    return service;
  }

  async function killArchivers(): Promise<void> {
    await Promise.all([...archivers].map((one) => one.stop('SIGKILL')));
    archivers.clear();
    await redis.del(archiverKey(world.chainId));
  }

  const send = (path: string, body: Body, key?: string): Promise<Answer> =>
    post(`${facilitator.url}${path}`, body, key === undefined ? {} : { 'Idempotency-Key': key });
  const aBody = () =>
    eip3009Body({ payer, payTo, chainId: world.chainId, token: world.usd, validFor: 3600 });

  async function settle(key?: string, body?: Body): Promise<Settled> {
    const sent = body ?? (await aBody());
    const answer = await send('/v2/settle', sent, key);
    expect(answer.body).toMatchObject({ success: true });
    const { settlementId } = answer.body['extra'] as { readonly settlementId: string };
    return { body: sent, key, id: settlementId, transaction: answer.body['transaction'] as Hex };
  }

  const isHeld = async (id: string) => (await redis.exists(recordKey(world.chainId, id))) === 1;
  const cooling = () => listKey(world.chainId, 'cooling');

  /** As if nothing had changed it for longer than `HOT_MINUTES`. Older ones may have been evicted already. */
  async function age(...settled: readonly Settled[]): Promise<void> {
    const isCooling = async ({ id }: Settled): Promise<boolean> =>
      (await redis.zscore(cooling(), id)) !== null || !(await isHeld(id));
    await eventually('they are final', async () => {
      await world.client.mine({ blocks: 3 });
      return !(await Promise.all(settled.map(isCooling))).includes(false);
    });
    for (const { id } of settled) await redis.zadd(cooling(), 'XX', 1, id);
  }

  async function leave(...settled: readonly Settled[]): Promise<void> {
    await age(...settled);
    await eventually(
      'they leave',
      async () => !(await Promise.all(settled.map(({ id }) => isHeld(id)))).includes(true),
      20_000,
    );
  }

  /** As if every key had been bound longer ago than a claim of it may take. */
  async function ageKeys(): Promise<void> {
    for (const key of await redis.keys('x402:{k:*')) {
      const [value, seconds] = [await redis.get(key), await redis.ttl(key)];
      if (value !== null) await redis.set(key, value.replace(/\d+$/, '1'), 'EX', seconds);
    }
  }

  async function settleAndLeave(key?: string): Promise<Settled> {
    const settled = await settle(key);
    await leave(settled);
    return settled;
  }

  /** Queries of the archive by the process that answers. */
  async function queries(): Promise<number> {
    const metrics = await (await fetch(`${facilitator.opsUrl}/metrics`)).text();
    const counts = metrics.matchAll(/^x402_history_look_ups_total\{[^}]*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  const sentTransactions = () =>
    world.client.getTransactionCount({ address: SIGNER.address, blockTag: 'pending' });

  it('leave nothing in Redis but key and identifier, and are looked up as before', async () => {
    // What every ledger has once something was settled, whatever has left.
    await settleAndLeave();
    const [there, bounded] = [new Set(await redis.keys('*')), /^bull:|:g:|^x402:q:|:settles:\d+$/];
    const body = await aBody();
    body.paymentPayload['extensions'] = {
      'payment-identifier': { info: { required: true, id: LABEL } },
    };
    const settled = await settle('looked-up', body);
    const authorization = (body.paymentPayload['payload'] as Json)['authorization'] as Json;
    const asked = [
      `/${settled.id}`,
      `?transaction=${settled.transaction}`,
      `?network=eip155:${world.chainId}&asset=${world.usd}&payer=${payer.address}&nonce=${String(authorization['nonce'])}`,
      `?paymentId=${LABEL}&payTo=${payTo}&payer=${payer.address}`,
    ];
    const lookUps = () =>
      Promise.all(asked.map((query) => get(`${facilitator.url}/v2/settlements${query}`)));
    await age(settled);
    await redis.zadd(cooling(), 'XX', Date.now(), settled.id);
    const before = await lookUps();
    expect(before.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await leave(settled);
    const left = await redis.keys(`*{${world.chainId}:0}:*`);
    const ofIt = left.filter((key) => key.includes(settled.id) || /:[sdwaxc]:/.test(key));
    expect(ofIt).toEqual([]);
    const stay = (await redis.keys('*')).filter((key) => !there.has(key) && !bounded.test(key));
    expect(stay.map((key) => key.slice(0, 'x402:{k:'.length)).sort()).toEqual([
      'x402:{k:',
      'x402:{p:',
    ]);
    for (const key of stay) {
      const days = (await redis.ttl(key)) / 86_400;
      expect(days).toBeGreaterThan(0);
      expect(days).toBeLessThanOrEqual(30);
    }
    expect(await redis.keys(`bull:*${settled.id}*`)).toEqual([]);
    const after = await lookUps();
    const said = JSON.stringify(before.map(({ body: one }) => one));
    expect(JSON.stringify(after.map(({ body: one }) => one))).toBe(
      said.replaceAll('"source":"ledger"', '"source":"archive"'),
    );
    expect(said).toContain('"source":"ledger"');
    const unknown = await get(`${facilitator.url}/v2/settlements/${'x'.repeat(43)}`);
    expect(unknown.status).toBe(404);
  });

  it('are told as success to their key alone, and nothing is sent or sold again', async () => {
    const settled = await settleAndLeave('order-1');
    const sent = await sentTransactions();
    const again = await send('/v2/settle', settled.body, 'order-1');
    expect(again).toMatchObject({
      status: 200,
      body: {
        success: true,
        transaction: settled.transaction,
        extra: { settlementId: settled.id },
      },
    });
    expect(again.headers.get('settle-finality')).toBe('finalized');
    expect((await send('/v2/verify', settled.body, 'order-1')).body).toMatchObject({
      isValid: true,
    });
    for (const key of [undefined, 'order-2']) {
      expect((await send('/v2/settle', settled.body, key)).body).toMatchObject({
        success: false,
        errorReason: 'duplicate_settlement',
        transaction: settled.transaction,
      });
      expect((await send('/v2/verify', settled.body, key)).body).toMatchObject({
        isValid: false,
        invalidReason: 'duplicate_settlement',
      });
    }
    // A whole crowd that shows what is public on the chain.
    const crowd = await Promise.all(
      Array.from({ length: 40 }, (_, i) => send('/v2/settle', settled.body, `stranger-${i}`)),
    );
    for (const { body } of crowd) {
      expect(body).toMatchObject({ success: false });
      expect(['duplicate_settlement', 'network_unavailable']).toContain(body['errorReason']);
    }
    expect(await sentTransactions()).toBe(sent);
    expect(await isHeld(settled.id)).toBe(false);
  });

  it('are nobody’s who did not sign them', async () => {
    const settled = await settleAndLeave('order-3');
    const forged = structuredClone(settled.body);
    const payload = forged.paymentPayload['payload'] as Json;
    payload['signature'] = `0x${'11'.repeat(64)}1b`;
    const { body } = await send('/v2/settle', forged, 'order-3');
    expect(body).toMatchObject({ success: false, transaction: '' });
    expect(JSON.stringify(body)).not.toContain(settled.transaction.slice(2));
    expect((await send('/v2/verify', forged, 'order-3')).body).toMatchObject({ isValid: false });
  });

  it('still refuse their key to another payment, when Redis has forgotten the key', async () => {
    const [first, second] = [await settleAndLeave('order-4'), await settleAndLeave('order-5')];
    const keys = await redis.keys('x402:{k:*');
    await redis.del(...keys);
    expect((await send('/v2/settle', first.body, 'order-4')).body).toMatchObject({
      success: true,
      transaction: first.transaction,
    });
    expect(await send('/v2/settle', second.body, 'order-4')).toMatchObject({
      status: 409,
      body: { success: false, errorReason: 'idempotency_key_conflict' },
    });
  });

  it('keep their key from a new payment, as long as keys are kept', async () => {
    const settled = await settleAndLeave('order-12');
    await ageKeys();
    const [sent, before] = [await sentTransactions(), await queries()];
    const other = await aBody();
    expect(await send('/v2/settle', other, 'order-12')).toMatchObject({
      status: 409,
      body: { success: false, errorReason: 'idempotency_key_conflict' },
    });
    expect(await queries()).toBe(before + 1);
    expect(await sentTransactions()).toBe(sent);
    expect((await send('/v2/settle', settled.body, 'order-12')).body).toMatchObject({
      success: true,
      transaction: settled.transaction,
    });
  });

  it('cost a new payment no query', async () => {
    const before = await queries();
    for (const key of [undefined, 'new-1', 'new-2']) {
      const body = await aBody();
      expect((await send('/v2/verify', body, key)).body).toMatchObject({ isValid: true });
      await settle(key, body);
      // Again, while the ledger knows it.
      await send('/v2/settle', body, key);
    }
    const poor = await eip3009Body({
      payer: newAccount(),
      payTo,
      chainId: world.chainId,
      token: world.usd,
    });
    expect((await send('/v2/settle', poor, 'new-3')).body).toMatchObject({ success: false });
    expect(await queries()).toBe(before);
  });

  it('stay while they are not sold', async () => {
    const body = await aBody();
    // The client closes the connection before the answer: paid, and not sold yet.
    await fetch(`${facilitator.url}/v2/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'settle-finality': 'finalized' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(500),
    }).catch(() => undefined);
    const { nonce } = (body.paymentPayload['payload'] as Json)['authorization'] as Json;
    const found = await get(
      `${facilitator.url}/v2/settlements?network=eip155:${world.chainId}&asset=${world.usd}` +
        `&payer=${payer.address}&nonce=${String(nonce)}`,
    );
    const id = String(found.body['settlementId']);
    await eventually('it is final', async () => {
      await world.client.mine({ blocks: 3 });
      return (await redis.zscore(cooling(), id)) !== null;
    });
    await redis.zadd(cooling(), 'XX', 1, id);
    await eventually('it was looked at', async () => (await redis.zscore(cooling(), id)) === null);
    expect(await redis.hget(recordKey(world.chainId, id), 'sale')).toBe('open');
    expect((await send('/v2/settle', body)).body).toMatchObject({ success: true });
    await eventually('it cools again', async () => (await redis.zscore(cooling(), id)) !== null);
  });

  deep(
    'have left or have not, when the archiver is killed between archive and removal',
    async () => {
      const settled = await settle('order-6');
      await eventually('it is archived', async () => {
        await world.client.mine({ blocks: 3 });
        return (
          (await redis.xlen(outboxKey(world.chainId))) === 0 &&
          (await redis.zscore(cooling(), settled.id)) !== null
        );
      });
      const holder = new pg.Client({ connectionString: postgres.url });
      await holder.connect();
      await holder.query('begin; lock table x402.settlement_ids in access exclusive mode');
      await redis.zadd(cooling(), 'XX', 1, settled.id);
      await eventually('the row is asked for', async () => {
        const { rows } = await holder.query<{ count: string }>(
          `select count(*) from pg_stat_activity
          where application_name = 'x402-history' and wait_event_type = 'Lock'`,
        );
        return Number(rows[0]?.count) > 0;
      });
      // It has read, and will compare: what it will not come to is to remove.
      await redis.client('PAUSE', 60_000, 'WRITE');
      await holder.end();
      await new Promise((resolve) => setTimeout(resolve, 500));
      await Promise.all([...archivers].map((one) => one.stop('SIGKILL')));
      archivers.clear();
      await redis.client('UNPAUSE');
      await redis.del(archiverKey(world.chainId));
      expect(await isHeld(settled.id)).toBe(true);
      const first = await send('/v2/settle', settled.body, 'order-6');
      expect(first.body).toMatchObject({ success: true, transaction: settled.transaction });
      // Two at once do what one had begun.
      await Promise.all([archiver(), archiver()]);
      await leave(settled);
      expect((await send('/v2/settle', settled.body, 'order-6')).body).toMatchObject({
        success: true,
        transaction: settled.transaction,
      });
    },
  );

  deep('are not denied while PostgreSQL is away; new ones settle, and nothing leaves', async () => {
    const cold = await settleAndLeave('order-7');
    const hot = await settle('order-8');
    await age(hot);
    await redis.zadd(cooling(), 'XX', Date.now(), hot.id);
    await postgres.crash();
    await redis.zadd(cooling(), 'XX', 1, hot.id);
    await ageKeys();
    expect((await send('/v2/settle', await aBody(), 'order-7')).body).toMatchObject({
      success: false,
      errorReason: 'network_unavailable',
      transaction: '',
    });
    for (let i = 0; i < 5; i += 1) {
      const from = performance.now();
      expect((await send('/v2/settle', cold.body, 'order-7')).body).toMatchObject({
        success: false,
        errorReason: 'network_unavailable',
      });
      expect(performance.now() - from).toBeLessThan(4000);
    }
    expect((await send('/v2/settle', cold.body)).body).toMatchObject({ success: false });
    expect((await send('/v2/verify', cold.body, 'order-7')).body).toMatchObject({
      invalidReason: 'network_unavailable',
    });
    expect((await get(`${facilitator.url}/v2/settlements/${cold.id}`)).status).toBe(503);
    await settle('order-9');
    expect((await get(`${facilitator.opsUrl}/health`)).status).toBe(200);
    expect(await isHeld(hot.id)).toBe(true);
    expect((await get(`${facilitator.url}/v2/settlements/${hot.id}`)).status).toBe(200);
    postgres = await restartPostgres(postgres);
    await eventually('it is asked again', async () => {
      const { body } = await send('/v2/settle', cold.body, 'order-7');
      return body['success'] === true && body['transaction'] === cold.transaction;
    });
    await leave(hot);
  });

  deep('and those that had not are known again after Redis was lost whole', async () => {
    const cold = await settleAndLeave('order-10');
    const hot = await settle('order-11');
    await age(hot);
    await eventually(
      'it is archived',
      async () => (await redis.xlen(outboxKey(world.chainId))) === 0,
    );
    await redis.flushall();
    for (const { id, transaction } of [cold, hot]) {
      const { body } = await get(`${facilitator.url}/v2/settlements/${id}`);
      expect(body).toMatchObject({ source: 'archive', state: 'finalized', transaction });
      const found = await get(`${facilitator.url}/v2/settlements?transaction=${transaction}`);
      expect(found.status).toBe(200);
    }
    const sent = await sentTransactions();
    for (const one of [cold, hot]) {
      expect((await send('/v2/settle', one.body)).body).toMatchObject({
        success: false,
        errorReason: 'duplicate_settlement',
        transaction: one.transaction,
      });
      expect((await send('/v2/settle', one.body, one.key)).body).toMatchObject({
        success: true,
        transaction: one.transaction,
      });
    }
    expect(await sentTransactions()).toBe(sent);
    await killArchivers();
  });
});
