import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  aListing,
  aPaid,
  NOON,
  PAYEE,
  RESOURCE,
} from '../../../test/builders/discovery/catalogue-update.js';
import { MemoryCatalogue } from '../../../test/twins/discovery/memory-catalogue.js';
import { MemoryDeclarationNotes } from '../../../test/twins/settlement/ledger/memory-declaration-notes.js';
import type { CatalogueFilter } from '../catalogue.js';
import type { Declared } from '../declared.js';
import type { DeclaredCall } from '../quality/call-store.js';
import { CatalogueIndexer } from './catalogue-indexer.js';

const ALL: CatalogueFilter = { since: new Date(0) };
const DAY_MS = 86_400_000;

describe('the catalogue indexes', () => {
  let now: number;
  let notes: MemoryDeclarationNotes;
  let catalogue: MemoryCatalogue;
  let indexer: CatalogueIndexer;
  let reported: unknown[];
  let linked: DeclaredCall[];
  let failing: 'outcomes' | 'learn' | 'link' | 'forget' | undefined;

  beforeEach(() => {
    now = NOON;
    failing = undefined;
    reported = [];
    linked = [];
    notes = new MemoryDeclarationNotes(undefined, () => now);
    catalogue = new MemoryCatalogue();
    indexer = made();
  });

  const fail = (step: typeof failing): void => {
    if (failing === step) throw new Error(`${step ?? ''} failed`);
  };
  const made = (): CatalogueIndexer =>
    new CatalogueIndexer(
      {
        read: (...args) => notes.read(...args),
        contents: (...args) => notes.contents(...args),
        forget: async (...args) => {
          fail('forget');
          await notes.forget(...args);
        },
      },
      {
        outcomes: async (...args) => {
          fail('outcomes');
          return catalogue.outcomes(...args);
        },
        update: async (lessons) => {
          fail('learn');
          return catalogue.update(lessons);
        },
        forget: (before) => catalogue.forget(before),
      },
      {
        link: async (_, calls) => {
          fail('link');
          linked.push(...calls);
          return Promise.resolve();
        },
      },
      { ledgerChainIds: [56] },
      { expiryMs: 30 * DAY_MS },
      { now: () => now, steady: () => now, sleep: () => Promise.resolve() },
      { info: (what: unknown) => reported.push(what), error: () => reported.push('failed') },
    );
  const note = (id: string, declared: Declared, chainId = 56) =>
    notes.note({ chainId, id }, { tag: `tag of ${id}`, content: JSON.stringify(declared) });
  const waiting = async () => (await notes.read(56, undefined, 99)).map((one) => one.settlementId);
  const listed = async () =>
    (await catalogue.page(ALL, { offset: 0 }, 99)).map(({ listing }) => listing.description);
  const codes = async (resource = RESOURCE) =>
    (await catalogue.listingStates({ resource }, new Date(0))).map(({ code }) => code);

  it('of a payment that was made, and of none that was not', async () => {
    for (const id of ['paid', 'lost', 'queued', 'unheard of']) {
      await note(id, { listing: aListing({ description: id, resource: `${RESOURCE}/${id}` }) });
    }
    catalogue.history.set('paid', aPaid()).set('lost', 'over').set('queued', 'waiting');
    await indexer.round();
    expect(await listed()).toEqual(['paid']);
    expect(await waiting()).toEqual(['queued', 'unheard of']);
    // Also what was not paid: it says how often settling fails.
    expect(linked.map(({ settlementId }) => settlementId)).toEqual(['paid', 'lost']);
    catalogue.history.set('queued', aPaid({ at: NOON + 1 }));
    await indexer.round();
    expect(await listed()).toEqual(['queued', 'paid']);
    expect(reported).toEqual([]);
  });

  it('why something that was paid is not listed', async () => {
    await note('a', { code: 'input_method', path: 'x.y', resource: RESOURCE });
    catalogue.history.set('a', aPaid());
    await indexer.round();
    expect([await listed(), await codes()]).toEqual([[], ['input_method']]);
    expect(reported).toEqual([{ chainId: 56, listed: 0, refused: 1 }]);
  });

  it('nothing of a payment of nothing', async () => {
    await note('a', { listing: aListing() });
    catalogue.history.set('a', aPaid({ isWorthless: true }));
    await indexer.round();
    expect([await listed(), await codes()]).toEqual([[], ['nothing_paid']]);
  });

  it.each(['outcomes', 'learn', 'link', 'forget'] as const)(
    'the same once, where it died at "%s"',
    async (step) => {
      await note('a', { listing: aListing({ description: 'a' }) });
      catalogue.history.set('a', aPaid());
      failing = step;
      expect(await indexer.round()).toBe(1000);
      await indexer.round();
      failing = undefined;
      // Another process takes it over.
      indexer = made();
      await indexer.round();
      await indexer.round();
      expect([await listed(), await waiting()]).toEqual([['a'], []]);
      const [entry] = await catalogue.page(ALL, { offset: 0 }, 9);
      expect([entry?.payTo, entry?.offers.length]).toEqual([PAYEE, 1]);
      expect(reported).toContain('failed');
    },
  );

  it('and says since when it could not', async () => {
    now += 700;
    await indexer.round();
    expect(indexer.lags()).toEqual(new Map([[56, 0]]));
    await note('a', { listing: aListing() });
    failing = 'outcomes';
    now += 5000;
    await indexer.round();
    expect(indexer.lags()).toEqual(new Map([[56, 5000]]));
    failing = undefined;
    await indexer.round();
    expect(indexer.lags()).toEqual(new Map([[56, 0]]));
  });

  it('again after a failure, and says so once', async () => {
    await note('a', { listing: aListing() });
    failing = 'outcomes';
    await indexer.round();
    failing = undefined;
    await indexer.round();
    await indexer.round();
    expect(reported).toEqual(['failed', 'the catalogue stores declared resources again']);
  });

  it('of what waits long less often, and gives it up after a day', async () => {
    await note('slow', { listing: aListing({ description: 'slow' }) });
    await note('never', { listing: aListing({ resource: `${RESOURCE}/never` }) });
    await indexer.round();
    now += 40_000;
    await indexer.round();
    catalogue.history.set('slow', aPaid());
    now += 9000;
    await indexer.round();
    expect(await listed()).toEqual([]);
    now += 1000;
    await indexer.round();
    expect([await listed(), await waiting()]).toEqual([['slow'], ['never']]);
    now += DAY_MS;
    await indexer.round();
    expect(await waiting()).toEqual([]);
  });

  it('of more than a page', async () => {
    for (let n = 0; n < 1100; n += 1) {
      await note(`${n}`, { listing: aListing({ resource: `${RESOURCE}/${n % 7}` }) });
      catalogue.history.set(`${n}`, aPaid());
    }
    await indexer.round();
    expect([(await listed()).length, await waiting()]).toEqual([7, []]);
  });

  it('nothing of what it cannot read', async () => {
    await notes.note({ chainId: 56, id: 'a' }, { tag: 't', content: 'no JSON' });
    catalogue.history.set('a', aPaid());
    await indexer.round();
    expect([await listed(), await waiting(), reported]).toEqual([[], [], []]);
  });
});
