import { describe, expect, it } from '@jest/globals';
import { DEFAULT_ASSETS } from '@x402/evm';
import {
  anOffer,
  DOMAIN,
  offerFacts,
  plainToken,
  tokenFacts,
  v2Terms,
} from '../../../../test/builders/facilitator/doctor/doctor.js';
import type { Offer } from './offer.js';
import {
  type CheckedOffer,
  DEFAULT_ASSET_KEYS,
  defaultAssetDecimals,
  termsFindings,
} from './terms-checks.js';

const PERMIT = 'eip2612GasSponsoring';
const APPROVAL = 'erc20ApprovalGasSponsoring';
const result = (offer: Partial<Offer>, token = tokenFacts()): CheckedOffer => ({
  offer: anOffer({ method: 'permit2', ...offer }),
  facts: offerFacts({ token }),
});
const found = (declared: readonly string[], ...offers: CheckedOffer[]): string[] => {
  const extensions = Object.fromEntries(declared.map((key) => [key, { info: {} }]));
  const sent = v2Terms(undefined, { extensions });
  return (
    termsFindings({ version: 2, place: 'header', sent }, offers)
      .filter(({ severity }) => severity !== 'note')
      .map(({ severity, code, path }) => `${severity} ${code} at ${path}`)
      // Which sponsorings are served is another question than which suit a token.
      .filter((line) => !line.includes('extension_not_served'))
  );
};
const BARE = { assetTransferMethod: 'permit2' };
const NAMED = { ...BARE, ...DOMAIN };
const AT = `terms.extensions.${PERMIT}`;

describe('sponsored approvals', () => {
  it.each<[string, string[], CheckedOffer]>([
    ['a permit for a token that has one', [PERMIT], result({ extra: NAMED })],
    ['nothing', [], result({ extra: BARE }, plainToken())],
    ['an approval for a plain token', [APPROVAL], result({ extra: BARE }, plainToken())],
    ['a permit beside EIP-3009', [PERMIT], result({ method: 'eip3009' }, plainToken())],
    ['what no facilitator acts on', ['bazaar', 'payment-identifier'], result({ extra: NAMED })],
    [
      'a permit of a token that does not tell',
      [PERMIT],
      result({ extra: NAMED }, tokenFacts({ eip2612: 'unclear', domain: undefined })),
    ],
  ])('are sound with %s', (_, declared, offer) => {
    expect(found(declared, offer)).toEqual([]);
  });

  it.each<[string, string[], CheckedOffer, string]>([
    [
      'both at a plain token',
      [PERMIT, APPROVAL],
      result({ extra: NAMED }, plainToken()),
      `error both_gas_sponsorings at ${AT}`,
    ],
    [
      'a permit of a plain token',
      [PERMIT],
      result({ extra: NAMED }, plainToken()),
      `error permit_of_token_without at ${AT}`,
    ],
    [
      'a permit that clients do not try',
      [PERMIT],
      result({ extra: BARE }, plainToken()),
      `warning permit_of_token_without at ${AT}`,
    ],
    [
      'a permit without the name',
      [PERMIT],
      result({ extra: BARE }),
      'error permit_without_domain at terms.accepts[0].extra',
    ],
    [
      'a permit of another name',
      [PERMIT],
      result({ extra: { ...NAMED, name: 'U' } }),
      'error permit_without_domain at terms.accepts[0].extra',
    ],
  ])('are wrong with %s', (_, declared, offer, expected) => {
    expect(found(declared, offer)).toEqual([expected]);
  });

  it('are judged for each offer', () => {
    const offers = [result({ extra: NAMED }), result({ extra: NAMED }, plainToken())];
    expect(found([PERMIT, APPROVAL], ...offers)).toHaveLength(1);
  });

  it('are not looked at where they are no object', () => {
    const sent = v2Terms(undefined, { extensions: [PERMIT] });
    const findings = termsFindings({ version: 2, place: 'header', sent }, [
      result({ extra: NAMED }, plainToken()),
    ]);
    expect(findings.filter(({ severity }) => severity !== 'note')).toEqual([]);
  });
});

describe('default assets', () => {
  it('are those of the SDK', () => {
    const theirs = Object.entries(DEFAULT_ASSETS).flatMap(([network, assets]) =>
      assets.map(({ asset, decimals }) => [
        `${network.slice('eip155:'.length)}/${asset.toLowerCase()}`,
        decimals,
      ]),
    );
    const ours = DEFAULT_ASSET_KEYS.map((key) => {
      const [chainId = '', asset = ''] = key.split('/');
      return [key, defaultAssetDecimals(Number(chainId), asset)];
    });
    expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(theirs));
  });

  const USDC = { chainId: 8453, asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' } as const;
  const needs = (...offers: Partial<Offer>[]): string[] =>
    termsFindings(
      { version: 1, place: 'body', sent: {} },
      offers.map((offer) => result(offer)),
    ).map(({ severity, code, path }) => `${severity} ${code} at ${path}`);

  it('are paid with unasked, up to a dollar', () => {
    expect(needs({ ...USDC, amount: 1_000_000n })).toEqual([]);
    expect(needs({ ...USDC, amount: 1_000_001n })).toEqual([
      'note buyers_raise_the_cap at body.accepts',
    ]);
    expect(needs({})).toEqual(['note buyers_allow_the_asset at body.accepts']);
    expect(needs({}, { ...USDC, amount: 1n })).toEqual([]);
    expect(needs()).toEqual([]);
  });
});
