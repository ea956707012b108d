import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { SIGNER } from '../../sandbox/accounts.js';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { freePort } from '../../sandbox/processes.js';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { tableRows } from '../docs/markdown.js';
import { eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, type Json, newAccount, v1Body } from '../support/payments.js';
import { World } from '../support/world.js';
import { PrivyFixture } from '../wallet/privy/privy-fixture.js';
import { transferData } from '../wallet/transfer-data.js';
import { WalletWorld } from '../wallet/wallet-world.js';
import { seriesIn } from './expressions.js';
import { readAlerts, readPanels } from './monitoring-files.js';
import { Scrape, scrape } from './scrape.js';

/** A chain that V1 has a name for. */
const CHAIN_ID = 84_532;
const NETWORK = `eip155:${CHAIN_ID}`;
const SETTLED = 5;
const DENIED = '0x00000000000000000000000000000000000000dd';

/** Its value is a rate of an archive that is behind: here none is. */
const ONLY_WHILE_BEHIND = 'x402_history_memory_left_hours';
/** Shown by `test/settlement/treasury.e2e-spec.ts`, the first where a refill is kept from being made. */
const ONLY_WITH_TREASURY = ['x402_treasury_trouble', 'x402_treasury_cap_left_coins'];

describe('a scrape after a run', () => {
  let world: World;
  let service: Service;
  let found: Scrape;
  /** Of the scraped process, and of one that sends webhooks: those need API keys, and the settles here have none. */
  let names: ReadonlySet<string>;
  let privy: PrivyFixture;
  let postgres: SandboxPostgres;
  let usd: string;

  beforeAll(async () => {
    privy = await PrivyFixture.start();
    postgres = await startPostgres();
    world = await World.start({ chainId: CHAIN_ID, blockTime: 0.3 });
    usd = world.usd.toLowerCase();
    const redis = new Redis(world.redis.url);
    await redis.config('SET', 'appendfsync', 'everysec');
    redis.disconnect();
    service = await world.service({
      // A second network without a node, so that there is a condition to show.
      NETWORKS: `${NETWORK},eip155:5`,
      RPC_URLS_5: `http://127.0.0.1:${await freePort()}/a-secret-key`,
      PAYEES_DENY: DENIED,
      ROLES: 'all',
      DATABASE_URL: postgres.url,
      // The first run is made at once.
      RECONCILE_AT: '00:00',
      ...WalletWorld.settingsOf(world, mkdtempSync(join(tmpdir(), 'x402-wallet-'))),
      ...privy.settings,
      HUB_DATA_DIR: mkdtempSync(join(tmpdir(), 'x402-hub-')),
    });
    await run();
    await eventually('all is final', async () => {
      found = await scrape(service.opsUrl);
      const ended = { network: NETWORK, state: 'finalized', paid: 'true' };
      return (
        found.value('x402_settlements_total', ended) === SETTLED &&
        found.value('x402_settlements_live', { network: NETWORK }) === 0 &&
        // A lane closes what it followed a step after the ledger has it.
        found.value('x402_lane_in_flight') === 0 &&
        found.value('x402_history_waiting_changes', { network: NETWORK }) === 0 &&
        found.names.has('x402_reconciliation_settlements')
      );
    });
    names = new Set([...found.names, ...(await namesOfWebhooks())]);
  });
  afterAll(async () => {
    await world.stop();
    await postgres.stop();
    privy.stop();
  });

  async function namesOfWebhooks(): Promise<ReadonlySet<string>> {
    const keys = join(mkdtempSync(join(tmpdir(), 'x402-keys-')), 'keys.json');
    const { record } = createApiKey('shop', ['history'], [newAccount().address]);
    writeFileSync(keys, JSON.stringify({ version: 1, keys: [record] }));
    const sender = await world.service({
      ROLES: 'history',
      DATABASE_URL: postgres.url,
      RECONCILE_AT: 'off',
      API_KEYS_FILE: keys,
      WEBHOOK_KEY: 'w'.repeat(32),
    });
    let seen: ReadonlySet<string> = new Set();
    await eventually('webhooks are looked after', async () => {
      ({ names: seen } = await scrape(sender.opsUrl));
      return seen.has('x402_webhook_waiting');
    });
    return seen;
  }

  /** Five settles that succeed, one of them asked for twice; refusals and verifies of each kind. */
  async function run(): Promise<void> {
    const payer = await world.payer();
    const payTo = newAccount().address;
    const terms = { payer, chainId: CHAIN_ID, token: world.usd, payTo };
    const settle = (body: unknown) => post(`${service.url}/settle`, body);
    const verify = (body: unknown) => post(`${service.url}/verify`, body);
    await eventually('settles', async () => (await get(`${service.url}/health`)).status === 200);

    const bodies: Body[] = [await v1Body({ ...terms, network: 'base-sepolia' })];
    while (bodies.length < SETTLED) bodies.push(await eip3009Body(terms));
    const answers = await Promise.all(bodies.map(settle));
    expect(answers.map(({ body }) => body['success'])).toEqual(bodies.map(() => true));
    expect((await settle(bodies[1])).body).toMatchObject({ errorReason: 'duplicate_settlement' });
    for (let time = 0; time < 2; time += 1) {
      const poor = await eip3009Body({ ...terms, payer: newAccount() });
      expect((await settle(poor)).body).toMatchObject({
        errorReason: 'invalid_exact_evm_insufficient_balance',
      });
    }
    for (let time = 0; time < 3; time += 1) {
      const denied = await eip3009Body({ ...terms, payTo: DENIED });
      expect((await settle(denied)).body).toMatchObject({ errorReason: 'payee_not_allowed' });
    }

    expect((await verify(await eip3009Body(terms))).body).toMatchObject({ isValid: true });
    const expired = await eip3009Body({ ...terms, validFor: -60 });
    expect((await verify(expired)).body).toMatchObject({ isValid: false });
    for (let made = 0; made < 40; made += 1) {
      const { address } = newAccount();
      const body = await eip3009Body({
        ...terms,
        token: address,
        network: `eip155:${1000 + made}`,
      });
      await verify(body);
    }
    await get(`${service.url}/nothing/here`);
    await useWallet();
  }

  /** A purchase that is free, a payment that is signed, and a message that is not. */
  async function useWallet(): Promise<void> {
    const wallets = WalletWorld.around(world, service);
    const { agent, address } = await wallets.fundedWallet();
    const page = { url: `${service.url}/health/live`, maxAmount: '1', intentId: 'free' };
    const bought = await wallets.post('/v1/wallets/me/payments', page, agent);
    expect(bought.body['status']).toBe('free');
    const sign = (method: string, params: unknown) =>
      wallets.post('/v1/wallets/me/rpc', { method, params }, agent);
    const payment = { typed_data: transferData(world, address) };
    expect((await sign('eth_signTypedData_v4', payment)).status).toBe(200);
    expect((await sign('personal_sign', { message: 'x' })).status).toBe(403);
  }

  const settles = (labels: Readonly<Record<string, string>>): number | undefined =>
    found.value('x402_settles_total', { network: NETWORK, scheme: 'exact', ...labels });

  it('counts every settle by what it was about and what was answered', () => {
    expect(settles({ result: 'success', version: '2', asset: usd, reason: '' })).toBe(SETTLED - 1);
    expect(settles({ result: 'success', version: '1', asset: usd, reason: '' })).toBe(1);
    expect(settles({ result: 'failure', reason: 'duplicate_settlement' })).toBe(1);
    expect(settles({ reason: 'invalid_exact_evm_insufficient_balance' })).toBe(2);
    expect(settles({ reason: 'payee_not_allowed' })).toBe(3);
    expect(settles({})).toBe(SETTLED + 1 + 2 + 3);
    const timed = { network: NETWORK, result: 'success' };
    expect(found.value('x402_settle_duration_seconds_count', timed)).toBe(SETTLED);
  });

  it('counts every verify', () => {
    const verifies = (labels: Readonly<Record<string, string>>): number | undefined =>
      found.value('x402_verifies_total', labels);
    expect(verifies({ result: 'valid', network: NETWORK, asset: usd })).toBe(1);
    expect(verifies({ reason: 'invalid_exact_evm_payload_authorization_valid_before' })).toBe(1);
    expect(verifies({ network: 'other', asset: 'other', reason: 'invalid_network' })).toBe(40);
  });

  it('has no label that a sender made up', () => {
    expect([...found.labelValues('network')].sort()).toEqual([NETWORK, 'eip155:5', 'other'].sort());
    expect([...found.labelValues('asset')].sort()).toEqual([usd, 'other'].sort());
    expect(found.labelValues('route')).not.toContain('/nothing/here');
    expect(found.text).not.toMatch(/http:\/\/|a-secret-key|127\.0\.0\.1/);
  });

  it('follows each settlement through the queue and the chain', () => {
    const lane = { network: NETWORK, lane: SIGNER.address.toLowerCase() };
    const network = { network: NETWORK };
    for (const name of ['x402_settlement_queue_wait_seconds', 'x402_settlement_gas']) {
      expect(found.value(`${name}_count`, network)).toBe(SETTLED);
    }
    const attempts = found.value('x402_attempts_total', lane) ?? 0;
    expect(attempts).toBeGreaterThan(0);
    expect(attempts).toBeLessThanOrEqual(SETTLED);
    expect(found.value('x402_attempt_settlements_sum', network)).toBe(SETTLED);
    expect(found.value('x402_attempt_inclusion_seconds_count', network)).toBe(attempts);
    expect(found.value('x402_attempt_finality_seconds_count', network)).toBe(attempts);
    const fees = found.value('x402_settlement_fee_coins_sum', network) ?? 0;
    expect(fees).toBeGreaterThan(0);
    expect(found.value('x402_lane_fee_coins_total', lane)).toBeCloseTo(fees, 12);
    expect(found.value('x402_lane_in_flight', lane)).toBe(0);
    expect(found.value('x402_lane_gaps', lane)).toBe(0);
    expect(found.value('x402_queue_depth', network)).toBe(0);
    expect(found.value('x402_settlements_live', network)).toBe(0);
  });

  it('counts what wallets are asked for, and what came of it', () => {
    const decisions = (labels: Readonly<Record<string, string>>): number | undefined =>
      found.value('x402_wallet_decisions_total', labels);
    const payment = { what: 'eth_signTypedData_v4', outcome: 'allowed', rule: '' };
    expect(decisions(payment)).toBe(1);
    expect(decisions({ what: 'personal_sign', outcome: 'refused', rule: 'scope_off' })).toBe(1);
    expect(found.value('x402_wallet_purchases_total', { outcome: 'free' })).toBe(1);
    const reserved = { step: 'reserved', network: NETWORK, asset: usd };
    expect(found.value('x402_wallet_budget_tokens_total', reserved)).toBe(1);
    const signed = { operation: 'sign_typed_data', outcome: 'ok' };
    expect(found.value('x402_wallet_provider_request_duration_seconds_count', signed)).toBe(1);
    expect(found.value('x402_wallet_journal_up')).toBe(1);
    expect(found.value('x402_wallet_provider_up')).toBe(1);
  });

  it('says what is wrong', () => {
    expect(found.value('x402_network_can_settle', { network: NETWORK })).toBe(1);
    expect(found.value('x402_network_can_settle', { network: 'eip155:5' })).toBe(0);
    expect(found.value('x402_network_trouble', { network: 'eip155:5' })).toBe(1);
    expect(found.value('x402_redis_warning', { warning: 'aof_not_always' })).toBe(1);
    const calls = { network: 'eip155:5', method: 'eth_chainId', outcome: 'connection' };
    expect(found.value('x402_rpc_calls_total', calls)).toBeGreaterThan(0);
    expect(found.value('x402_internal_errors_total', { place: 'http' })).toBe(0);
  });

  it('counts what was archived', () => {
    const written = { network: NETWORK, outcome: 'written' };
    expect(found.value('x402_history_archived_total', written)).toBeGreaterThanOrEqual(SETTLED);
    expect(found.value('x402_history_lag_seconds', { network: NETWORK })).toBe(0);
    expect(found.value('x402_processes', { role: 'history' })).toBe(1);
  });

  it('holds every series that is promised', () => {
    const promised = tableRows(
      readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8'),
    ).map(([name = '', type]) =>
      type === 'histogram' ? `${name.replaceAll('`', '')}_count` : name.replaceAll('`', ''),
    );
    expect(promised).toContain(ONLY_WHILE_BEHIND);
    const missing = promised.filter((name) => !names.has(name));
    // Nothing was lost here, and no service keeps a key.
    const ofKeyServices = ['x402_signer_seconds_count', 'x402_signer_failures_total'];
    expect(missing).toEqual([
      ...ofKeyServices,
      ...ONLY_WITH_TREASURY,
      ONLY_WHILE_BEHIND,
      'x402_history_lost_total',
    ]);
  });

  it('holds every series that an alert or the dashboard asks for', () => {
    const expressions = [
      ...readAlerts().map(({ expr }) => expr),
      ...readPanels().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ];
    const wanted = new Set(expressions.flatMap(seriesIn));
    expect(wanted.size).toBeGreaterThan(20);
    // Prometheus writes `up` by itself.
    wanted.delete('up');
    for (const name of [ONLY_WHILE_BEHIND, ...ONLY_WITH_TREASURY]) wanted.delete(name);
    expect([...wanted].filter((name) => !names.has(name))).toEqual([]);
  });

  it('comes as OpenMetrics to those who ask for it, with the same values', async () => {
    const accept = 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5';
    const response = await fetch(`${service.opsUrl}/metrics`, { headers: { accept } });
    expect(response.headers.get('content-type')).toMatch(/^application\/openmetrics-text/);
    const text = await response.text();
    expect(text).toMatch(/^# TYPE x402_settles counter$/m);
    expect(text.endsWith('\n# EOF\n')).toBe(true);
    const settled = { network: NETWORK, result: 'success' };
    expect(new Scrape(text).value('x402_settles_total', settled)).toBe(SETTLED);
  });

  it('and any number of health probes cost the RPC nothing', async () => {
    const api = await world.service({ ROLES: 'api', SIGNER_KEYS: '' });
    const calls = async (): Promise<number> =>
      (await scrape(api.opsUrl)).value('x402_rpc_calls_total') ?? 0;
    // What the chain shows of the known tokens is read once, at the start.
    await eventually('the tokens are read', async () => {
      const { body } = await get(`${api.url}/v2/assets`);
      return (body['assets'] as Json[]).every((asset) => asset['source'] === 'chain');
    });
    const before = await calls();
    for (let round = 0; round < 20; round += 1) {
      const paths = ['/health', '/v1/health', '/v2/health', '/health/ready', '/metrics'];
      await Promise.all(paths.map((path) => get(api.opsUrl + path)));
    }
    // The endpoint is probed every ten seconds, however often health is asked; that is eight calls at most.
    expect((await calls()) - before).toBeLessThanOrEqual(8);
  });
});
