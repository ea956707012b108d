import { describe, expect, it } from '@jest/globals';
import {
  anAnswer,
  anObservation,
  encoded,
  v2Terms,
} from '../../../../test/builders/facilitator/doctor/doctor.js';
import type { Observed } from '../answer.js';
import { browserFindings, statusFindings } from './answer-checks.js';

const codes = (findings: readonly { readonly code: string }[]): string[] =>
  findings.map(({ code }) => code);

describe('the status of a seller', () => {
  it('is 402', () => {
    expect(statusFindings(anObservation())).toEqual([]);
  });

  it.each([
    [200, 'answers_without_payment'],
    [204, 'answers_without_payment'],
    [301, 'redirects'],
    [308, 'redirects'],
    [400, 'validates_before_payment'],
    [415, 'validates_before_payment'],
    [422, 'validates_before_payment'],
    [401, 'asks_for_login'],
    [403, 'asks_for_login'],
    [404, 'not_found'],
    [405, 'not_found'],
    [500, 'seller_fails'],
    [503, 'seller_fails'],
    [429, 'other_status'],
  ])('%i means %s', (status, code) => {
    const answer = anAnswer({ status });
    expect(codes(statusFindings(anObservation({ answer })))).toEqual([code]);
    const bare = anObservation({ method: 'POST', hasBody: true, bare: answer });
    expect(statusFindings(bare)).toMatchObject([
      { code, severity: 'error', expected: '402 to POST without a body', got: String(status) },
    ]);
  });

  it('is reported once where both answers are wrong', () => {
    const answer = anAnswer({ status: 400 });
    expect(statusFindings(anObservation({ answer, bare: answer, hasBody: true }))).toHaveLength(1);
  });
});

const browser = (headers: Record<string, string>, more: Partial<Observed> = {}): string[] => {
  const terms = { 'payment-required': encoded(v2Terms()) };
  return codes(
    browserFindings(
      anObservation({ answer: anAnswer({ headers: { ...terms, ...headers } }), ...more }),
    ),
  );
};
const ORIGIN = { 'access-control-allow-origin': '*' };
const EXPOSED = {
  ...ORIGIN,
  'access-control-expose-headers': 'X-Other, Payment-Required,PAYMENT-RESPONSE',
};

describe('a seller for browsers', () => {
  it('lets them see the terms and send a payment', () => {
    const allowed = { 'access-control-allow-headers': 'content-type, Payment-Signature' };
    const preflight = anAnswer({ status: 204, headers: allowed });
    expect(browser(EXPOSED, { preflight })).toEqual([]);
    const star = { ...ORIGIN, 'access-control-expose-headers': '*' };
    expect(browser(star)).toEqual([]);
  });

  it('is a choice', () => {
    expect(browserFindings(anObservation())).toMatchObject([
      { code: 'no_browsers', severity: 'note' },
    ]);
  });

  it.each<[string, Record<string, string>]>([
    ['nothing', ORIGIN],
    ['another header', { ...ORIGIN, 'access-control-expose-headers': 'X-PAYMENT-RESPONSE' }],
  ])('hides the terms by exposing %s', (_, headers) => {
    expect(browser(headers)).toEqual(['terms_hidden_from_browsers']);
  });

  it.each([
    ['402', anAnswer()],
    ['no header', anAnswer({ status: 204, headers: {} })],
    [
      'another header',
      anAnswer({ status: 200, headers: { 'access-control-allow-headers': 'X-PAYMENT' } }),
    ],
  ])('refuses the payment by answering a preflight with %s', (_, preflight) => {
    expect(browser(EXPOSED, { preflight })).toEqual(['payment_refused_in_browsers']);
  });

  it('of version 1 has its terms in the body', () => {
    const answer = anAnswer({ headers: ORIGIN });
    expect(browserFindings(anObservation({ answer, preflight: anAnswer() }))).toEqual([]);
  });
});
