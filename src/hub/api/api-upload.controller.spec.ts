import { describe, expect, it } from '@jest/globals';
import { ownBucketOf } from './api-upload.controller.js';

describe('the bucket of a message', () => {
  const bucketOf = (message: string): string => ownBucketOf(Buffer.from(message));

  it('is the name that the message has itself', () => {
    expect(bucketOf(' {"name":"notes","text":"hi"}')).toBe('notes');
    for (const other of ['hello', '{"name":5}', '{"name":"notes"', '["notes"]', '{}']) {
      expect(bucketOf(other)).toBe('');
    }
  });

  it('has U+FFFD for half of a surrogate pair, as in every other field', () => {
    expect(bucketOf(String.raw`{"name":"a\ud800"}`)).toBe('a\ufffd');
  });

  it('has to be given for a message that takes long to read', () => {
    const names = Array.from({ length: 20_001 }, (_, at) => `"${at}":1`).join(',');
    const refusal = 'json: nested too deep, or too many objects, lists and fields';
    expect(() => bucketOf(`{"name":"notes",${names}}`)).toThrow(refusal);
    expect(bucketOf(`[{"name":"notes",${names}}]`)).toBe('');
    expect(bucketOf(`{"name":"notes","text":"${'[:'.repeat(30_000)}"}`)).toBe('notes');
  });
});
