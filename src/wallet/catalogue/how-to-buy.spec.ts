import { describe, expect, it } from '@jest/globals';
import {
  anItem,
  anOffer,
  KNOWN,
  STRANGE_TOKEN,
} from '../../../test/builders/wallet/catalogue/catalogue-item.js';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import { PayInput } from '../tools/shapes.js';
import { readItem } from './catalogue-item.js';
import { howToBuy } from './how-to-buy.js';

function buying(more: JsonObject = {}, input: JsonObject = {}): ReturnType<typeof howToBuy> {
  const item = readItem(anItem(more, input), KNOWN);
  if (item === undefined) throw new Error('it is no entry');
  return howToBuy(item);
}

describe('how an entry is bought', () => {
  it('names arguments that payment_pay takes as they are, at the price that was paid', () => {
    const { howToBuy: how } = buying({}, { queryParams: { city: 'Köln & Bonn', days: 3 } });
    expect(how).toMatchObject({
      tool: 'payment_pay',
      arguments: {
        url: 'https://shop.example.com/weather?city=K%C3%B6ln+%26+Bonn&days=3',
        method: 'GET',
        headers: {},
        maxAmount: '0.25',
      },
      examples: ['query'],
    });
    expect(PayInput.parse(how?.arguments)).toEqual(how?.arguments);
  });

  it('names a purchase of its own each time', () => {
    const ids = [buying(), buying()].map(({ howToBuy: how }) => how?.arguments.intentId);
    expect(new Set(ids).size).toBe(2);
  });

  it('sends the example body as the seller wants it', () => {
    const more = { method: 'POST' };
    const json = buying(more, { method: 'POST', bodyType: 'json', body: { a: [1] } }).howToBuy;
    expect(json?.arguments).toMatchObject({
      method: 'POST',
      body: '{"a":[1]}',
      headers: { 'content-type': 'application/json' },
    });
    const text = buying(more, { method: 'POST', bodyType: 'text', body: 'a\u0007b' }).howToBuy;
    expect(text?.arguments).toMatchObject({
      body: 'ab',
      headers: { 'content-type': 'text/plain' },
    });
    expect(text?.examples).toEqual(['body']);
    const form = buying(more, { method: 'POST', bodyType: 'form-data', body: {} });
    expect(form).toEqual({ whyNot: expect.stringContaining('form') });
  });

  it('says that a part of the path is an example', () => {
    const template = { resource: 'https://shop.example.com/weather/:city' };
    const exampleUrl = 'https://shop.example.com/weather/berlin';
    const { howToBuy: how } = buying({ ...template, exampleUrl });
    expect([how?.arguments.url, how?.examples]).toEqual([exampleUrl, ['path']]);
    expect(buying(template).howToBuy?.examples).toEqual(['path']);
  });

  it('takes no header of the seller, which could speak for the agent', () => {
    const headers = { authorization: 'Bearer yours', cookie: 'a=b' };
    expect(buying({}, { headers }).howToBuy?.arguments.headers).toEqual({});
  });

  it.each([
    ['a tool', { type: 'mcp', resource: 'mcp://tool/weather' }, {}],
    ['no URL of the web', { resource: 'mcp://tool/weather' }, {}],
    ['a token that is not known', { accepts: [anOffer({ asset: STRANGE_TOKEN })] }, {}],
    ['a price beyond any balance', { accepts: [anOffer({ amount: '9'.repeat(60) })] }, {}],
    ['a query without end', {}, { queryParams: { a: 'x'.repeat(3000) } }],
  ])('says why not, of %s', (_what, more, input) => {
    const { howToBuy: how, whyNot } = buying(more, input);
    expect(how).toBeUndefined();
    expect(whyNot).toMatch(/\.$/);
  });
});
