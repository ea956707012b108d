import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import type {
  CatalogueFilter,
  CatalogueReader,
  CatalogueWriter,
  PageStart,
} from '../../../src/discovery/catalogue.js';
import type { Statement } from '../../../src/discovery/owned/statement.js';
import type { StatementStore } from '../../../src/discovery/owned/statements.js';
import type { Listing } from '../../../src/protocol/listing/listing.js';
import {
  aLesson,
  aPaid,
  NOON,
  OTHER_PAYEE,
  OTHER_TOKEN,
  PAYEE,
  RESOURCE,
  TOKEN,
} from '../../builders/discovery/catalogue-update.js';

interface CatalogueUnderTest {
  readonly writer: CatalogueWriter;
  readonly reader: CatalogueReader;
  readonly statements: StatementStore;
  deny(kind: 'payee' | 'host', value: string): Promise<void>;
}

const ALL: CatalogueFilter = { since: new Date(0) };
const FIRST: PageStart = { offset: 0 };
const at = (name: string): string => `https://shop.example.com/${name}`;

/** What every catalogue promises, in memory or in PostgreSQL. */
export function catalogueContract(
  name: string,
  make: (entriesPerPayee: number) => Promise<CatalogueUnderTest>,
): void {
  describe(`a catalogue, ${name}`, () => {
    let one: CatalogueUnderTest;
    beforeEach(async () => {
      one = await make(3);
    });

    const update = (...lessons: Parameters<CatalogueWriter['update']>[0]) =>
      one.writer.update(lessons);
    const page = (filter: Partial<CatalogueFilter> = {}, start = FIRST, most = 10) =>
      one.reader.page({ ...ALL, ...filter }, start, most);
    const resources = async (filter: Partial<CatalogueFilter> = {}) =>
      (await page(filter)).map(({ listing }) => listing.resource);
    const codes = async (resource: string, since = new Date(0), payTo?: Address) =>
      (await one.reader.listingStates({ resource, payTo }, since)).map(({ code }) => code);

    it('has what was learnt, once, however often', async () => {
      const lesson = aLesson({ description: 'Weather' });
      expect(await update(lesson)).toEqual({ listed: 1, refused: 0 });
      await update(lesson, lesson);
      const [entry, ...others] = await page();
      expect(others).toEqual([]);
      expect(entry).toMatchObject({
        chainId: 56,
        payTo: PAYEE,
        otherPayees: 0,
        listing: 'listing' in lesson.declared ? lesson.declared.listing : undefined,
        offers: [
          {
            scheme: 'exact',
            asset: TOKEN,
            amount: '1000',
            offer: { maxTimeoutSeconds: 300, extra: { name: 'USD', version: '2' } },
          },
        ],
        lastPaidAt: new Date(NOON + 1000),
      });
      expect(await one.reader.count(ALL)).toBe(1);
    });

    it('shows what was declared last, whatever is learnt last', async () => {
      await update(aLesson({ description: 'new' }, { at: NOON + 5000 }));
      await update(aLesson({ description: 'old' }, { at: NOON }));
      const [entry] = await page();
      expect(entry?.listing.description).toBe('new');
      expect([entry?.firstPaidAt, entry?.lastPaidAt]).toEqual([
        new Date(NOON + 1000),
        new Date(NOON + 6000),
      ]);
      await update(aLesson({ description: 'newest' }, { at: NOON + 9000 }));
      expect((await page())[0]?.listing.description).toBe('newest');
    });

    it('leaves each payee its own entry, and marks a place that several are paid for', async () => {
      await update(aLesson({ description: 'mine' }));
      await update(aLesson({ description: 'stolen' }, { payTo: OTHER_PAYEE, at: NOON + 1 }));
      await update(aLesson({ description: 'elsewhere' }, { chainId: 97, at: NOON + 2 }));
      const found = await page();
      expect(
        found.map(({ payTo, chainId, listing, otherPayees }) => [
          payTo,
          chainId,
          listing.description,
          otherPayees,
        ]),
      ).toEqual([
        [PAYEE, 97, 'elsewhere', 1],
        [OTHER_PAYEE, 56, 'stolen', 1],
        [PAYEE, 56, 'mine', 1],
      ]);
    });

    it('tells calls of one URL apart', async () => {
      const tool = { type: 'mcp', resource: 'mcp://tool/a' } as const;
      await update(
        aLesson(),
        aLesson({ method: 'POST' }),
        aLesson({ ...tool, toolName: 'b' }, { payTo: OTHER_PAYEE }),
        aLesson({ ...tool, toolName: 'c' }, { payTo: OTHER_PAYEE }),
      );
      expect(await one.reader.count(ALL)).toBe(4);
      expect(await one.reader.count({ ...ALL, type: 'mcp' })).toBe(2);
    });

    it('has the newest offer of each kind', async () => {
      await update(
        aLesson({}, { amount: 5n, at: NOON }),
        aLesson({}, { amount: 7n, at: NOON + 1 }),
        aLesson({}, { amount: 9n, asset: OTHER_TOKEN, at: NOON + 2 }),
      );
      await update(aLesson({}, { amount: 6n, at: NOON - 1 }));
      const [entry] = await page();
      expect(entry?.offers.map(({ asset, amount }) => [asset, amount])).toEqual([
        [OTHER_TOKEN, '9'],
        [TOKEN, '7'],
      ]);
    });

    it('is asked by all that an entry is', async () => {
      await update(
        aLesson({ resource: at('a') }, { amount: 5n, at: NOON + 3000 }),
        aLesson({ resource: at('b'), x402Version: 1 }, { payTo: OTHER_PAYEE, at: NOON + 2000 }),
        aLesson(
          { resource: at('c') },
          { chainId: 97, scheme: 'upto', asset: OTHER_TOKEN, at: NOON },
        ),
      );
      const [a, b, c] = [at('a'), at('b'), at('c')];
      expect(await resources()).toEqual([a, b, c]);
      expect(await resources({ payTo: OTHER_PAYEE })).toEqual([b]);
      expect(await resources({ chainId: 97 })).toEqual([c]);
      expect(await resources({ scheme: 'upto' })).toEqual([c]);
      expect(await resources({ asset: TOKEN })).toEqual([a, b]);
      expect(await resources({ asset: TOKEN, maxAmount: 999n })).toEqual([a]);
      expect(await resources({ scheme: 'upto', asset: TOKEN })).toEqual([]);
      expect(await resources({ x402Version: 1 })).toEqual([b]);
      expect(await resources({ since: new Date(NOON + 1500) })).toEqual([a, b]);
      expect(await resources({ type: 'mcp' })).toEqual([]);
    });

    it('is read page by page, each entry once', async () => {
      const names = ['a', 'b', 'c', 'd', 'e'];
      await update(
        ...names.map((letter) =>
          aLesson({ resource: at(letter) }, { payTo: `0x${letter.repeat(40)}` }),
        ),
      );
      const first = await page({}, FIRST, 2);
      const second = await page(
        {},
        { after: first[1]?.position ?? { score: 0, paidAt: 0, id: '' } },
        2,
      );
      const rest = await page({}, { offset: 4 }, 2);
      const read = [...first, ...second, ...rest].map(({ listing }) => listing.resource);
      expect(read.sort()).toEqual(names.map(at));
    });

    it('finds words of names, places and descriptions', async () => {
      await update(
        aLesson({ resource: at('a'), description: 'Weather of every city', tags: ['forecast'] }),
        aLesson({ resource: at('stocks/today'), serviceName: 'Ticker' }),
      );
      const found = async (text: string) => {
        const answer = await one.reader.search(ALL, text, { offset: 0 }, 10);
        return answer === 'unreadable'
          ? answer
          : answer.entries.map(({ listing }) => listing.resource);
      };
      for (const text of ['weather', 'forecast', 'city'])
        expect(await found(text)).toEqual([at('a')]);
      for (const text of ['stocks', 'ticker'])
        expect(await found(text)).toEqual([at('stocks/today')]);
      expect(await found('nothing of the kind')).toEqual([]);
    });

    it.each([
      '-'.repeat(40),
      '- '.repeat(200),
      '"'.repeat(400),
      '-"'.repeat(200),
      '!!! & | <->',
      '('.repeat(400),
      '\\'.repeat(400),
      ' - ',
    ])('says that it cannot read %j as a question', async (text) => {
      expect(await one.reader.search(ALL, text, { offset: 0 }, 10)).toBe('unreadable');
    });

    it.each([
      'a'.repeat(400),
      '天'.repeat(400),
      'a-'.repeat(199) + 'b',
      '-a '.repeat(133),
      'or '.repeat(133),
      '"a '.repeat(133),
      'a\ud800',
      'a@'.repeat(200),
    ])('reads %j, which nothing fits', async (text) => {
      expect(await one.reader.search(ALL, text, { offset: 0 }, 10)).toMatchObject({ entries: [] });
    });

    it('says why something is not listed, until it is', async () => {
      const refused = {
        paid: aPaid(),
        declared: { code: 'input_method', path: 'a.b', resource: RESOURCE },
      } as const;
      expect(await update(refused)).toEqual({ listed: 0, refused: 1 });
      expect(await one.reader.listingStates({ resource: RESOURCE }, new Date(0))).toEqual([
        {
          chainId: 56,
          payTo: PAYEE,
          resource: RESOURCE,
          call: undefined,
          code: 'input_method',
          path: 'a.b',
          at: new Date(NOON + 1000),
        },
      ]);
      await update(aLesson({}, { at: NOON + 10 }));
      expect(await codes(RESOURCE)).toEqual(['listed']);
      expect(await codes(RESOURCE, new Date(NOON + 5000))).toEqual(['expired']);
      expect(await codes(RESOURCE, new Date(0), OTHER_PAYEE)).toEqual([]);
      expect(await codes(at('unknown'))).toEqual([]);
    });

    it('finds what became of a URL that a template stands for', async () => {
      const template = { resource: at('weather/:city'), exampleUrl: at('weather/berlin') };
      await update(aLesson(template));
      expect(await codes(template.exampleUrl)).toEqual(['listed']);
      expect(await codes(template.resource)).toEqual(['listed']);
    });

    describe('of a template that was bought by several URLs', () => {
      const of = (city: string, more: Partial<Listing> = {}): Partial<Listing> => ({
        resource: at('weather/:city'),
        exampleUrl: at(`weather/${city}`),
        ...more,
      });

      it('finds all that it stands for, and nothing else', async () => {
        await update(aLesson(of('berlin')));
        await update(aLesson(of('paris'), { at: NOON + 1 }));
        for (const city of ['berlin', 'paris', 'never-bought', ':city', 'a%20b']) {
          expect([city, await codes(at(`weather/${city}`))]).toEqual([city, ['listed']]);
        }
        for (const url of [
          at('weather/'),
          at('weather'),
          at('weather/berlin/now'),
          at('Weather/berlin'),
          at('weatherxberlin'),
          'http://shop.example.com/weather/berlin',
          'https://other.example.com/weather/berlin',
        ]) {
          expect([url, await codes(url)]).toEqual([url, []]);
        }
      });

      it('takes signs of its name as they are', async () => {
        await update(
          aLesson({ resource: at('a_b/%25/:id.json'), exampleUrl: at('a_b/%25/1.json') }),
        );
        expect(await codes(at('a_b/%25/77.json'))).toEqual(['listed']);
        for (const url of [at('axb/%25/1.json'), at('a_b/x/1.json'), at('a_b/%25/1xjson')]) {
          expect([url, await codes(url)]).toEqual([url, []]);
        }
      });

      it('keeps the newest few of them', async () => {
        const cities = ['a', 'b', 'c', 'd', 'e', 'f', 'e'];
        for (const [index, city] of cities.entries()) {
          await update(aLesson(of(city), { at: NOON + index }));
        }
        const [entry] = await page();
        expect(entry?.listing.exampleUrl).toBe(at('weather/e'));
        expect(entry?.listing.exampleUrls).toEqual(
          ['e', 'f', 'd', 'c', 'b'].map((city) => at(`weather/${city}`)),
        );
      });

      it('takes no URL with a colon for one', async () => {
        await update(aLesson({ resource: at('models/one:predict') }));
        expect(await codes(at('models/one:predict'))).toEqual(['listed']);
        expect(await codes(at('models/oneself'))).toEqual([]);
      });

      it('says of each why it is not listed', async () => {
        const resource = at('weather/:city');
        await update({
          paid: aPaid(),
          declared: { code: 'asset_not_known', path: 'a', resource, isTemplate: true },
        });
        expect(await codes(at('weather/paris'))).toEqual(['asset_not_known']);
        await update(aLesson(of('berlin'), { at: NOON + 1 }));
        expect(await codes(at('weather/paris'))).toEqual(['listed']);
        await one.statements.write(aStatement({ resource }));
        expect(await codes(at('weather/paris'))).toEqual(['removed']);
        await one.statements.write(aStatement({ resource, issuedAt: NOON + 1 }));
        expect(await codes(at('weather/paris'))).toEqual(['removed']);
        await one.deny('host', 'shop.example.com');
        await update(aLesson(of('rome', { method: 'POST' }), { at: NOON + 2 }));
        expect(new Set(await codes(at('weather/rome')))).toEqual(new Set(['denied', 'removed']));
      });
    });

    it('has so many entries of a payee, and goes on to learn of those', async () => {
      await update(...['a', 'b', 'c'].map((letter) => aLesson({ resource: at(letter) })));
      expect(await update(aLesson({ resource: at('d') }))).toEqual({ listed: 0, refused: 1 });
      expect(await codes(at('d'))).toEqual(['payee_quota']);
      await update(aLesson({ resource: at('a'), description: 'again' }, { at: NOON + 1 }));
      expect((await page())[0]?.listing.description).toBe('again');
      expect(await update(aLesson({ resource: at('d') }, { payTo: OTHER_PAYEE }))).toEqual({
        listed: 1,
        refused: 0,
      });
    });

    it('does not show, and does not take, what the operator denies', async () => {
      await update(
        aLesson(),
        aLesson({ resource: 'https://other.example.com/' }, { payTo: OTHER_PAYEE }),
      );
      await one.deny('payee', PAYEE);
      await one.deny('host', 'other.example.com');
      expect([await resources(), await one.reader.count(ALL)]).toEqual([[], 0]);
      expect(await codes(RESOURCE)).toEqual(['denied']);
      expect(await update(aLesson({ resource: at('new') }))).toEqual({ listed: 0, refused: 1 });
      expect(await codes(at('new'))).toEqual(['denied']);
    });

    describe('of which payees have a say', () => {
      it('keeps what its payee takes back away, from every later payment, until it says otherwise', async () => {
        await update(aLesson());
        await update(aLesson({}, { payTo: OTHER_PAYEE }));
        expect(await one.statements.write(aStatement())).toBe('written');
        expect((await page()).map(({ payTo }) => payTo)).toEqual([OTHER_PAYEE]);
        expect(await update(aLesson({}, { at: NOON + 1 }))).toEqual({ listed: 0, refused: 1 });
        expect(await codes(RESOURCE, new Date(0), PAYEE)).toEqual(['removed']);
        const restore = aStatement({ action: 'restore', issuedAt: NOON + 1000 });
        expect(await one.statements.write(restore)).toBe('written');
        expect(await codes(RESOURCE, new Date(0), PAYEE)).toEqual([]);
        expect(await update(aLesson({}, { at: NOON + 2 }))).toEqual({ listed: 1, refused: 0 });
        expect(await codes(RESOURCE, new Date(0), PAYEE)).toEqual(['listed']);
      });

      it('lists again what was taken back for a time that is over', async () => {
        await update(aLesson());
        await one.statements.write(aStatement({ endsAt: NOON - 900_000_000 }));
        expect(await resources()).toEqual([]);
        expect(await codes(RESOURCE)).toEqual([]);
        await update(aLesson({}, { at: NOON + 1 }));
        expect(await resources()).toEqual([RESOURCE]);
      });

      it('takes no statement twice, and none that was issued before another', async () => {
        await update(aLesson());
        expect(await one.statements.write(aStatement())).toBe('written');
        expect(await one.statements.write(aStatement())).toBe('stale');
        const older = aStatement({ action: 'restore', issuedAt: NOON - 1000 });
        expect(await one.statements.write(older)).toBe('stale');
        expect(await one.statements.standing(older)).toEqual({ lastIssuedAt: NOON });
        expect(await codes(RESOURCE)).toEqual(['removed']);
      });

      it('shows the words of the payee, whatever is declared then, and finds them', async () => {
        await update(aLesson({ description: 'Scam', serviceName: 'Weather' }));
        const words = { description: 'Forecasts', tags: ['sky'] };
        await one.statements.write(aStatement({ action: 'correct', words }));
        await update(aLesson({ description: 'Scam again', serviceName: 'Wx' }, { at: NOON + 5 }));
        const [entry] = await page();
        expect(entry?.listing).toMatchObject({ ...words, serviceName: 'Wx' });
        const found = await one.reader.search(ALL, 'forecasts', { offset: 0 }, 9);
        expect(found).toMatchObject({ entries: [{ payTo: PAYEE }] });
        await one.statements.write(aStatement({ action: 'restore', issuedAt: NOON + 1000 }));
        await update(aLesson({ description: 'Declared' }, { at: NOON + 9 }));
        expect((await page())[0]?.listing.description).toBe('Declared');
      });

      it('knows no entry of another payee, chain, resource or call', async () => {
        await update(aLesson());
        const others: readonly Partial<Statement>[] = [
          { payTo: OTHER_PAYEE },
          { chainId: 97 },
          { resource: at('x') },
          { call: 'POST' },
          { type: 'mcp' },
        ];
        for (const other of others) {
          expect(await one.statements.write(aStatement(other))).toBe('unknown');
          expect(await one.statements.standing(aStatement(other))).toBeUndefined();
        }
        expect(await resources()).toEqual([RESOURCE]);
      });
    });

    it('forgets what was not paid for since', async () => {
      await update(
        aLesson({ resource: at('old') }),
        aLesson({ resource: at('new') }, { at: NOON + 9000 }),
      );
      await update({ paid: aPaid(), declared: { code: 'tool_name' } });
      await one.writer.forget(new Date(NOON + 5000));
      expect(await resources()).toEqual([at('new')]);
      expect([await codes(at('old')), await codes('')]).toEqual([[], []]);
    });
  });
}

/** Of the payee of {@link aLesson}, that it takes the entry back. */
function aStatement(more: Partial<Statement> = {}): Statement {
  return {
    chainId: 56,
    payTo: PAYEE,
    type: 'http',
    resource: RESOURCE,
    call: 'GET',
    action: 'remove',
    words: {},
    issuedAt: NOON,
    endsAt: undefined,
    ...more,
  };
}
