import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { ClientAddresses } from './client-address.js';

function aRequest(remoteAddress: string | undefined, forwardedFor?: string): IncomingMessage {
  return {
    headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
    socket: { remoteAddress },
  } as unknown as IncomingMessage;
}

describe('the address of a client', () => {
  it.each([
    ['off', '10.0.0.1'],
    ['1', '198.51.100.7'],
    ['2', '203.0.113.9'],
    ['10.0.0.0/8', '198.51.100.7'],
    ['10.0.0.0/8, 198.51.100.7', '203.0.113.9'],
    ['192.0.2.1', '10.0.0.1'],
  ])('TRUST_PROXY=%s: %s', (trustProxy, address) => {
    const request = aRequest('10.0.0.1', '203.0.113.9, 198.51.100.7');
    expect(new ClientAddresses({ trustProxy }).of(request)).toBe(address);
  });

  it('is not known once the connection is gone', () => {
    expect(new ClientAddresses({ trustProxy: 'off' }).of(aRequest(undefined))).toBeUndefined();
  });
});
