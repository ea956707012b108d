import { describe, expect, it } from '@jest/globals';
import type { Pricing } from '../storage/storage-provider.js';
import { PriceSeal } from './price-seal.js';

const seal = new PriceSeal('a secret of the tests');
const pricing: Pricing = { op: 'price', order: 7, owner: 'o', id: 'i', terms: '{"amount":"1|0"}' };
const name = { owner: 'o', id: 'i' };
const row = `7|${seal.rowOf(pricing)}`;

describe('the mark of a price', () => {
  it('is known again, also of a price that was taken away', () => {
    expect(seal.termsIn(name, row)).toBe(pricing.terms);
    expect(seal.termsIn(name, `7|${seal.rowOf({ ...pricing, terms: '' })}`)).toBe('');
  });

  it('is of a seal with an id of its own', () => {
    expect(seal.id).toMatch(/^[0-9a-f]{12}$/);
    expect(new PriceSeal('a secret of the tests').id).toBe(seal.id);
    expect(new PriceSeal('another').id).not.toBe(seal.id);
  });

  it.each([
    ['other terms', row.replace('"1|0"', '"2|0"')],
    ['no terms', row.slice(0, row.lastIndexOf('|{') + 1)],
    ['another order', row.replace(/^7/, '8')],
    ['another secret', `7|${new PriceSeal('another').rowOf(pricing)}`],
    ['another file', `7|${seal.rowOf({ ...pricing, id: 'j' })}`],
    ['another owner', `7|${seal.rowOf({ ...pricing, owner: 'p' })}`],
    ['no mark', `7|${pricing.terms}`],
    ['nothing', ''],
  ])('is rejected for %s', (_what, changed) => {
    expect(seal.termsIn(name, changed)).toBeUndefined();
  });
});
