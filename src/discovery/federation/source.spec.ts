import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../../platform/concurrency/clock.builder.js';
import { FetchError } from '../../platform/fetch/safe-fetch.js';
import { AnswerCache } from './answer-cache.js';
import { ANSWER_MS, Source, type SourceAnswer } from './source.js';
import { aForeignItem, at, FakeSources } from './sources.builder.js';

const HOST = 'other.example.com';
const list = (offset = 0, most = 50) => ({
  ...{ path: 'resources' as const, most },
  parameters: { limit: String(most), offset: String(offset) },
});
const resourcesOf = (answer: SourceAnswer | undefined) =>
  answer?.entries.map((entry) => entry?.listing.resource);

describe('another catalogue', () => {
  let clock: TestClock;
  let others: FakeSources;
  let source: Source;
  let told: string[];

  beforeEach(() => {
    clock = new TestClock();
    others = new FakeSources();
    told = [];
    const bounds = { keptMs: 10_000, maxBytes: 100_000, maxAnswers: 3 };
    source = new Source(
      { name: 'other', url: `https://${HOST}/x402` },
      {
        ...{ fetcher: others, clock, cache: new AnswerCache(bounds, () => clock.steady()) },
        observer: {
          paused: (name) => told.push(`${name} paused`),
          recovered: (name) => told.push(`${name} recovered`),
        },
      },
    );
  });

  it('is asked for what it has of its own', async () => {
    others.lists(HOST, [aForeignItem('a'), null, aForeignItem('b')]);
    const answer = await source.ask(list());
    expect(resourcesOf(answer)).toEqual([at('a'), undefined, at('b')]);
    expect(answer?.total).toBe(3);
    expect(others.asked.map(String)).toEqual([
      `https://${HOST}/x402/discovery/resources?limit=50&offset=0&sources=own`,
    ]);
    expect(others.headers).toEqual([{ accept: 'application/json', 'x402-sources': 'own' }]);
  });

  it('is asked once for those who ask the same within seconds', async () => {
    others.lists(HOST, [aForeignItem('a')]);
    await Promise.all([source.ask(list()), source.ask(list())]);
    await source.ask(list());
    expect(others.asked).toHaveLength(1);
    await clock.pass(10_000);
    await source.ask(list());
    expect(others.asked).toHaveLength(2);
  });

  it.each<[string, unknown]>([
    ['no JSON', Buffer.from('<html>')],
    ['a text', 'items'],
    ['no list', { items: { length: 5 } }],
    ['nothing', null],
    ['an error', new FetchError('fetch_failed', 'The server could not be reached.')],
    ['a fault', new TypeError('odd')],
  ])('has not answered where it answers %s', async (_, said) => {
    others.answers(HOST, () => said);
    expect(await source.ask(list())).toBeUndefined();
  });

  it.each([
    { status: 500 },
    { status: 304 },
    { isCutOff: true },
    { headers: { 'content-encoding': 'gzip' } },
    { url: 'http://elsewhere.example.com/' },
  ])('has not answered with %j', async (more) => {
    const body = Buffer.from(JSON.stringify({ items: [aForeignItem('a')] }));
    const fetcher = {
      fetch: () =>
        Promise.resolve({
          ...{ url: `https://${HOST}/`, status: 200, headers: {}, body, isCutOff: false },
          ...more,
        }),
    };
    const bounds = { keptMs: 0, maxBytes: 0, maxAnswers: 0 };
    const cache = new AnswerCache<SourceAnswer>(bounds, () => 0);
    const observer = { paused: () => undefined, recovered: () => undefined };
    const one = new Source(
      { name: 'other', url: `https://${HOST}` },
      { fetcher, cache, clock, observer },
    );
    expect(await one.ask(list())).toBeUndefined();
  });

  it('holds nobody longer than its time', async () => {
    others.answers(HOST, () => new Promise(() => undefined));
    const begun = performance.now();
    expect(await source.ask(list())).toBeUndefined();
    expect(performance.now() - begun).toBeGreaterThanOrEqual(ANSWER_MS - 50);
  });

  it('is left alone a while after it has failed several times', async () => {
    let isAway = true;
    others.answers(HOST, () => (isAway ? new Error('away') : { items: [aForeignItem('a')] }));
    for (let n = 0; n < 6; n += 1) expect(await source.ask(list())).toBeUndefined();
    expect([others.asked.length, told]).toEqual([3, ['other paused']]);
    isAway = false;
    expect(await source.ask(list())).toBeUndefined();
    await clock.pass(30_000);
    expect(resourcesOf(await source.ask(list()))).toEqual([at('a')]);
    expect(told).toEqual(['other paused', 'other recovered']);
  });

  it('is not asked without end by those who ask something new each time', async () => {
    others.lists(HOST, []);
    for (let n = 0; n < 30; n += 1) await source.ask(list(n));
    expect(others.asked).toHaveLength(20);
    await clock.pass(1000);
    for (let n = 100; n < 130; n += 1) await source.ask(list(n));
    expect(others.asked).toHaveLength(23);
  });

  it('is asked a few questions at a time', async () => {
    others.answers(HOST, () => new Promise(() => undefined));
    const asking = Array.from({ length: 8 }, (_, n) => source.ask(list(n)));
    expect(await Promise.all(asking.slice(4))).toEqual(Array.from({ length: 4 }, () => undefined));
    expect(others.asked).toHaveLength(4);
    await Promise.all(asking);
  });

  it('is read no further than it was asked', async () => {
    others.answers(HOST, () => ({ items: Array.from({ length: 10_000 }, () => 0) }));
    expect((await source.ask(list(0, 50)))?.entries).toHaveLength(50);
  });
});

describe('answers that are kept', () => {
  it('give way to newer ones by their number and their bytes, and to time', () => {
    let now = 0;
    const cache = new AnswerCache<string>({ keptMs: 10, maxBytes: 10, maxAnswers: 2 }, () => now);
    const kept = () => ['a', 'b', 'c'].map((name) => cache.get(name));
    cache.set('a', 'A', 1);
    cache.set('b', 'B', 1);
    cache.set('c', 'C', 1);
    expect(kept()).toEqual([undefined, 'B', 'C']);
    cache.set('b', 'B', 10);
    expect(kept()).toEqual([undefined, 'B', undefined]);
    cache.set('c', 'C', 11);
    expect(kept()).toEqual([undefined, undefined, undefined]);
    cache.set('a', 'A', 5);
    now = 10;
    expect(kept()).toEqual([undefined, undefined, undefined]);
    cache.set('c', 'C', 10);
    expect(kept()).toEqual([undefined, undefined, 'C']);
  });
});
