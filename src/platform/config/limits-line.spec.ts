import { expect, it } from '@jest/globals';
import { SIGNER } from '../../../sandbox/accounts.js';
import { AppConfig } from './app-config.js';
import { limitsLine } from './limits-line.js';

const base = { REDIS_URL: 'redis://r', SIGNER_KEYS: SIGNER.key, NETWORKS: 'eip155:56' };

it('says which limits hold, and which do not', () => {
  expect(limitsLine(AppConfig.fromEnv(base))).toBe(
    'Limits: gas a day on eip155:56: unlimited per lane, unlimited per payee; gas price on eip155:56: 5 gwei; settles per second and caller: unlimited; settlements waiting per network: 10000; callers: everybody; assets: all; payees: all',
  );
  const limited = AppConfig.fromEnv({
    ...base,
    GAS_BUDGET_DAILY_56: '0.1',
    MAX_GAS_PRICE_GWEI_56: '1.5',
    RATE_LIMIT_SETTLE: '20',
    API_KEYS_FILE: '/keys.json',
  });
  expect(limitsLine(limited)).toMatch(
    /eip155:56: 0\.1 coins per lane.*: 1\.5 gwei.*caller: 20;.*callers: API keys/,
  );
});
