import { describe, expect, it } from '@jest/globals';
import { settingsOfEnvironment } from '../../sandbox/settings.js';
import { SETTING_NAMES } from '../../src/platform/config/app-config.js';

const passed = (environment: Readonly<Record<string, string>>): Record<string, string> =>
  settingsOfEnvironment(environment, SETTING_NAMES, 31_337);

describe('settings given to npm start', () => {
  it('reach the service, those of its chain and those in files too', () => {
    const given = {
      RETENTION_DAYS: '3',
      SALE_GRACE_MS: '0',
      RATE_LIMIT_VERIFY: '5',
      ASSETS_DENY: '',
      GAS_BUDGET_DAILY_31337: '1',
      HUB_S3_SECRET_ACCESS_KEY_FILE: '/secret',
    };
    expect(passed(given)).toEqual(given);
  });

  it('are every setting but those that make it the sandbox', () => {
    const environment = Object.fromEntries(
      SETTING_NAMES.map((name) => [name.replace('<chainId>', '31337'), 'x']),
    );
    const kept = Object.keys(environment).filter((name) => !(name in passed(environment)));
    expect(kept.filter((name) => !/^(WALLET|HUB)_/.test(name)).sort()).toEqual([
      'API_KEYS_FILE',
      'DATABASE_URL',
      'HOST',
      'NETWORKS',
      'OPEN_SCOPES',
      'OPS_HOST',
      'OPS_PORT',
      'PORT',
      'QUEUE_REDIS_URL',
      'RECEIPT_KEY',
      'RECEIPT_KEY_PREVIOUS',
      'REDIS_URL',
      'ROLES',
      'RPC_URLS_31337',
      'SIGNER_KEYS',
      'SIGNER_KEYS_31337',
      'WEBHOOK_ALLOW',
      'WEBHOOK_KEY',
    ]);
  });

  it('never point it to another machine, or give it keys of value', () => {
    const real = {
      REDIS_URL: 'redis://elsewhere',
      REDIS_URL_FILE: '/secret',
      DATABASE_URL: 'postgres://elsewhere',
      DATABASE_URL_FILE: '/secret',
      WALLET_REDIS_URL: 'redis://elsewhere',
      HUB_REDIS_URL: 'redis://elsewhere',
      RPC_URLS_31337: 'https://elsewhere',
      RPC_URLS_FILE: '/secret',
      NETWORKS: 'eip155:56',
      SIGNER_KEYS: '0x01',
      SIGNER_KEYS_FILE: '/secret',
      SIGNER_KEYS_31337_FILE: '/secret',
      WALLET_SEAL_SECRET: 'secret',
      WALLET_SEAL_SECRET_PREVIOUS: 'secret',
      HOST: '0.0.0.0',
      GAS_BUDGET_DAILY_56: '1',
      PATH: '/bin',
    };
    expect(passed(real)).toEqual({});
  });
});
