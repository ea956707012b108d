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

  it.each<[string, unknown, RegExp]>([
    ['no object', [], /object/],
    ['another version', { x402Version: 3, accepts: [] }, /x402Version/],
    ['a text as a resource', { x402Version: 1, accepts: [], resource: 'x' }, /resource: expected/],
    ['no list', { x402Version: 2, accepts: {} }, /accepts: expected a list/],
    ['too many', { x402Version: 2, accepts: Array(65).fill(V2) }, /at most 64/],
    ['a text as an offer', { x402Version: 2, accepts: [V2, 'x'] }, /accepts\[1\]/],
    [
      'a name as payee',
      { x402Version: 2, accepts: [{ ...V2, payTo: 'me' }] },
      /accepts\[0\].payTo/,
    ],
    [
      'no asset',
      { x402Version: 2, accepts: [{ ...V2, asset: undefined }] },
      /\.asset: expected an/,
    ],
    ['a fraction', { x402Version: 2, accepts: [{ ...V2, amount: '0.1' }] }, /\.amount: expected/],
    [
      'a number',
      { x402Version: 1, accepts: [{ ...V1, maxAmountRequired: 5 }] },
      /maxAmountRequired/,
    ],
  ])('refuses %s', (_, body, problem) => {
    expect(ask(body)).toEqual({ ok: false, problem: expect.stringMatching(problem) as unknown });
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
