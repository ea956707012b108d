import { describe, expect, it } from '@jest/globals';
import {
  anAnswer,
  encoded,
  v1Terms,
  v2Terms,
} from '../../../test/builders/facilitator/doctor/doctor.js';
import type { SellerAnswer } from './answer.js';
import { readTerms } from './terms.js';

const found = (more: Partial<SellerAnswer>): string[] =>
  readTerms(anAnswer(more)).findings.map(({ code }) => code);
const header = (value: string): Partial<SellerAnswer> => ({
  headers: { 'payment-required': value },
});
const body = (value: unknown): Partial<SellerAnswer> => ({
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
});

describe('the terms of a 402', () => {
  it('are read from the header, from the body, and from both', () => {
    expect(readTerms(anAnswer()).terms).toEqual([{ version: 2, place: 'header', sent: v2Terms() }]);
    expect(readTerms(anAnswer(body(v1Terms()))).terms).toEqual([
      { version: 1, place: 'body', sent: v1Terms() },
    ]);
    const both = readTerms(anAnswer({ body: Buffer.from(JSON.stringify(v1Terms())) }));
    expect(both.terms.map(({ version }) => version)).toEqual([2, 1]);
    expect(both.findings).toEqual([]);
  });

  it('that a body repeats are those of the header', () => {
    const { terms, findings } = readTerms(
      anAnswer({ body: Buffer.from(JSON.stringify(v2Terms())) }),
    );
    expect([terms.length, findings.length]).toEqual([1, 0]);
  });

  it.each<[string, Partial<SellerAnswer>, string]>([
    ['plain JSON', header(JSON.stringify(v2Terms())), 'header_not_base64'],
    ['base64 for URLs', header('eyJ4NDAyVmVyc2lvbiI6Mn0-_w'), 'header_not_base64'],
    ['nothing', header(''), 'header_not_base64'],
    [
      'base64 of base64',
      header(Buffer.from(encoded(v2Terms())).toString('base64')),
      'header_encoded_twice',
    ],
    ['base64 of text', header(Buffer.from('hello there').toString('base64')), 'header_not_json'],
    ['a list', header(encoded([v2Terms()])), 'header_not_json'],
    ['what is nested without end', header(encoded(nested(20))), 'header_not_json'],
    ['version 1', header(encoded(v1Terms())), 'version_of_header'],
    ['a version as text', header(encoded({ ...v2Terms(), x402Version: '2' })), 'version_of_header'],
  ])('are wrong in a header with %s', (_, more, code) => {
    expect(found(more)).toEqual([code]);
  });

  it.each<[string, Partial<SellerAnswer>, string]>([
    ['version 2, which stands in the header', body(v2Terms()), 'v2_in_body_only'],
    ['version 3', body({ x402Version: 3, accepts: [] }), 'version_unknown'],
    ['no terms', body({ error: 'payment required' }), 'no_terms'],
    ['a page', { ...body('<html>'), isCutOff: true }, 'no_terms'],
    ['nothing', body(''), 'no_terms'],
    [
      'terms that were compressed unasked',
      { ...body('x'), headers: { 'content-encoding': 'gzip' } },
      'compressed_unasked',
    ],
  ])('are wrong in a body with %s', (_, more, code) => {
    expect(found(more)).toEqual([code]);
  });

  it.each([
    [6000, 'warning'],
    [16_000, 'error'],
  ])(
    'are read from a long header, with a finding about its length: %i more',
    (length, severity) => {
      const long = v2Terms(undefined, { extensions: { bazaar: 'x'.repeat(length) } });
      const { terms, findings } = readTerms(anAnswer(header(encoded(long))));
      expect(terms).toHaveLength(1);
      expect(findings).toMatchObject([{ code: 'header_too_long', severity }]);
    },
  );
});

function nested(depth: number): unknown {
  return depth === 0 ? {} : { x: nested(depth - 1) };
}
