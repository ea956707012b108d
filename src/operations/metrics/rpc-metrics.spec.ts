import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { RpcMetrics } from './rpc-metrics.js';

describe('RPC metrics', () => {
  it('count each call of an exchange by method and outcome', async () => {
    const registry = new Registry();
    new RpcMetrics(registry).exchanged({
      endpoint: '56-1',
      methods: ['eth_call', 'eth_call', 'eth_blockNumber', 'eth_call'],
      outcomes: [
        { kind: 'result', value: '0x' },
        { kind: 'error', error: { code: 3, message: 'reverted', data: undefined } },
        { kind: 'silent', cause: 'timeout' },
        { kind: 'result', value: '0x' },
      ],
      durationMs: 40,
    });
    const lines = (await registry.metrics()).split('\n');
    const calls = 'x402_rpc_calls_total{network="eip155:56",endpoint="1"';
    expect(lines).toContain(`${calls},method="eth_call",outcome="result"} 2`);
    expect(lines).toContain(`${calls},method="eth_call",outcome="error"} 1`);
    expect(lines).toContain(`${calls},method="eth_blockNumber",outcome="timeout"} 1`);
    expect(lines).toContain(
      'x402_rpc_exchange_duration_seconds_sum{network="eip155:56",endpoint="1"} 0.04',
    );
  });

  it('count disagreements by what they are about', async () => {
    const registry = new Registry();
    new RpcMetrics(registry).disagreed({ chainId: 56, what: 'receipt' });
    expect(await registry.metrics()).toContain(
      'x402_rpc_disagreements_total{network="eip155:56",what="receipt"} 1',
    );
  });
});
