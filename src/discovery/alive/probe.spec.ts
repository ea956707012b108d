import { describe, expect, it } from '@jest/globals';
import { aListing, OTHER_PAYEE, PAYEE } from '../lesson.builder.js';
import { canBeProbed, probedUrlOf, stateOf } from './probe.js';

const ENTRY = { chainId: 56, payTo: PAYEE };
const offer = (more: object = {}) => ({ network: 'eip155:56', payTo: PAYEE, ...more });
const header = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');
const answer = (status: number, required: unknown, body: unknown = '') => ({
  status,
  headers: required === undefined ? {} : { 'payment-required': header(required) },
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});
const v2 = (...accepts: unknown[]) => ({ x402Version: 2, accepts });

describe('what an answer shows of an entry', () => {
  it.each([
    ['alive', 'its payee', answer(402, v2(offer()))],
    [
      'alive',
      'its payee in another case',
      answer(402, v2(offer({ payTo: `0x${'A1'.repeat(20)}` }))),
    ],
    ['alive', 'its payee among others', answer(402, v2(offer({ payTo: OTHER_PAYEE }), offer()))],
    [
      'alive',
      'a body of V1',
      answer(402, undefined, { x402Version: 1, accepts: [offer({ network: 'bsc' })] }),
    ],
    ['wrong_payee', 'another', answer(402, v2(offer({ payTo: OTHER_PAYEE })))],
    ['wrong_payee', 'another network', answer(402, v2(offer({ network: 'eip155:97' })))],
    ['wrong_payee', 'no offer', answer(402, v2())],
    ['wrong_payee', 'offers that are none', answer(402, v2(7, null, 'x', { payTo: PAYEE }))],
    [
      'wrong_payee',
      'its payee behind too many',
      answer(402, v2(...Array<unknown>(50).fill({}), offer())),
    ],
    ['not_402', 'the goods', answer(200, v2(offer()))],
    ['not_402', 'an error', answer(503, undefined)],
    ['not_402', 'a 402 without terms', answer(402, undefined, 'Pay me')],
    ['not_402', 'a 402 of another version', answer(402, { x402Version: 3, accepts: [offer()] })],
    [
      'not_402',
      'a header that is none',
      { ...answer(402, undefined), headers: { 'payment-required': '{}' } },
    ],
  ])('is %s for %s', (state, _, given) => {
    expect(stateOf(given, ENTRY)).toBe(state);
  });
});

describe('an entry', () => {
  it('is asked for by methods that are safe, where their answer says what is looked for', () => {
    const can = (more: object) => canBeProbed(aListing(more));
    expect([{ method: 'GET' }, { method: 'HEAD' }].map(can)).toEqual([true, true]);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) expect(can({ method })).toBe(false);
    expect(can({ method: 'HEAD', x402Version: 1 })).toBe(false);
    expect(can({ type: 'mcp', toolName: 'a' })).toBe(false);
  });

  it('is asked for where it was bought, not at its template', () => {
    const exampleUrl = 'https://shop.example.com/a/1';
    const resource = 'https://shop.example.com/a/:id';
    expect(probedUrlOf(aListing({ resource, exampleUrl }))).toBe(exampleUrl);
    expect(probedUrlOf(aListing())).toBe(aListing().resource);
  });
});
