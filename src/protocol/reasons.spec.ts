import { describe, expect, it } from '@jest/globals';
import { REASONS } from './reasons.js';
import { BATCH_SETTLEMENT_REASONS } from './reasons/batch-settlement-reasons.js';
import { EIP3009_REASONS } from './reasons/eip3009-reasons.js';
import { PERMIT2_REASONS } from './reasons/permit2-reasons.js';
import { REQUEST_REASONS } from './reasons/request-reasons.js';
import { SERVICE_REASONS } from './reasons/service-reasons.js';
import { UPTO_REASONS } from './reasons/upto-reasons.js';

const FAMILIES = [
  REQUEST_REASONS,
  EIP3009_REASONS,
  PERMIT2_REASONS,
  UPTO_REASONS,
  BATCH_SETTLEMENT_REASONS,
  SERVICE_REASONS,
];

describe('REASONS', () => {
  it('has every reason of every family once, in their order', () => {
    // Of two families with one name the later would win without a word.
    expect(FAMILIES.flatMap((family) => Object.keys(family))).toEqual(Object.keys(REASONS));
  });
});
