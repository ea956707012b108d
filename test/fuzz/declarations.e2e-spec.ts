import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Address } from 'viem';
import { itemOf } from '../../src/discovery/asking/item.js';
import { DiscoveryPageController } from '../../src/discovery/discovery-page.controller.js';
import { CatalogueIndexer } from '../../src/discovery/indexing/catalogue-indexer.js';
import type { Listing, ReadDeclaration } from '../../src/protocol/listing/listing.js';
import { readDeclaration } from '../../src/protocol/listing/read-declaration.js';
import { aPaid } from '../builders/discovery/catalogue-update.js';
import { Browser } from '../support/browser.js';
import { PageServer, showPage } from '../support/page-server.js';
import { TEST_SEED } from '../support/seed.js';
import { SeededRandom } from '../support/seeded-random.js';
import { MemoryCatalogue } from '../twins/discovery/memory-catalogue.js';
import { MemoryDeclarationNotes } from '../twins/settlement/ledger/memory-declaration-notes.js';
import { DeclarationMaker, ELSEWHERE, problemsOf } from './declarations.js';

/** `npm run test:fuzz` reads 10 000; this many are part of `npm test`. */
const COUNT = Number(process.env['FUZZ_DECLARATIONS'] ?? 500);
/** As many as the learner takes at a time. */
const PORTION = 100;
/** Processor time of one declaration. */
const EACH_MS = 250;
/** Processor time of all, for each, where one in ten is a mebibyte. */
const MEAN_MS = 25;
/** Of the heap, when everything was read and nothing but the answers is kept. */
const GROWTH_ALLOWED = 48 * 2 ** 20;
const CARDS_OF_A_PAGE = 20;
const NOBODY: ReadonlySet<string> = new Set();

jest.setTimeout(120_000 + COUNT * 60);

