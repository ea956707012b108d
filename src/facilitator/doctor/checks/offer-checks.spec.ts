import { describe, expect, it } from '@jest/globals';
import {
  anOffer,
  ASSET,
  DOMAIN,
  offerFacts,
  plainToken,
  tokenFacts,
} from '../../../../test/builders/facilitator/doctor/doctor.js';
import { PERMIT2 } from '../../../protocol/evm/contracts.js';
import type { Offer } from './offer.js';
import { type OfferFacts, offerFindings } from './offer-checks.js';

const found = (offer: Partial<Offer>, facts: Partial<OfferFacts> = {}): string[] =>
  offerFindings(anOffer(offer), offerFacts(facts)).map(
    ({ severity, code, path }) => `${severity} ${code} at ${path}`,
  );
const AT = 'terms.accepts[0]';
const PERMIT2_EXTRA = { assetTransferMethod: 'permit2' };
const ZERO = `0x${'0'.repeat(40)}` as const;

describe('a sound offer', () => {
  it.each<[string, Partial<Offer>, Partial<OfferFacts>]>([
    ['by EIP-3009', {}, {}],
    ['by Permit2', { method: 'permit2', extra: PERMIT2_EXTRA }, { token: plainToken() }],
    [
      'upto',
      { scheme: 'upto', method: 'permit2', extra: { facilitatorAddress: ASSET } },
      { token: plainToken() },
    ],
    ['paid to a wallet that is a contract', {}, { payee: 'wallet' }],
    ['in a flow that pays first', { extra: { ...DOMAIN, paymentFlow: 'upfront' } }, {}],
    ['of a token that does not show its domain', {}, { token: tokenFacts({ domain: undefined }) }],
    ['whose payee could not be tried', {}, { isPayeeRefused: undefined }],
    [
      'of an old token that shows nothing',
      {},
      { token: tokenFacts({ eip3009: { vrs: 'unclear', bytes: 'unclear' } }) },
    ],
    ['of a hundred thousand', { amount: 10n ** 23n }, {}],
    ['of a millionth', { amount: 10n ** 12n }, {}],
    ['of a cent in 6 decimals', { amount: 10_000n }, { token: tokenFacts({ decimals: 6 }) }],
    ['of the smallest unit in 2', { amount: 1n }, { token: tokenFacts({ decimals: 2 }) }],
  ])('%s has no findings', (_, offer, facts) => {
    expect(found(offer, facts)).toEqual([]);
  });
});

describe('an offer', () => {
  it.each<[string, Partial<Offer>, Partial<OfferFacts>, string]>([
    [
      'that ends at once',
      { maxTimeoutSeconds: 5 },
      {},
      `error timeout_too_short at ${AT}.maxTimeoutSeconds`,
    ],
    [
      'that ends soon',
      { maxTimeoutSeconds: 59 },
      {},
      `warning timeout_too_short at ${AT}.maxTimeoutSeconds`,
    ],
    [
      'in escrow',
      { extra: { ...DOMAIN, paymentFlow: 'escrow' } },
      {},
      `error flow_not_served at ${AT}.extra.paymentFlow`,
    ],
    [
      'in a flow of its own',
      { extra: { ...DOMAIN, paymentFlow: 'later' } },
      {},
      `error flow_unknown at ${AT}.extra.paymentFlow`,
    ],
    [
      'upto without a facilitator address',
      { scheme: 'upto', method: 'permit2', extra: {} },
      {},
      `error facilitator_address_missing at ${AT}.extra.facilitatorAddress`,
    ],
    ['paid to zero', { payTo: ZERO }, { payee: 'contract' }, `error pays_nobody at ${AT}.payTo`],
    [
      'paid to the token',
      { payTo: ASSET },
      { payee: 'contract' },
      `error pays_the_token at ${AT}.payTo`,
    ],
    [
      'paid to Permit2',
      { payTo: PERMIT2 },
      { payee: 'contract' },
      `error pays_a_contract_of_x402 at ${AT}.payTo`,
    ],
    ['paid to a contract', {}, { payee: 'contract' }, `warning pays_a_contract at ${AT}.payTo`],
    [
      'that the token refuses',
      {},
      { isPayeeRefused: true },
      `error payee_refused_by_token at ${AT}.payTo`,
    ],
    ['of no contract', {}, { token: undefined }, `error asset_is_no_contract at ${AT}.asset`],
    [
      'of the own coin',
      { asset: `0x${'e'.repeat(40)}` },
      { token: undefined },
      `error asset_is_native at ${AT}.asset`,
    ],
    [
      'of a token without EIP-3009',
      {},
      { token: plainToken() },
      `error token_without_eip3009 at ${AT}.extra.assetTransferMethod`,
    ],
    [
      'by one overload',
      {},
      { token: tokenFacts({ eip3009: { vrs: 'yes', bytes: 'no' } }) },
      `note no_contract_wallets at ${AT}.asset`,
    ],
    ['without a name', { extra: { version: '1' } }, {}, `error name_missing at ${AT}.extra.name`],
    [
      'without a version',
      { extra: { ...DOMAIN, version: 1 } },
      {},
      `error version_missing at ${AT}.extra.version`,
    ],
    [
      'of another name',
      { extra: { ...DOMAIN, name: 'U' } },
      {},
      `error name_differs at ${AT}.extra.name`,
    ],
    [
      'of another version',
      { extra: { ...DOMAIN, version: '2' } },
      {},
      `error version_differs at ${AT}.extra.version`,
    ],
    [
      'without a name, of a token that hides its domain',
      { extra: { version: '1' } },
      { token: tokenFacts({ domain: undefined }) },
      `error name_missing at ${AT}.extra.name`,
    ],
    ['of nothing', { amount: 0n }, {}, `warning costs_nothing at ${AT}.amount`],
    [
      'of a token without decimals',
      {},
      { token: tokenFacts({ decimals: undefined }) },
      `warning decimals_unknown at ${AT}.asset`,
    ],
    [
      'of 0.10 in 6 decimals',
      { amount: 100_000n },
      {},
      `warning amount_looks_small at ${AT}.amount`,
    ],
    [
      'of 0.10 in 18 decimals',
      { amount: 10n ** 17n },
      { token: tokenFacts({ decimals: 6 }) },
      `warning amount_looks_large at ${AT}.amount`,
    ],
  ])('%s is found', (_, offer, facts, expected) => {
    expect(found(offer, facts)).toEqual([expected]);
  });

  it('shows what it costs, and what was meant', () => {
    const [finding] = offerFindings(anOffer({ amount: 100_000n }), offerFacts());
    expect(finding?.fix).toContain('0.0000000000001 "U"');
    expect(finding?.fix).toContain('With 6 decimals it would be 0.1');
  });

  it('of version 1 has its own field, and no way by Permit2', () => {
    const v1 = { version: 1, amountField: 'maxAmountRequired' } as const;
    expect(found({ ...v1, amount: 0n })).toEqual([
      `warning costs_nothing at ${AT}.maxAmountRequired`,
    ]);
    const [finding] = offerFindings(anOffer(v1), offerFacts({ token: plainToken() }));
    expect(finding?.fix).toContain('Version 1 needs EIP-3009');
  });

  it('shows the domain of the token to the letter, and nothing that breaks a line', () => {
    const domain = { name: 'A\n"B"', version: '1' };
    const [finding] = offerFindings(anOffer(), offerFacts({ token: tokenFacts({ domain }) }));
    expect(finding).toMatchObject({ expected: String.raw`"A\n\"B\""`, got: '"United Stables"' });
  });
});
