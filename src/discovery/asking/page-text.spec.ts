import { describe, expect, it } from '@jest/globals';
import { pageText } from './discovery.controller.js';

describe('an answer as JSON', () => {
  it.each([
    {},
    { items: [], pagination: { limit: 1 } },
    { items: [{ a: 'é"\u2028', b: undefined, at: new Date(0) }, null, 'x', 1, undefined, []] },
    { x402Version: 2, nothing: undefined, listed: false, 'a "name"': null },
    JSON.parse('{"__proto__":{"a":1},"items":[{"__proto__":[1]}]}') as Record<string, unknown>,
  ])('is what JSON.stringify writes: %j', (answer) => {
    expect(pageText(answer)).toBe(JSON.stringify(answer));
    // Once more, from what was kept.
    expect(pageText(answer)).toBe(JSON.stringify(answer));
  });
});
