import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { freePort } from '../../sandbox/processes.js';
import { BUILT_MAIN, productionMain } from '../../sandbox/service.js';
import { get, post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';
import { WalletWorld } from '../wallet/wallet-world.js';

const HUB = newAccount();

/** As operators start it: `npm run start:prod`. */
describe('the packed service', () => {
  const dir = mkdtempSync(join(tmpdir(), 'x402-packed-'));
  let world: World;
  let postgres: SandboxPostgres;

  beforeAll(async () => {
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
  }, 120_000);
  afterAll(async () => {
    await world.stop();
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Names of classes and functions are in it, so it shows what packing has changed of them. */
  async function descriptionBy(main: string, port: number): Promise<unknown> {
    const settings = {
      ...WalletWorld.settingsOf(world, dir),
      ROLES: 'all',
      DATABASE_URL: postgres.url,
      HUB_DATA_DIR: join(dir, 'hub'),
      HUB_ADDRESS: HUB.address,
    };
    const service = await world.service(settings, port, main);
    const { status, body } = await get(`${service.url}/openapi.json`);
    await service.stop();
    expect(status).toBe(200);
    return body;
  }

  it('describes all roles as the service does that is not packed', async () => {
    const port = await freePort();
    const packed = await descriptionBy(productionMain(), port);
    expect(packed).toEqual(await descriptionBy(BUILT_MAIN, port));
  }, 120_000);

  it('settles', async () => {
    const service = await world.service({}, undefined, productionMain());
    const payTo = newAccount().address;
    const body = await eip3009Body({
      payer: await world.payer(),
      chainId: world.chainId,
      token: world.usd,
      payTo,
    });
    const verified = await post(`${service.url}/verify`, body);
    expect(verified.body).toMatchObject({ isValid: true });
    const settled = await post(`${service.url}/settle`, body);
    expect(settled.body).toMatchObject({ success: true });
    expect(await world.balance(world.usd, payTo)).toBe(
      BigInt(body.paymentRequirements['amount'] as string),
    );
    // Without native code or its thread signers are recovered too, only slower.
    expect(service.log()).not.toMatch(/"level":[56]0|signatures are (now )?checked/);
  }, 120_000);
});
