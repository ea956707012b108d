import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { PublishedStatus } from '../../settlement/ledger/queries/lane-queries.js';
import { LaneSenders } from './lane-senders.js';

const aLane = (signer: string, overrides: Partial<PublishedStatus> = {}): PublishedStatus =>
  ({
    lane: `56:${signer}`,
    chainId: 56,
    signer,
    balanceWei: '7',
    gasPriceWei: '5',
    suspendedAssets: [],
    silentMs: 100,
    ...overrides,
  }) as PublishedStatus;

const sendersOf = (...lanes: readonly PublishedStatus[]): LaneSenders =>
  new LaneSenders({ all: () => Promise.resolve(lanes) });

describe('the account that verify simulates with', () => {
  it('is that of a lane of the chain, at its price', async () => {
    const senders = sendersOf(aLane('0xAA'), aLane('0xbb', { chainId: 97 }));
    expect(await senders.senderFor({ chainId: 56, spread: 3n })).toEqual({
      address: '0xaa',
      gasPriceWei: 5n,
      balanceWei: 7n,
    });
    expect(await senders.senderFor({ chainId: 1, spread: 3n })).toBeUndefined();
  });

  it('is one of all that live, the same for the same payment', async () => {
    const senders = sendersOf(aLane('0xb'), aLane('0xa'), aLane('0xc', { silentMs: 60_000 }));
    const addresses = await Promise.all(
      [0n, 1n, 2n, 2n ** 255n].map(
        async (spread) => (await senders.senderFor({ chainId: 56, spread: spread }))?.address,
      ),
    );
    expect(addresses).toEqual(['0xa', '0xb', '0xa', '0xa']);
  });

  it('is that of a silent lane while none lives, and known while the ledger is away', async () => {
    let isAway = false;
    const senders = new LaneSenders({
      all: () =>
        isAway
          ? Promise.reject(new RedisUnavailableError('lanes', undefined))
          : Promise.resolve([aLane('0xa', { silentMs: 60_000 })]),
    });
    expect((await senders.senderFor({ chainId: 56, spread: 0n }))?.address).toBe('0xa');
    isAway = true;
    await new Promise((resolve) => setTimeout(resolve, 550));
    await senders.senderFor({ chainId: 56, spread: 0n });
    expect((await senders.senderFor({ chainId: 56, spread: 0n }))?.address).toBe('0xa');
  });

  it('is never that of a treasury, also where a payment names it', async () => {
    const treasury = { dailyCapWei: '1', spentTodayWei: '0' };
    const senders = sendersOf(aLane('0xa'), aLane('0xb', { isRetiring: true, treasury }));
    expect((await senders.senderFor({ chainId: 56, spread: 1n }))?.address).toBe('0xa');
    expect(await senders.senderFor({ chainId: 56, spread: 1n, sole: '0xb' })).toBeUndefined();
  });

  it('is the one that has to send it, also where it is silent or on its way out', async () => {
    const silent = aLane('0xb', { silentMs: 60_000 });
    const retiring = aLane('0xc', { isRetiring: true });
    const senders = sendersOf(aLane('0xa'), silent, retiring);
    const sole = async (signer: Address, chainId = 56): Promise<string | undefined> =>
      (await senders.senderFor({ chainId: chainId, spread: 0n, sole: signer }))?.address;
    expect([await sole('0xa'), await sole('0xb'), await sole('0xc')]).toEqual([
      '0xa',
      '0xb',
      '0xc',
    ]);
    expect([await sole('0xd'), await sole('0xa', 97)]).toEqual([undefined, undefined]);
    // What any lane may send is never sent from one on its way out.
    const spread = [0n, 1n, 2n].map((one) => senders.senderFor({ chainId: 56, spread: one }));
    expect((await Promise.all(spread)).map((one) => one?.address)).toEqual(['0xa', '0xa', '0xa']);
  });

  it('knows no lane account before the ledger has named one', async () => {
    const away = new LaneSenders({
      all: () => Promise.reject(new RedisUnavailableError('lanes', undefined)),
    });
    expect(await away.senderFor({ chainId: 56, spread: 0n, sole: '0xa' })).toBeUndefined();
    expect(away.areKnown(56)).toBe(false);
    const senders = sendersOf(aLane('0xa'));
    await senders.senderFor({ chainId: 56, spread: 0n, sole: '0xa' });
    expect([senders.areKnown(56), senders.areKnown(97)]).toEqual([true, false]);
  });

  it('knows its accounts still when the ledger was lost, and in a new process none', async () => {
    let lanes = [aLane('0xa')];
    const senders = new LaneSenders({ all: () => Promise.resolve(lanes) });
    await senders.senderFor({ chainId: 56, spread: 0n, sole: '0xa' });
    lanes = [];
    await new Promise((resolve) => setTimeout(resolve, 550));
    await senders.senderFor({ chainId: 56, spread: 0n, sole: '0xa' });
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await senders.senderFor({ chainId: 56, spread: 0n, sole: '0xa' })).toMatchObject({
      address: '0xa',
    });
    const fresh = sendersOf();
    await fresh.senderFor({ chainId: 56, spread: 0n, sole: '0xa' });
    expect(fresh.areKnown(56)).toBe(false);
  });

  it('serves no asset that a lane has suspended', async () => {
    const senders = sendersOf(aLane('0xa', { suspendedAssets: ['eip155:56/0xaa'] }));
    await senders.senderFor({ chainId: 56, spread: 0n });
    expect(senders.isSuspended('eip155:56/0xaa')).toBe(true);
  });
});
