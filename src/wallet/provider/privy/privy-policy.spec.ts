import { describe, expect, it } from '@jest/globals';
import type { WalletAsset } from '../../../platform/config/wallet-assets.js';
import { PERMIT2 } from '../../../protocol/evm/contracts.js';
import { policyRules } from './privy-policy.js';

const token: WalletAsset = {
  chainId: 56,
  address: '0x00000000000000000000000000000000000000aa',
  symbol: 'USDX',
  decimals: 6,
  methods: ['eip3009', 'permit2'],
  eip712: { name: 'USD X', version: '1' },
};
const permit2Proxy = '0x00000000000000000000000000000000000000bb';
const terms = {
  assets: [token],
  networks: [{ chainId: 56, schemeContracts: { permit2Proxy } }] as const,
  maxPerPayment: 2n * 10n ** 18n,
  extraMethods: [],
};

const conditionsOf = (name: string): readonly (readonly [string, string, string])[] =>
  policyRules(terms)
    .filter((rule) => rule.name === name)
    .flatMap(({ conditions }) =>
      conditions.map(({ field, operator, value }) => [field, operator, value] as const),
    );

describe('the policy a wallet gets at Privy', () => {
  it('allows payments in known tokens up to the cap, in units of the token', () => {
    expect(conditionsOf('EIP-3009 USDX 56')).toEqual([
      ['chainId', 'eq', '56'],
      ['verifyingContract', 'eq', token.address],
      ['value', 'lte', '2000000'],
    ]);
    expect(conditionsOf('Permit2 USDX 56')).toEqual([
      ['chainId', 'eq', '56'],
      ['verifyingContract', 'eq', PERMIT2],
      ['spender', 'eq', permit2Proxy],
      ['permitted.token', 'eq', token.address],
      ['permitted.amount', 'lte', '2000000'],
    ]);
  });

  it('allows nothing else, unless the operator says so', () => {
    expect(policyRules(terms)).toHaveLength(2);
    const more = policyRules({ ...terms, extraMethods: ['personal_sign', 'eth_signTransaction'] });
    expect(more.slice(2).map(({ name, method }) => [name, method])).toEqual([
      ['Messages', 'personal_sign'],
      ['Transactions 56', 'eth_signTransaction'],
    ]);
  });

  it('allows the messages of the hub that wallets keep files at, by contract and shape', () => {
    const hub = '0x00000000000000000000000000000000000000cc';
    const rules = policyRules({ ...terms, hub }).slice(2);
    expect(rules.map(({ name, method, action }) => [name, method, action])).toEqual(
      ['HubRequest', 'HubLink', 'HubUpload'].map((type) => [
        `Files: ${type}`,
        'eth_signTypedData_v4',
        'ALLOW',
      ]),
    );
    for (const { name, conditions } of rules) {
      expect(conditions).toMatchObject([
        { field_source: 'ethereum_typed_data_domain', field: 'verifyingContract', value: hub },
        { operator: 'lte', typed_data: { primary_type: name.replace('Files: ', '') } },
      ]);
    }
  });

  it('knows no EIP-3009 for a token without it, and no Permit2 on a network that is not there', () => {
    const plain: WalletAsset = { ...token, methods: ['permit2'], eip712: undefined };
    expect(policyRules({ ...terms, assets: [plain] })).toHaveLength(1);
    expect(policyRules({ ...terms, assets: [plain], networks: [] })).toHaveLength(0);
  });
});
