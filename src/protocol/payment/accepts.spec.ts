import { describe, expect, it } from '@jest/globals';
import { readAccepts, type ServedKind } from './accepts.js';

const ASSET = `0x${'aA'.repeat(20)}`;
const PAY_TO = `0x${'bb'.repeat(20)}`;
const SIGNER = `0x${'cc'.repeat(20)}`;
const KINDS: readonly ServedKind[] = [
  { x402Version: 2, scheme: 'exact', network: 'eip155:97' },
  {
    x402Version: 2,
    scheme: 'upto',
    network: 'eip155:97',
    extra: { facilitatorAddress: SIGNER },
  },
  { x402Version: 1, scheme: 'exact', network: 'bsc-testnet' },
];
const V2 = { scheme: 'exact', network: 'eip155:97', amount: '5', asset: ASSET, payTo: PAY_TO };
const V1 = {
  scheme: 'exact',
  network: 'bsc-testnet',
  maxAmountRequired: '5',
  asset: ASSET,
  payTo: PAY_TO,
  resource: 'https://seller.example/a',
};
const ask = (body: unknown, versions: readonly (1 | 2)[] = [1, 2]) =>
  readAccepts(body, versions, KINDS);

describe('what sellers may ask for in a 402', () => {
  it('is what is served, as it was sent, with what V1 requires', () => {
    const extra = { name: 'Sandbox USD', version: '1' };
    expect(ask({ x402Version: 1, accepts: [{ ...V1, extra }], error: 'x' })).toEqual({
      ok: true,
      accepts: {
        x402Version: 1,
        error: '',
        accepts: [{ ...V1, extra, description: '', mimeType: '', maxTimeoutSeconds: 300 }],
      },
    });
  });

  it('leaves out other networks, other schemes and names of the other version', () => {
    const others = [
      { ...V2, network: 'eip155:8453' },
      { ...V2, scheme: 'stream' },
      { ...V2, network: 'bsc-testnet' },
      // It would be refused if it were served.
      { ...V2, network: 'solana:mainnet', payTo: 'a name' },
    ];
    expect(ask({ x402Version: 2, accepts: [...others, V2] })).toEqual({
      ok: true,
      accepts: { x402Version: 2, accepts: [{ ...V2, maxTimeoutSeconds: 300 }] },
    });
  });

  it('says what a scheme needs, whatever a request claims of it', () => {
    const extra = { facilitatorAddress: PAY_TO, name: 'Sandbox USD' };
    const read = ask({ x402Version: 2, accepts: [{ ...V2, scheme: 'upto', extra }] });
    expect(read).toMatchObject({
      accepts: { accepts: [{ extra: { facilitatorAddress: SIGNER, name: 'Sandbox USD' } }] },
    });
    const without = ask({ x402Version: 2, accepts: [{ ...V2, scheme: 'upto' }] });
    expect(without).toMatchObject({
      accepts: { accepts: [{ extra: { facilitatorAddress: SIGNER } }] },
    });
  });

  it('repeats no field it does not know', () => {
    const resource = { url: 'https://seller.example/a', mimeType: 'text/html', script: 'x' };
    const read = ask({ x402Version: 2, resource, accepts: [{ ...V2, note: 'x' }], note: 'x' });
    expect(JSON.stringify(read)).not.toMatch(/note|script/);
    expect(read).toMatchObject({ accepts: { resource: { url: resource.url } } });
  });

  it.each<[string, unknown, object]>([
    ['no object', [], { path: 'body', expected: 'a JSON object', got: 'a list' }],
    [
      'another version',
      { x402Version: 3, accepts: [] },
      { path: 'x402Version', expected: '1 or 2', got: '3' },
    ],
    [
      'a text as a resource',
      { x402Version: 1, accepts: [], resource: 'x' },
      { path: 'resource', expected: 'an object', got: 'text of 1 character' },
    ],
    ['no list', { x402Version: 2, accepts: {} }, { path: 'accepts', got: 'an object' }],
    [
      'too many',
      { x402Version: 2, accepts: Array(65).fill(V2) },
      { path: 'accepts', expected: 'a list of at most 64 requirements' },
    ],
    ['a text as an offer', { x402Version: 2, accepts: [V2, 'x'] }, { path: 'accepts[1]' }],
    [
      'a name as payee',
      { x402Version: 2, accepts: [{ ...V2, payTo: 'me' }] },
      { path: 'accepts[0].payTo', expected: 'an address', got: 'text of 2 characters' },
    ],
    [
      'no asset',
      { x402Version: 2, accepts: [{ ...V2, asset: undefined }] },
      { path: 'accepts[0].asset', got: 'nothing' },
    ],
    [
      'a fraction',
      { x402Version: 2, accepts: [{ ...V2, amount: '0.1' }] },
      { path: 'accepts[0].amount', expected: 'atomic units, as a decimal string' },
    ],
    [
      'a number',
      { x402Version: 1, accepts: [{ ...V1, maxAmountRequired: 5 }] },
      { path: 'accepts[0].maxAmountRequired', got: '5' },
    ],
  ])('refuses %s', (_, body, place) => {
    expect(ask(body)).toMatchObject({ ok: false, place });
  });

  it('refuses what is nested so deep that writing it would overflow', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`) as object;
    const read = ask({ x402Version: 2, accepts: [{ ...V2, extra: deep }] });
    expect(read).toMatchObject({ ok: false });
  });

  it('takes the version of its path alone', () => {
    expect(ask({ x402Version: 2, accepts: [V2] }, [1])).toMatchObject({ ok: false });
  });
});
