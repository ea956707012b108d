import { describe, expect, it } from '@jest/globals';
import type {
  Settlement,
  UnclaimedPart,
  UnclaimedPlace,
} from '../../settlement/ledger/queries/settlement-queries.js';
import { pageOf } from './admin.service.js';

const place = (since: number, id = `${since}`): UnclaimedPlace => ({ since, id });
const partOf = (times: readonly number[], stoppedAt?: number): UnclaimedPart => ({
  found: times.map((since) => ({
    place: place(since),
    settlement: { view: { id: `${since}` } } as unknown as Settlement,
  })),
  stoppedAt: stoppedAt === undefined ? undefined : place(stoppedAt),
});

function pageIn(parts: readonly UnclaimedPart[], most = 3) {
  const { shown, next } = pageOf(parts, most);
  return { ids: shown.map(({ view }) => view.id), next: next?.since };
}

describe('a page of what is not delivered on several networks', () => {
  it('is in the order of time over all of them', () => {
    expect(pageIn([partOf([5, 1]), partOf([4])])).toEqual({
      ids: ['5', '4', '1'],
      next: undefined,
    });
  });

  it('goes on after the last that it shows', () => {
    expect(pageIn([partOf([5, 3, 1]), partOf([4, 2])])).toEqual({ ids: ['5', '4', '3'], next: 3 });
  });

  it('ends where one of them was not searched further, and leaves what is older to the next page', () => {
    expect(pageIn([partOf([5], 4), partOf([6, 3])])).toEqual({ ids: ['6', '5'], next: 4 });
    expect(pageIn([partOf([], 4), partOf([3])])).toEqual({ ids: [], next: 4 });
  });

  it('shows what ended in one millisecond once', () => {
    const twins = ['b', 'a'].map((id) => ({
      place: place(5, id),
      settlement: { view: { id } } as unknown as Settlement,
    }));
    const { shown, next } = pageOf([{ found: twins, stoppedAt: undefined }], 1);
    expect([shown[0]?.view.id, next]).toEqual(['b', place(5, 'b')]);
  });
});
