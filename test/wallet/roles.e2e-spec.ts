import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AppConfig } from '../../src/platform/config/app-config.js';
import { WalletWorld } from './wallet-world.js';

describe('the role wallet', () => {
  let wallets: WalletWorld;

  beforeAll(async () => {
    wallets = await WalletWorld.start({ ROLES: 'wallet' });
  });
  afterAll(() => wallets.stop());

  const init = async (url: string): Promise<number> =>
    (await fetch(`${url}/v1/init`, { method: 'POST' })).status;

  it('serves the wallet and nothing of the facilitator', async () => {
    expect(await init(wallets.url)).toBe(200);
    expect((await fetch(`${wallets.url}/supported`)).status).toBe(404);
    expect((await fetch(`${wallets.url}/health/ready`)).status).toBe(200);
  });

  it('does nothing without a provider', async () => {
    const service = await wallets.another({ WALLET_PROVIDER: 'off' });
    expect(await init(service.url)).toBe(404);
    expect((await fetch(`${service.url}/health/live`)).status).toBe(200);
    await service.stop('SIGTERM');
    expect(service.child.exitCode).toBe(0);
  });

  it('is not served by a process with other roles', async () => {
    const service = await wallets.another({ ROLES: 'api' });
    expect(await init(service.url)).toBe(404);
    expect((await fetch(`${service.url}/supported`)).status).toBe(200);
  });

  it('ends with 0 when it is told to, and its wallets are there again after it', async () => {
    const { agent, address } = await wallets.fundedWallet();
    await wallets.service.stop('SIGTERM');
    expect(wallets.service.child.exitCode).toBe(0);
    const again = await wallets.another();
    const headers = { authorization: `Bearer ${agent}` };
    const response = await fetch(`${again.url}/v1/wallets/me`, { headers });
    expect(await response.json()).toMatchObject({ ethereum: address });
  });

  it('does not start without its secrets, and names them', () => {
    const env = { REDIS_URL: 'redis://localhost', ROLES: 'wallet', WALLET_PROVIDER: 'local' };
    expect(() => AppConfig.fromEnv(env)).toThrow(
      /WALLET_KEYSTORE_SECRET: is required.*\n.*WALLET_TOKEN_SECRET: is required.*\n.*WALLET_SEAL_SECRET: is required/,
    );
    expect(() => AppConfig.fromEnv({ ...env, WALLET_PROVIDER: 'privy' })).toThrow(
      /WALLET_PRIVY_APP_ID: is required.*\n.*APP_SECRET: is required.*\n.*AUTHORIZATION_KEY: is required/,
    );
    const odd = { WALLET_PRIVY_AUTHORIZATION_KEY: 'AAAA', WALLET_PRIVY_API_URL: 'http://privy.io' };
    expect(() => AppConfig.fromEnv({ ...env, WALLET_PROVIDER: 'privy', ...odd })).toThrow(
      /WALLET_PRIVY_AUTHORIZATION_KEY: must be a P-256.*\n.*WALLET_PRIVY_API_URL: must be an https/,
    );
  });
});
