import { describe, expect, it } from '@jest/globals';
import { FilePutInput } from './file-shapes.js';
import { PayInput } from './shapes.js';

describe('a text of an agent with half of a surrogate pair', () => {
  const WHOLE = '\u{1f600}';

  it.each([
    ['the content of a file', FilePutInput, { name: 'a' }, 'content'],
    ['the name of a file', FilePutInput, { content: 'a' }, 'name'],
    [
      'the body of a purchase',
      PayInput,
      { url: 'https://a.example/', maxAmount: '1', intentId: 'a' },
      'body',
    ],
  ] as const)('is refused as %s', (_, shape, rest, field) => {
    expect(shape.safeParse({ ...rest, [field]: WHOLE }).success).toBe(true);
    const half = shape.safeParse({ ...rest, [field]: WHOLE.slice(0, 1) });
    expect(half.error?.issues.map(({ path }) => path)).toEqual([[field]]);
  });
});
