import { describe, expect, it } from '@jest/globals';
import { parsePayment } from '../protocol/payment/parse-payment.js';
import { subjectOf } from './facilitator.service.js';
import type { RequestSubject } from './payment-observer.js';

const ASSET = '0xCE24439F2D9C6A2289F741120FE202248B666666';
const isServed = (chainId: number): boolean => chainId === 56;

function subjectFor(x402Version: unknown, requirements: Record<string, unknown>): RequestSubject {
  const envelope = {
    x402Version,
    paymentPayload: { x402Version },
    paymentRequirements: { scheme: 'exact', network: 'eip155:56', asset: ASSET, ...requirements },
  };
  return subjectOf(envelope, parsePayment(envelope, [1, 2], isServed), isServed);
}

describe('the subject of a request that cannot be parsed', () => {
  it('is what can be read of it', () => {
    expect(subjectFor(2, {})).toEqual({
      x402Version: 2,
      scheme: 'exact',
      chainId: 56,
      asset: ASSET.toLowerCase(),
    });
  });

  it('names the chain of a V1 name', () => {
    expect(subjectFor(1, { network: 'bsc' }).chainId).toBe(56);
  });

  it('repeats nothing that is not known here', () => {
    const made = { network: 'eip155:57', scheme: 'exotic', asset: 'not an address' };
    expect(subjectFor(3, made)).toEqual({
      x402Version: undefined,
      scheme: undefined,
      chainId: undefined,
      asset: undefined,
    });
  });
});
