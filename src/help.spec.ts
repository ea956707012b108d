import { expect, it } from '@jest/globals';
import { help } from './help.js';
import { SETTING_NAMES } from './platform/config/app-config.js';

it('lists every setting once, with its default', () => {
  const listed = [...help().matchAll(/^ {2}([A-Z][A-Z\d_]+(?:<chainId>)?) +\S/gm)].map(
    ([, name]) => name,
  );
  expect(listed).toEqual(SETTING_NAMES);
  expect(new Set(listed).size).toBe(listed.length);
  for (const line of [
    'PORT 4022',
    'NETWORKS eip155:56,eip155:97',
    'REDIS_URL required',
    'MAX_GAS_PRICE_GWEI_<chainId> 5',
    'APPROVAL_MAX_TOP_UP_<chainId> 0.0001',
    'GAS_BUDGET_DAILY_<chainId> unset',
  ]) {
    expect(help().replaceAll(/ +/g, ' ')).toContain(`\n ${line}\n`);
  }
});
