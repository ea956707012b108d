import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { RequestSubject } from '../../facilitator/payment-observer.js';
import { AssetLabels } from './asset-labels.js';
import { ErrorMetrics } from './error-metrics.js';
import { PaymentMetrics } from './payment-metrics.js';

const ASSET = '0x00000000000000000000000000000000000000aa';
const SUBJECT: RequestSubject = {
  x402Version: 2,
  scheme: 'exact',
  chainId: 56,
  asset: ASSET,
  action: undefined,
};
const LABELS = `network="eip155:56",scheme="exact",version="2",asset="${ASSET}"`;

describe('payment metrics', () => {
  it('count answers by what they are about and what they said', async () => {
    const registry = new Registry();
    const observer = new PaymentMetrics(
      registry,
      new AssetLabels([`eip155:56/${ASSET}`]),
      new ErrorMetrics(registry),
    );
    observer.verified(SUBJECT, undefined, 20);
    observer.verified(SUBJECT, 'invalid_payload', 1);
    observer.settled(SUBJECT, 'success', undefined, 900, undefined);
    observer.settled(SUBJECT, 'failure', 'no_gas', 2, undefined);
    observer.settled({ ...SUBJECT, action: 'claim' }, 'success', undefined, 900, undefined);
    const lines = (await registry.metrics()).split('\n');
    expect(lines).toContain(`x402_verifies_total{${LABELS},result="valid",reason=""} 1`);
    expect(lines).toContain(
      `x402_verifies_total{${LABELS},result="invalid",reason="invalid_payload"} 1`,
    );
    expect(lines).toContain(`x402_settles_total{${LABELS},action="",result="success",reason=""} 1`);
    expect(lines).toContain(
      `x402_settles_total{${LABELS},action="claim",result="success",reason=""} 1`,
    );
    expect(lines).toContain(
      `x402_settles_total{${LABELS},action="",result="failure",reason="no_gas"} 1`,
    );
    expect(lines).toContain(
      'x402_settle_duration_seconds_sum{network="eip155:56",result="success"} 1.8',
    );
  });

  it('show nothing of what a sender made up', async () => {
    const registry = new Registry();
    const observer = new PaymentMetrics(registry, new AssetLabels([]), new ErrorMetrics(registry));
    const unread = { x402Version: undefined, scheme: undefined, chainId: undefined };
    observer.verified({ ...SUBJECT, ...unread }, 'invalid_network', 1);
    expect(await registry.metrics()).toContain(
      'x402_verifies_total{network="other",scheme="other",version="other",asset="other",result="invalid",reason="invalid_network"} 1',
    );
  });
});