function collected(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

describe(`${COUNT} hostile declarations, seed ${TEST_SEED}`, () => {
  const maker = new DeclarationMaker(new SeededRandom(TEST_SEED));
  /** What a list answers of them. */
  const items: unknown[] = [];

  it('are read and learnt in bounded time and memory, each as its own payee’s', async () => {
    const kinds = new Map<string, number>();
    const wrong = new Map<string, unknown>();
    let slowest = 0;
    const before = collected();
    const begun = process.cpuUsage();
    for (let first = 0; first < COUNT; first += PORTION) {
      const listings: Listing[] = [];
      for (let nth = first; nth < Math.min(COUNT, first + PORTION); nth += 1) {
        const { payload, requirements, url } = maker.next();
        const from = process.cpuUsage();
        const read: ReadDeclaration = readDeclaration(payload, requirements, NOBODY);
        const { user } = process.cpuUsage(from);
        slowest = Math.max(slowest, user / 1000);
        kinds.set(read.kind, (kinds.get(read.kind) ?? 0) + 1);
        if (read.kind !== 'listing') continue;
        for (const problem of problemsOf(read.listing, url)) wrong.set(problem, { nth, url, read });
        listings.push(read.listing);
      }
      items.push(...(await learn(listings)));
    }
    const { user } = process.cpuUsage(begun);
    console.log(
      `seed ${TEST_SEED}; ${JSON.stringify(Object.fromEntries(kinds))}; slowest ${slowest.toFixed(0)} ms, ` +
        `${(user / 1000 / COUNT).toFixed(1)} ms each with the making of it`,
    );
    expect(Object.fromEntries(wrong)).toEqual({});
    expect(slowest).toBeLessThan(EACH_MS);
    expect(user / 1000).toBeLessThan(MEAN_MS * COUNT + 5000);
    expect(collected() - before).toBeLessThan(GROWTH_ALLOWED);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    // Else it would be no test of what is listed.
    expect(kinds.get('listing')).toBeGreaterThan(COUNT / 5);
    expect(kinds.get('fault')).toBeGreaterThan(COUNT / 50);
    expect(items).toHaveLength(kinds.get('listing') ?? 0);
  });

  describe('on the page, in a browser', () => {
    let browser: Browser;
    let server: PageServer;
    let origin: string;
    const asked: string[] = [];

    beforeAll(async () => {
      server = await serve(items, asked);
      origin = server.url;
      browser = await Browser.start(1000, 800);
      await browser.watchRequests();
      await browser.open(`${origin}/discovery`);
    });
    afterAll(async () => {
      await browser.stop();
      server.stop();
    });

    it('execute nothing, link to the web alone, load nothing, and turn nothing around', async () => {
      const pages = Math.ceil(items.length / CARDS_OF_A_PAGE);
      for (let page = 1; page <= pages; page += 1) {
        const shown = Math.min(items.length, page * CARDS_OF_A_PAGE);
        await browser.until(`${SHOWN} === ${shown} || document.querySelector('.error') !== null`);
        if (page < pages) await browser.evaluate(GO_ON);
      }
      expect(await browser.evaluate(FINDINGS)).toEqual([]);
      expect(await browser.evaluate('typeof globalThis.hit')).toBe('undefined');
      expect(browser.complaints).toEqual([]);
      expect(browser.requests.filter((url) => !url.startsWith(`${origin}/`))).toEqual([]);
      expect(asked.length).toBe(pages);
      expect(JSON.stringify(asked)).not.toContain(ELSEWHERE);
    });
  });
});

/** Through the learner, each paid to a payee of its own; what a list says of them then. */
async function learn(listings: readonly Listing[]): Promise<readonly unknown[]> {
  const notes = new MemoryDeclarationNotes();
  const catalogue = new MemoryCatalogue();
  const troubles: unknown[] = [];
  const payees = listings.map((_, nth): Address => `0x${(nth + 1).toString(16).padStart(40, '0')}`);
  for (const [nth, listing] of listings.entries()) {
    const id = `${nth}`;
    await notes.note({ chainId: 56, id }, { tag: id, content: JSON.stringify({ listing }) });
    catalogue.history.set(id, aPaid({ payTo: payees[nth] ?? '0x' }));
  }
  const indexer = new CatalogueIndexer(
    notes,
    catalogue,
    { link: () => Promise.resolve() },
    { ledgerChainIds: [56] },
    { expiryMs: 86_400_000 * 10_000 },
    { now: () => Date.now(), steady: () => 0, sleep: () => Promise.resolve() },
    { info: () => undefined, error: (trouble: unknown) => troubles.push(trouble) },
  );
  await indexer.round();
  expect(troubles).toEqual([]);
  expect(await notes.read(56, undefined, 9)).toEqual([]);
  const entries = await catalogue.page({ since: new Date(0) }, { offset: 0 }, listings.length);
  expect(new Set(entries.map(({ payTo }) => payTo))).toEqual(new Set(payees));
  return entries.map(itemOf);
}

/** The page as it is served, over these items. @param asked - where lists go that were asked for. */
function serve(items: readonly unknown[], asked: string[]): Promise<PageServer> {
  const page = new DiscoveryPageController();
  return PageServer.start((app) => {
    app.get('/discovery/resources', (request, response) => {
      asked.push(request.url);
      const from = Number(request.query['cursor'] ?? 0);
      const next = from + CARDS_OF_A_PAGE;
      response.json({
        items: items.slice(from, next),
        pagination: next < items.length ? { nextCursor: String(next) } : {},
      });
    });
    app.get('/discovery/status', (_request, response) => void response.json({ code: 'unknown' }));
    app.get('/v2/assets', (_request, response) => void response.json({ assets: [] }));
    app.get('/supported', (_request, response) => void response.json({ kinds: [] }));
    app.get('/discovery', (request, response) => {
      showPage(request, response, page.page());
    });
  });
}

// ------------------------------------------------------------------ in the page

const SHOWN = `document.querySelectorAll('article').length`;
const GO_ON = `document.getElementById('more').click()`;

/** Problems of the page that is shown, everything opened. */
const FINDINGS = String.raw`(() => {
  const found = document.getElementById('found');
  found.querySelectorAll('details').forEach((one) => { one.open = true });
  const findings = [];
  if (document.querySelector('.error') !== null) findings.push('it did not work');
  const alien = found.querySelector('img, script, iframe, object, embed, link, base, form, svg, style, video, audio, input, button');
  if (alien !== null) findings.push('an element: ' + alien.outerHTML);
  const ALLOWED = ['class', 'href', 'rel', 'target', 'datetime', 'tabindex', 'dir', 'aria-label', 'open'];
  for (const one of found.querySelectorAll('*')) {
    for (const { name } of one.attributes) if (!ALLOWED.includes(name)) findings.push('an attribute: ' + name);
  }
  for (const { protocol, rel, username } of found.querySelectorAll('a')) {
    if (!['http:', 'https:'].includes(protocol) || username !== '' || rel !== 'noopener noreferrer nofollow ugc')
      findings.push('a link: ' + protocol + ' ' + rel);
  }
  if (/[\p{Cs}\u0000-\u0008\u000e-\u001f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(found.textContent))
    findings.push('what turns text around, or is not seen');
  // Letters that run to the left have to be kept apart from what stands beside them.
  const walker = document.createTreeWalker(found, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (!/[\u0590-\u08ff]/.test(node.data)) continue;
    const apart = node.parentElement.closest('bdi, pre');
    const kept = apart && getComputedStyle(apart);
    if (!kept || !(kept.unicodeBidi.startsWith('isolate') || kept.unicodeBidi === 'plaintext' || kept.display === 'block'))
      findings.push('text that is not kept apart: ' + node.parentElement.outerHTML.slice(0, 200));
  }
  return findings.slice(0, 5);
})()`;
