import { describe, expect, it } from '@jest/globals';
import { disposition } from './payload-response.js';

describe('attachment', () => {
  it.each([
    ['plain.txt', 'attachment; filename="plain.txt"'],
    ['a b', 'attachment; filename="a b"'],
    ['é', `attachment; filename="_"; filename*=UTF-8''%C3%A9`],
    ['a"b\\c', `attachment; filename="a_b_c"; filename*=UTF-8''a%22b%5Cc`],
    ['a\r\nb', `attachment; filename="a__b"; filename*=UTF-8''a%0D%0Ab`],
    [`it's(1)*`, `attachment; filename="it's(1)*"`],
    [`é'(*)`, `attachment; filename="_'(*)"; filename*=UTF-8''%C3%A9%27%28%2A%29`],
  ])('%j', (name, header) => {
    expect(disposition('attachment', name)).toBe(header);
  });

  it('cuts a long name between characters', () => {
    expect(disposition('attachment', '🦙'.repeat(300))).toContain(
      `UTF-8''${'%F0%9F%A6%99'.repeat(255)}`,
    );
  });
});
