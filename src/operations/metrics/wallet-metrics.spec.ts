import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { type Address, zeroAddress } from 'viem';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import { WalletGauges, WalletMetrics } from './wallet-metrics.js';

const USDX: Address = '0x00000000000000000000000000000000000000aa';
const known: WalletAsset = {
  chainId: 56,
  address: USDX,
  symbol: 'USDX',
  decimals: 6,
  methods: ['permit2'],
  eip712: undefined,
};

const spending = (asset: Address, amount: bigint) => ({
  ...({ id: '1', chainId: 56, method: 'eip3009', asset, payTo: zeroAddress } as const),
  amount,
  nonce: 1n,
  deadline: 1,
});

describe('wallet metrics', () => {
  it('count budgets in whole tokens, and not in tokens with unknown decimals', async () => {
    const registry = new Registry();
    const observer = new WalletMetrics(registry, { wallet: { assets: [known] } });
    observer.counted({ step: 'reserved', spending: spending(USDX, 1_500_000n) });
    observer.counted({ step: 'reserved', spending: spending(zeroAddress, 10n ** 17n) });
    observer.counted({
      step: 'reserved',
      spending: spending('0x00000000000000000000000000000000000000cc', 9n),
    });
    const lines = (await registry.metrics()).split('\n').filter((line) => line.includes('{step'));
    const series = 'x402_wallet_budget_tokens_total{step="reserved",network="eip155:56",asset=';
    expect(lines).toEqual([`${series}"${USDX}"} 1.5`, `${series}"${zeroAddress}"} 0.1`]);
  });

  it('show what the wallet can do now', async () => {
    const registry = new Registry();
    const health = {
      journalIsWritable: () => Promise.resolve(false),
      providerCondition: 'provider_unreachable',
    } as const;
    await new WalletGauges(registry, health).refresh();
    const text = await registry.metrics();
    expect(text).toContain('x402_wallet_journal_up 0');
    expect(text).toContain('x402_wallet_provider_up 0');
  });
});
