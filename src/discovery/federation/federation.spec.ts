import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../../platform/concurrency/clock.builder.js';
import type { CatalogueFilter } from '../catalogue.js';
import { OTHER_PAYEE, OTHER_TOKEN, PAYEE, TOKEN } from '../lesson.builder.js';
import { type FederatedPage, Federation, type ForeignPlace } from './federation.js';
import { aForeignItem, aForeignOffer, FakeSources } from './sources.builder.js';

const [ONE, TWO] = ['one.example.com', 'two.example.com'];
const SOURCES = [
  { name: 'one', url: `https://${ONE}` },
  { name: 'two', url: `https://${TWO}` },
];

describe('other catalogues', () => {
  let others: FakeSources;
  let clock: TestClock;
  let withheld: (place: ForeignPlace) => boolean;

  const over = (sources = SOURCES) =>
    new Federation({
      ...{ sources, fetcher: others, clock },
      observer: { paused: () => undefined, recovered: () => undefined },
      places: {
        withheld: (places) =>
          Promise.resolve(new Set(places.flatMap((place, n) => (withheld(place) ? [n] : [])))),
      },
    });
  let federation: Federation;

  beforeEach(() => {
    [others, clock, withheld] = [new FakeSources(), new TestClock(), () => false];
    others.lists(ONE, []);
    others.lists(TWO, []);
    federation = over();
  });

  interface Asked extends Partial<CatalogueFilter> {
    readonly start?: string;
    readonly text?: string;
  }
  async function page(
    most = 10,
    { start = federation.beginning, text, ...filter }: Asked = {},
  ): Promise<FederatedPage> {
    const question = { filter: { since: new Date(0), ...filter }, text };
    const found = await federation.page(question, start, most);
    if (found === undefined) throw new Error('no cursor');
    return found;
  }
  const namesOf = ({ entries }: FederatedPage) =>
    entries.map(({ source, listing }) => `${source} ${listing.resource.split('/').at(-1) ?? ''}`);
  async function pages(most: number, more: Asked = {}): Promise<string[][]> {
    const read: string[][] = [];
    for (let start: string | undefined = federation.beginning; start !== undefined;) {
      const found: FederatedPage = await page(most, { ...more, start });
      read.push(namesOf(found));
      start = found.next;
      if (read.length > 100) throw new Error('there is no end');
    }
    return read;
  }

  it('are read in turn, each entry once, page by page', async () => {
    others.lists(
      ONE,
      ['a', 'b', 'c', 'd'].map((name) => aForeignItem(name)),
    );
    others.lists(
      TWO,
      ['x', 'y'].map((name) => aForeignItem(name)),
    );
    expect(await pages(3)).toEqual([
      ['one a', 'two x', 'one b'],
      ['one c', 'two y', 'one d'],
    ]);
  });

  it('are read to their ends, though they give less than they are asked for', async () => {
    const items = Array.from({ length: 45 }, (_, n) => aForeignItem(n));
    others.answers(ONE, (url) => {
      const offset = Number(url.searchParams.get('offset'));
      return { items: items.slice(offset, offset + 20) };
    });
    const read = await pages(100);
    expect(read.flat()).toEqual(items.map((_, n) => `one ${n}`));
    expect(read.map(({ length }) => length)).toEqual([20, 20, 5, 0]);
  });

  it('end, though one answers the same for ever', async () => {
    const items = Array.from({ length: 10_000 }, (_, n) => aForeignItem(n));
    others.answers(ONE, () => ({ items, pagination: { total: 1e9 } }));
    const asking = pages(100);
    // Each page would be asked at once else.
    const done = asking.then(() => true);
    while (!(await Promise.race([done, clock.pass(1000)]))) continue;
    expect((await asking).length).toBeLessThan(30);
  });

  it('have an entry that several name once, of the first of them', async () => {
    others.lists(ONE, [aForeignItem('same')]);
    others.lists(TWO, [aForeignItem('same'), aForeignItem('other')]);
    expect(namesOf(await page())).toEqual(['one same', 'two other']);
  });

  it('replace nothing of ours, offer by offer', async () => {
    withheld = ({ payTo }) => payTo === PAYEE;
    const accepts = [aForeignOffer(), aForeignOffer({ payTo: OTHER_PAYEE })];
    others.lists(ONE, [aForeignItem('ours'), aForeignItem('both', { accepts })]);
    const found = await page();
    expect(namesOf(found)).toEqual(['one both']);
    expect(found.entries[0]?.offers.map(({ payTo }) => payTo)).toEqual([OTHER_PAYEE]);
  });

  it('are held against what was asked for, whatever they answer', async () => {
    const item = (name: string, more: object) =>
      aForeignItem(name, { accepts: [aForeignOffer(), aForeignOffer({ ...more })] });
    others.lists(ONE, [
      ...[item('payee', { payTo: OTHER_PAYEE }), item('chain', { network: 'eip155:97' })],
      ...[item('asset', { asset: OTHER_TOKEN }), item('scheme', { scheme: 'upto' })],
      item('cheap', { amount: '1' }),
    ]);
    const named = async (filter: Partial<CatalogueFilter>) => {
      await clock.pass(60_000);
      return namesOf(await page(10, filter));
    };
    expect(await named({ payTo: OTHER_PAYEE })).toEqual(['one payee']);
    expect(await named({ chainId: 97 })).toEqual(['one chain']);
    expect(await named({ asset: OTHER_TOKEN })).toEqual(['one asset']);
    expect(await named({ scheme: 'upto' })).toEqual(['one scheme']);
    expect(await named({ asset: TOKEN, maxAmount: 5n })).toEqual(['one cheap']);
    expect(await named({ type: 'mcp' })).toEqual([]);
    expect(await named({ x402Version: 1 })).toEqual([]);
    const [, asked] = others.asked.filter(({ host }) => host === ONE);
    expect(asked?.search).toContain('network=eip155%3A97');
    const { entries } = await page(10, { chainId: 97 });
    expect(entries[0]?.offers.map(({ chainId }) => chainId)).toEqual([97, 56]);
  });

  it('are searched for their best alone', async () => {
    const items = Array.from({ length: 30 }, (_, n) => aForeignItem(n));
    others.answers(ONE, ({ searchParams }) => ({
      resources: searchParams.get('query') === 'weather' ? items : [],
    }));
    const read = await pages(12, { text: 'weather' });
    expect(read.map(({ length }) => length)).toEqual([12, 8]);
    expect(new Set(read.flat()).size).toBe(20);
    expect(others.asked.filter(({ host }) => host === ONE)).toHaveLength(1);
  });

  it('are partial while one does not answer, and the other is read on', async () => {
    others.answers(ONE, () => new Error('away'));
    others.lists(
      TWO,
      ['x', 'y'].map((name) => aForeignItem(name)),
    );
    const first = await page(1);
    expect([namesOf(first), first.isPartial]).toEqual([['two x'], true]);
    others.lists(ONE, [aForeignItem('a')]);
    const second = await page(5, { start: first.next ?? '' });
    expect([namesOf(second), second.isPartial, second.next]).toEqual([
      ...[['one a', 'two y'], false, undefined],
    ]);
  });

  it('end where none of them answers', async () => {
    for (const host of [ONE, TWO]) others.answers(host, () => new Error('away'));
    expect(await page()).toEqual({ entries: [], next: undefined, isPartial: true });
  });

  it('are gone on with by a cursor of these alone', async () => {
    const question = { filter: { since: new Date(0) }, text: undefined };
    const cursor = federation.beginning;
    const reversed = over([...SOURCES].reverse());
    const tag = cursor.split('.')[0] ?? '';
    for (const text of ['', tag, `${tag}.0`, `${tag}.0.0.0`, `${tag}.0.-1`, `${tag}.0.1001`]) {
      expect(await federation.page(question, text, 1)).toBeUndefined();
    }
    expect(await federation.page(question, `${tag}.01.0`, 1)).toBeUndefined();
    expect(await reversed.page(question, cursor, 1)).toBeUndefined();
    expect(others.asked).toEqual([]);
    expect(await federation.page(question, `${tag}.1000.-`, 1)).toBeDefined();
  });
});
