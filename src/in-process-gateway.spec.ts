import { describe, expect, it } from '@jest/globals';
import type { FacilitatorService } from './facilitator/facilitator.service.js';
import { GatewayUnavailableError } from './hub/errors.js';
import { InProcessGateway } from './in-process-gateway.js';

type Settle = FacilitatorService['settle'];
const PAYMENT = { paymentPayload: { x402Version: 2 }, paymentRequirements: {} };

function gatewayOn(settle: Settle): InProcessGateway {
  return new InProcessGateway({
    defaultFinality: 'finalized',
    verify: () => Promise.resolve({ isValid: true }),
    settle,
  });
}

describe('the facilitator beside the hub', () => {
  it('is asked as over HTTP: V2, under the key, at the finality of the operator', async () => {
    const asked: Parameters<Settle>[] = [];
    const body = { success: true, transaction: '0x1', network: 'eip155:56' } as const;
    const gateway = gatewayOn((...call) => {
      asked.push(call);
      return Promise.resolve({ status: 200, body, settlementId: 's', finality: 'finalized' });
    });
    expect(await gateway.settle(PAYMENT, 'order')).toEqual(body);
    expect(asked).toEqual([
      [
        { x402Version: 2, ...PAYMENT },
        [2],
        expect.objectContaining({
          idempotencyKey: { value: 'order', caller: undefined },
          isAsync: false,
          finality: 'finalized',
        }),
      ],
    ]);
  });

  it('that says nothing may have settled', async () => {
    const silent = gatewayOn(() => Promise.resolve(undefined));
    await expect(silent.settle(PAYMENT, 'order')).rejects.toThrow(GatewayUnavailableError);
  });
});
