import { describe, expect, it } from '@jest/globals';
import { bumpedFees, feesFor, leastTipToOffer, leastTipUrged } from './gas-price.js';

const GWEI = 1_000_000_000n;
const market = {
  baseFeePerGas: 0n,
  suggestedTip: GWEI / 20n,
  leastTip: 0n,
  cap: 5n * GWEI,
};

describe('feesFor', () => {
  it('offers the tip alone where there is no base fee', () => {
    expect(feesFor(market)).toEqual({ maxFeePerGas: GWEI / 20n, maxPriorityFeePerGas: GWEI / 20n });
  });

  it('offers what the endpoints have learned to want', () => {
    expect(feesFor({ ...market, leastTip: GWEI })?.maxPriorityFeePerGas).toBe(GWEI);
  });

  it('leaves room for the base fee to double, below the cap', () => {
    expect(feesFor({ ...market, baseFeePerGas: GWEI })?.maxFeePerGas).toBe(2n * GWEI + GWEI / 20n);
    expect(feesFor({ ...market, baseFeePerGas: 4n * GWEI })?.maxFeePerGas).toBe(5n * GWEI);
  });

  it('offers nothing when the market is above the cap', () => {
    expect(feesFor({ ...market, baseFeePerGas: 5n * GWEI })).toBeUndefined();
    expect(feesFor({ ...market, leastTip: 6n * GWEI })).toBeUndefined();
  });

  it('never offers nothing at all', () => {
    expect(feesFor({ ...market, suggestedTip: 0n })?.maxPriorityFeePerGas).toBe(1n);
  });
});

describe('bumpedFees', () => {
  it.each([1n, 7n, 8n, 50_000_000n, GWEI + 1n])(
    'offers at least 12.5 %% more than %d wei did, by which nodes replace',
    (wei) => {
      const bumped = bumpedFees(
        { maxFeePerGas: wei, maxPriorityFeePerGas: wei },
        { agreed: market, highest: market },
      );
      expect((bumped?.maxFeePerGas ?? 0n) * 8n).toBeGreaterThanOrEqual(wei * 9n);
      expect((bumped?.maxPriorityFeePerGas ?? 0n) * 8n).toBeGreaterThanOrEqual(wei * 9n);
    },
  );

  it('follows the market where that is more', () => {
    const previous = { maxFeePerGas: 1000n, maxPriorityFeePerGas: 1000n };
    const both = { agreed: market, highest: market };
    expect(bumpedFees(previous, both)?.maxPriorityFeePerGas).toBe(GWEI / 20n);
  });

  it('at most doubles for what one endpoint alone says', () => {
    const previous = { maxFeePerGas: GWEI, maxPriorityFeePerGas: GWEI / 2n };
    const highest = { ...market, baseFeePerGas: 2n * GWEI, suggestedTip: 2n * GWEI };
    const doubled = { maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: GWEI };
    expect(bumpedFees(previous, { highest })).toEqual(doubled);
    expect(bumpedFees(previous, { agreed: market, highest })).toEqual(doubled);
    expect(bumpedFees(previous, { agreed: highest, highest })?.maxFeePerGas).toBe(5n * GWEI);
  });

  it('goes by what was offered where the market of every endpoint is above the cap', () => {
    const previous = { maxFeePerGas: GWEI, maxPriorityFeePerGas: GWEI };
    const highest = { ...market, baseFeePerGas: 6n * GWEI };
    const bumped = (GWEI * 9n) / 8n + 1n;
    expect(bumpedFees(previous, { highest })).toEqual({
      maxFeePerGas: bumped,
      maxPriorityFeePerGas: bumped,
    });
  });

  it('stops at the cap', () => {
    const previous = { maxFeePerGas: 4_500_000_000n, maxPriorityFeePerGas: 4_500_000_000n };
    expect(bumpedFees(previous, { highest: market })).toBeUndefined();
  });
});

describe('leastTipToOffer', () => {
  const [suggested, affordable] = [GWEI / 20n, 5n * GWEI];

  it.each<[string, readonly bigint[], bigint]>([
    ['none has said anything', [0n, 0n], 0n],
    ['no endpoint is left', [], 0n],
    ['both want the same', [GWEI, GWEI], GWEI],
    ['one of two alone wants more', [5n * GWEI, 0n], 0n],
    ['both want more, one of them much more', [5n * GWEI, GWEI / 10n], GWEI / 10n],
    ['two of three want more', [4n * GWEI, GWEI, 0n], GWEI],
    ['one of two wants more than is paid', [50n * GWEI, GWEI], GWEI],
    ['both want more than is paid', [7n * GWEI, 50n * GWEI], 7n * GWEI],
    ['the only one wants a little more', [GWEI / 10n], GWEI / 10n],
    ['the only one wants much more', [4n * GWEI], GWEI / 2n],
    ['the only one wants all that is paid', [5n * GWEI], GWEI / 2n],
    ['the only one wants more than is paid', [7n * GWEI], 7n * GWEI],
  ])('where %s', (_, leastTips, expected) => {
    const shown = { named: 5n * GWEI, mined: 0n };
    expect(leastTipToOffer(leastTips, suggested, affordable, shown)).toBe(expected);
  });
});

describe('leastTipToOffer beside what blocks have shown', () => {
  it.each<[string, readonly bigint[], bigint, bigint, bigint]>([
    ['is what was mined', [4n * GWEI, 0n], 4n * GWEI, 2n * GWEI, 2n * GWEI],
    ['is no more than any endpoint wants', [GWEI, 0n], GWEI, 3n * GWEI, GWEI],
    ['is nothing where no endpoint refuses', [0n, 0n], 0n, 3n * GWEI, 0n],
    ['is what can be paid', [9n * GWEI, 0n], 9n * GWEI, 9n * GWEI, 5n * GWEI],
    [
      'is above ten times the suggestion of the only one',
      [4n * GWEI],
      4n * GWEI,
      9n * GWEI,
      4n * GWEI,
    ],
    ['is what the only one wants above the cap', [9n * GWEI], 9n * GWEI, GWEI, 9n * GWEI],
  ])('%s', (_, leastTips, named, mined, expected) => {
    expect(leastTipToOffer(leastTips, 1n, 5n * GWEI, { named, mined })).toBe(expected);
  });
});

describe('leastTipUrged', () => {
  it('is what all endpoints take', () => {
    expect(leastTipUrged([0n, GWEI, 2n * GWEI], 5n * GWEI)).toBe(2n * GWEI);
    expect(leastTipUrged([], 5n * GWEI)).toBe(0n);
  });

  it('leaves an endpoint out that wants more than is paid, as long as another one does not', () => {
    expect(leastTipUrged([GWEI, 50n * GWEI], 5n * GWEI)).toBe(GWEI);
    expect(leastTipUrged([GWEI, 5n * GWEI], 5n * GWEI)).toBe(5n * GWEI);
    expect(leastTipUrged([7n * GWEI, 50n * GWEI], 5n * GWEI)).toBe(7n * GWEI);
  });
});
