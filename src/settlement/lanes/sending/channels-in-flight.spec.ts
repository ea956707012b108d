import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { ChannelsInFlight } from './channels-in-flight.js';

const A: Hex = `0x${'0a'.repeat(32)}`;
const B: Hex = `0x${'0b'.repeat(32)}`;

describe('channels of the claims in flight', () => {
  let pending: { readonly channels: ReadonlySet<Hex> }[];
  let channels: ChannelsInFlight;

  beforeEach(() => {
    pending = [];
    channels = new ChannelsInFlight(() => pending);
  });

  it('are those of any lane, while no block has taken them', () => {
    expect(channels.hasAny([A, B])).toBe(false);
    pending = [{ channels: new Set() }, { channels: new Set([B]) }];
    expect([channels.hasAny([A, B]), channels.hasAny([A]), channels.hasAny([])]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('count while another lane signs, and not after it could not send', async () => {
    let fail = (): void => undefined;
    const sending = channels.during([A], () => {
      return new Promise((_, reject) => {
        fail = () => {
          reject(new Error('the lease was lost'));
        };
      });
    });
    expect([channels.hasAny([A]), channels.hasAny([B])]).toEqual([true, false]);
    fail();
    await expect(sending).rejects.toThrow('the lease was lost');
    expect(channels.hasAny([A])).toBe(false);
  });
});
