import { describe, expect, it } from '@jest/globals';
import { settingsWithoutEffect, unknownSettings } from './unknown-settings.js';

const KNOWN = {
  plain: new Set(['PORT', 'ROLES', 'SETTLE_WAIT_MS', 'SIGNER_KEYS', 'HUB_MODE', 'API_KEYS_FILE']),
  ofChains: new Set(['GAS_BUDGET_DAILY', 'MAX_GAS_PRICE_GWEI', 'RPC_URLS', 'SIGNER_KEYS']),
  asFiles: new Set(['SIGNER_KEYS', 'RPC_URLS']),
};

const problemsOf = (...names: string[]): string[] => unknownSettings(names, KNOWN, [56, 97]);

describe('unknown settings', () => {
  it.each([
    ['GAS_BUDGET_DAILY', 'is a setting for each chain; set GAS_BUDGET_DAILY_56'],
    ['RPC_URLS_FILE', 'is a setting for each chain; set RPC_URLS_56_FILE'],
    ['SETTLE_WAIT_MS_56', 'is one setting for all chains; set SETTLE_WAIT_MS'],
    ['SIGNER_KEY', 'is not a setting; did you mean SIGNER_KEYS?'],
    ['ROLE', 'is not a setting; did you mean ROLES?'],
    ['RPC_URL_97', 'is not a setting; did you mean RPC_URLS_97?'],
    ['GAS_BUGDET_DAILY_56', 'is not a setting; did you mean GAS_BUDGET_DAILY_56?'],
    ['SETTLE_WAIT', 'is not a setting; did you mean SETTLE_WAIT_MS?'],
    ['HUB_QOUTAS', 'is not a setting; docs/settings.md lists all settings'],
    ['HUB_MODE_FILE', 'cannot be given as a file; set HUB_MODE'],
  ])('%s', (name, problem) => {
    expect(problemsOf(name)).toEqual([`${name}: ${problem}`]);
  });

  it('names settings of chains that are not served, which may stay', () => {
    const given = ['GAS_BUDGET_DAILY_65', 'RPC_URLS_31338_FILE', 'RPC_URLS_56', 'PORT', 'OTHER_7'];
    expect(problemsOf(...given)).toEqual([]);
    expect(settingsWithoutEffect(given, KNOWN, [56, 97])).toEqual(given.slice(0, 2));
  });

  it('leaves settings and the names of others alone', () => {
    const settings = ['PORT', 'SIGNER_KEYS_97', 'SIGNER_KEYS_FILE', 'RPC_URLS_56_FILE'];
    const others = [
      'PATH',
      'HOME',
      'HOSTNAME',
      'POST',
      'WALLET',
      'SETTLE',
      'HUB',
      'npm_config_hub_x',
      'NODE_OPTIONS',
    ];
    const links = [
      'HUB_SERVICE_HOST',
      'HUB_SERVICE_PORT',
      'HUB_SERVICE_PORT_HTTP',
      'WALLET_PORT',
      'WALLET_PORT_4022_TCP_ADDR',
    ];
    expect(problemsOf(...settings, 'API_KEYS_FILE', ...others, ...links)).toEqual([]);
  });
});
