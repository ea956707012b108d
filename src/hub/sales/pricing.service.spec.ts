import { describe, expect, it } from '@jest/globals';
import type { AppConfig } from '../../platform/config/app-config.js';
import type { HubService } from '../hub.service.js';
import type { NamedObject } from '../index/hub-index.js';
import type { StoredObject } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import type { Price, WantedPrice } from './price.js';
import { PricingService } from './pricing.service.js';

const OWNER = `0x${'11'.repeat(20)}` as const;
const OBJECT: StoredObject = {
  op: 'put',
  order: 1,
  owner: OWNER,
  id: 'report',
  bucket: OWNER,
  kind: 'memory',
  volume: 0,
  start: 0,
  size: 1,
  sha256: '',
  blocks: '',
};
const WANTED: WantedPrice = {
  network: 'eip155:97',
  asset: `0x${'44'.repeat(20)}`,
  amount: 1n,
  payTo: undefined,
  token: undefined,
  accessSeconds: 60,
  until: undefined,
  contentType: undefined,
};

/** @param after - what the name stands for once its price is set. */
function pricing(
  after: StoredObject | undefined,
  facilitator?: { readonly url: string },
): {
  readonly service: PricingService;
  readonly noted: (Price | undefined)[];
  readonly withdrawn: Price[];
} {
  const noted: (Price | undefined)[] = [];
  const withdrawn: Price[] = [];
  const named: NamedObject = { object: OBJECT, terms: undefined, takedowns: [] };
  const hub = {
    find: () => Promise.resolve(named),
    lookUp: () => Promise.resolve(after && { ...named, object: after }),
    assertServed: () => undefined,
    setPrice: (_name: unknown, price: Price | undefined) => {
      noted.push(price);
      return Promise.resolve();
    },
    withdrawPrice: (_name: unknown, price: Price) => {
      withdrawn.push(price);
      return Promise.resolve();
    },
  } as unknown as HubService;
  const networks = [{ network: 'eip155:97', knownTokens: [] }];
  const config = { networks, hub: { sales: { facilitator } } } as unknown as AppConfig;
  return { service: new PricingService(config, hub), noted, withdrawn };
}

describe('a price', () => {
  it('is of the bytes that the name stands for', async () => {
    const { service, noted } = pricing(OBJECT);
    expect(await service.set(OBJECT, WANTED)).toMatchObject({ object: OBJECT, payTo: OWNER });
    expect(noted).toMatchObject([{ amount: 1n }]);
  });

  it('is on a network that is served, where another facilitator does not say', async () => {
    const elsewhere = { ...WANTED, network: 'eip155:1' };
    const own = pricing(OBJECT);
    await expect(own.service.set(OBJECT, elsewhere)).rejects.toThrow(
      'network: must be one that this hub is paid on: eip155:97',
    );
    expect(own.noted).toEqual([]);
    const others = pricing(OBJECT, { url: 'https://facilitator.example' });
    expect(await others.service.set(OBJECT, elsewhere)).toMatchObject({ network: 'eip155:1' });
  });

  it.each([
    ['given up at that moment', undefined],
    ['written again at that moment', { ...OBJECT, order: 2 }],
  ])('is void where the file was %s, and is no price of later bytes', async (_, after) => {
    const { service, noted, withdrawn } = pricing(after);
    await expect(service.set(OBJECT, WANTED)).rejects.toThrow(HubRefusal);
    // Whatever price was set since is not this one's to take away.
    expect(noted).toMatchObject([{ amount: 1n }]);
    expect(withdrawn).toEqual(noted);
  });
});
