import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { type Address, createWalletClient, type Hex, http, parseAbi, parseSignature } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { SIGNER } from '../../sandbox/accounts.js';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, type Json, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const TOKEN_ABI = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
]);
/** Seconds that each payment can be used: enough to be accepted and archived on a slow machine. */
const VALID_FOR = 60;

/** A payment that was accepted by a 202. */
interface HandedOut {
  readonly body: Body;
  readonly path: string;
}

describe('a 202 whose claim was lost with Redis', () => {
  let world: World;
  let postgres: SandboxPostgres;
  let facilitator: Service;
  let worker: Service;
  let payer: PrivateKeyAccount;
  let redis: Redis;
  let database: pg.Client;
  const payTo: Address = newAccount().address;

  beforeAll(async () => {
    [world, postgres] = await Promise.all([World.start({ blockTime: 1 }), startPostgres()]);
    const settings = { DATABASE_URL: postgres.url };
    [facilitator, worker] = await Promise.all([
      world.service({ ...settings, ROLES: 'api,history' }),
      world.service({ ...settings, ROLES: 'worker' }),
    ]);
    payer = await world.payer();
    redis = new Redis(world.redis.url);
    database = new pg.Client({ connectionString: postgres.url });
    await database.connect();
    await eventually(
      'settles',
      async () => (await get(`${facilitator.url}/health`)).status === 200,
      30_000,
    );
  });
  afterAll(async () => {
    redis.disconnect();
    await database.end();
    await Promise.all([world.stop(), postgres.stop()]);
  });

  const aBody = (validFor: number) =>
    eip3009Body({ payer, payTo, chainId: world.chainId, token: world.usd, validFor });

  async function handOut(body: Body): Promise<HandedOut> {
    const answer = await post(`${facilitator.url}/v2/settle`, body, { Prefer: 'respond-async' });
    expect(answer.status).toBe(202);
    return { body, path: answer.headers.get('location') ?? '' };
  }

  /** Presents a payment to the chain, as a lane or a stranger may. */
  async function present({ body }: HandedOut, from: PrivateKeyAccount): Promise<Hex> {
    const payload = body.paymentPayload['payload'] as Json;
    const signed = payload['authorization'] as Record<string, string>;
    const { r, s, v, yParity } = parseSignature(payload['signature'] as Hex);
    await world.client.setBalance({ address: from.address, value: 10n ** 18n });
    const wallet = createWalletClient({ account: from, transport: http(world.anvil.url) });
    const hash = await wallet.writeContract({
      address: world.usd,
      abi: TOKEN_ABI,
      functionName: 'transferWithAuthorization',
      chain: null,
      args: [
        ...([signed['from'] as Address, signed['to'] as Address] as const),
        ...([BigInt(signed['value'] ?? 0), BigInt(signed['validAfter'] ?? 0)] as const),
        ...([BigInt(signed['validBefore'] ?? 0), signed['nonce'] as Hex] as const),
        ...([Number(v ?? BigInt(yParity) + 27n), r, s] as const),
      ],
    });
    await world.client.waitForTransactionReceipt({ hash });
    return hash;
  }

  /** How many rows are in a state; the archiver makes the table when it has started. */
  async function rowsIn(state: string): Promise<number> {
    const { rows } = await database.query<{ readonly made: boolean }>(
      `select to_regclass('x402.settlements') is not null as made`,
    );
    if (rows[0]?.made !== true) return 0;
    const all = await database.query('select 1 from x402.settlements where state = $1', [state]);
    return all.rowCount ?? 0;
  }

  const statusOf = async ({ path }: HandedOut) => (await get(`${facilitator.url}${path}`)).body;

  it('ends as the chain says: expired, paid by our lane, or used by a stranger', async () => {
    // One that is settled as usual: the archive learns which account is ours.
    const settled = await post(`${facilitator.url}/v2/settle`, await aBody(300));
    expect(settled.body).toMatchObject({ success: true });
    await eventually('it is archived', async () => (await rowsIn('finalized')) === 1, 60_000);
    const bodies = await Promise.all(Array.from({ length: 3 }, () => aBody(VALID_FOR)));
    await worker.stop('SIGKILL');
    const [unused, ours, strangers] = await Promise.all(bodies.map(handOut));
    if (!unused || !ours || !strangers) throw new Error('none were handed out');
    await eventually('they are archived', async () => (await rowsIn('queued')) === 3, 20_000);
    await redis.flushall();
    const [byLane, byStranger] = [
      await present(ours, privateKeyToAccount(SIGNER.key)),
      await present(strangers, newAccount()),
    ];
    // They have no end, so as far as is known they may still be sent.
    expect(await statusOf(unused)).toMatchObject({ state: 'queued', source: 'archive' });

    const asked = [unused, ours, strangers];
    await eventually(
      'they have ended',
      async () => {
        const all = await Promise.all(asked.map(statusOf));
        return all.every(({ state }) => state !== 'queued');
      },
      240_000,
    );
    expect(await statusOf(unused)).toMatchObject({
      state: 'expired',
      paid: false,
      source: 'archive',
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    });
    expect(await statusOf(ours)).toMatchObject({
      state: 'finalized',
      paid: true,
      transaction: byLane,
      source: 'archive',
    });
    expect(await statusOf(strangers)).toMatchObject({
      state: 'foreign',
      paid: false,
      transaction: byStranger,
      source: 'archive',
      reason: 'invalid_exact_evm_nonce_already_used',
    });
    const { rows } = await database.query<{ block_hash: Buffer | null }>(
      `select block_hash from x402.settlements where transaction = $1`,
      [Buffer.from(byLane.slice(2), 'hex')],
    );
    const { blockHash } = await world.client.getTransactionReceipt({ hash: byLane });
    expect(rows.map((row) => `0x${row.block_hash?.toString('hex') ?? ''}`)).toEqual([blockHash]);
    // Nothing is sold again: it was the buyer's of the 202.
    const again = await post(`${facilitator.url}/v2/settle`, ours.body);
    expect(again.body).toMatchObject({ success: false, transaction: byLane });
  }, 400_000);
});
