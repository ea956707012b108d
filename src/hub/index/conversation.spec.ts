import { describe, expect, it } from '@jest/globals';
import { membershipOf } from './conversation.js';

describe('membershipOf', () => {
  it.each([
    ['c1_0', { conversation: 'c1', number: 0 }],
    ['c_1_12', { conversation: 'c_1', number: 12 }],
    ['backup-2026-01-01T00-00-00_3', { conversation: 'backup-2026-01-01T00-00-00', number: 3 }],
    ['papers_intro', { conversation: 'papers', number: undefined }],
    ['c_1e3', { conversation: 'c', number: undefined }],
    ['c_', { conversation: 'c', number: undefined }],
    ['_1', undefined],
    ['plain', undefined],
  ])('%s', (id, membership) => {
    expect(membershipOf(id)).toEqual(membership);
  });
});
