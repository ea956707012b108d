import { beforeEach, describe, expect, it } from '@jest/globals';
import { ArchiveError } from '../../history/archive.js';
import { TestClock } from '../../platform/concurrency/clock.builder.js';
import {
  type FetchAnswer,
  FetchError,
  type FetchRequest,
} from '../../platform/fetch/safe-fetch.js';
import { aLesson, PAYEE } from '../lesson.builder.js';
import { MemoryCatalogue } from '../memory-catalogue.builder.js';
import { MemoryProbes } from './memory-probes.builder.js';
import { Prober } from './prober.js';

const HOUR = 3_600_000;
const PAGE = 'https://shop.example.com/weather';
const ROBOTS = 'https://shop.example.com/robots.txt';

type Answering = (wanted: FetchRequest, mayFollow: (to: URL) => boolean) => Partial<FetchAnswer>;

const sells = {
  status: 402,
  body: Buffer.from(
    JSON.stringify({ x402Version: 1, accepts: [{ network: 'bsc', payTo: PAYEE }] }),
  ),
};
const text = (body: string): Partial<FetchAnswer> => ({ status: 200, body: Buffer.from(body) });
const absent: Answering = () => ({ status: 404 });
const unreachable = (): never => {
  throw new FetchError('fetch_failed', 'It took too long.');
};

describe('the prober', () => {
  let catalogue: MemoryCatalogue;
  let clock: TestClock;
  let asked: FetchRequest[];
  let answers: Record<string, Answering>;
  let told: string[];
  let prober: Prober;

  beforeEach(async () => {
    catalogue = new MemoryCatalogue();
    clock = new TestClock();
    [asked, told] = [[], []];
    answers = { [PAGE]: () => sells };
    prober = proberOf(new MemoryProbes(catalogue));
    await catalogue.learn([aLesson()]);
  });

  const proberOf = (book: MemoryProbes): Prober =>
    new Prober({
      book,
      clock,
      fetcher: {
        fetch: (wanted, signal, allows) => {
          asked.push(wanted);
          if (signal.aborted) return Promise.reject(new FetchError('fetch_failed', 'Broken off.'));
          const answer = answers[wanted.url] ?? absent;
          const mayFollow = allows ?? (() => true);
          return Promise.resolve().then(() => ({
            url: wanted.url,
            status: 200,
            headers: {},
            body: Buffer.alloc(0),
            isCutOff: false,
            ...answer(wanted, mayFollow),
          }));
        },
        close: () => Promise.resolve(),
      },
      observer: {
        probed: (state) => told.push(state),
        troubled: () => told.push('troubled'),
        recovered: () => told.push('recovered'),
      },
    });
  const urls = () => asked.map(({ url }) => url);
  const probe = () => [...catalogue.probes.values()][0];
  async function stateAfter(answering: Record<string, Answering>) {
    answers = { ...answers, ...answering };
    await prober.round();
    return probe()?.state;
  }

  it('asks for robots.txt and the page, without payment or body, and notes what it sees', async () => {
    expect(await prober.round()).toBeGreaterThan(0);
    expect(asked).toEqual([
      { url: ROBOTS, method: 'GET', headers: { accept: '*/*' }, body: undefined },
      { url: PAGE, method: 'GET', headers: { accept: '*/*' }, body: undefined },
    ]);
    expect(probe()).toEqual({ state: 'alive', status: 402, at: new Date(clock.now()) });
    expect(told).toEqual(['alive']);
  });

  it('asks again a day later where it sold, sooner where not, and for rules once a day', async () => {
    answers[PAGE] = () => ({ status: 500 });
    const pages = () => urls().filter((url) => url === PAGE).length;
    const rules = () => urls().filter((url) => url === ROBOTS).length;
    for (let hour = 0; hour < 12; hour += 1) {
      await prober.round();
      await clock.pass(HOUR);
    }
    expect([pages(), rules(), probe()?.state]).toEqual([2, 1, 'not_402']);
    answers[PAGE] = () => sells;
    for (let hour = 0; hour < 25; hour += 1) {
      await prober.round();
      await clock.pass(HOUR);
    }
    expect([pages(), rules(), probe()?.state]).toEqual([4, 2, 'alive']);
  });

  it.each([
    ['forbids it', () => text('User-agent: *\nDisallow: /weather')],
    ['is out of order', () => ({ status: 503 })],
    ['says that it is asked too often', () => ({ status: 429 })],
    ['has its file at another host', () => ({ status: 301 })],
  ] as const)('does not ask a host that %s', async (_, answering) => {
    expect(await stateAfter({ [ROBOTS]: answering })).toBe('robots');
    expect(urls()).toEqual([ROBOTS]);
  });

  it('asks a host that forbids others, or everything to others', async () => {
    const robots = 'User-agent: *\nDisallow: /\n\nUser-agent: PaymentCatalogue\nDisallow: /private';
    expect(await stateAfter({ [ROBOTS]: () => text(robots) })).toBe('alive');
  });

  it('remembers rules that were read, and not that a host was out of order', async () => {
    await stateAfter({ [ROBOTS]: () => ({ status: 503 }) });
    await clock.pass(7 * HOUR);
    expect(await stateAfter({ [ROBOTS]: () => ({ status: 404 }) })).toBe('alive');
  });

  it.each([PAGE, ROBOTS])('says that nobody answers at %s', async (url) => {
    expect(await stateAfter({ [url]: unreachable })).toBe('unreachable');
  });

  it('follows redirects to the same host, and there not to what it may not ask for', async () => {
    const robots = 'User-agent: *\nDisallow: /private';
    let followed: readonly boolean[] = [];
    await stateAfter({
      [ROBOTS]: () => text(robots),
      [PAGE]: (_, mayFollow) => {
        const places = [
          'http://shop.example.com/weather',
          'https://shop.example.com/private/a',
          'https://www.shop.example.com/weather',
          'http://169.254.169.254/',
        ];
        followed = places.map((place) => mayFollow(new URL(place)));
        return sells;
      },
    });
    expect(followed).toEqual([true, false, false, false]);
  });

  it('is one of several processes that ask a host once', async () => {
    const book = new MemoryProbes(catalogue);
    await Promise.all([proberOf(book), proberOf(book), proberOf(book)].map((one) => one.round()));
    expect(urls().filter((url) => url === PAGE)).toHaveLength(1);
  });

  it('goes on with the others where one fails, and tells of trouble and its end', async () => {
    await catalogue.learn([aLesson({ resource: 'https://other.example.com/' })]);
    answers['https://other.example.com/'] = () => {
      throw new ArchiveError('database_unreachable', undefined);
    };
    expect(await prober.round()).toBeGreaterThan(1000);
    expect(told).toEqual(['alive', 'troubled']);
    await prober.round();
    expect(told).toEqual(['alive', 'troubled', 'recovered']);
  });

  it('notes nothing of what it has to break off', async () => {
    await prober.stop();
    await prober.round();
    expect([probe(), told]).toEqual([undefined, []]);
  });
});
