import { beforeEach, describe, expect, it } from '@jest/globals';
import type { CatalogueReader, CatalogueWriter } from '../catalogue.js';
import { aLesson, NOON, OTHER_PAYEE, PAYEE } from '../lesson.builder.js';
import type { ProbeState } from './probe.js';
import { HOST_FORGOTTEN_MS, HOST_PAUSE_MS, type ProbeBook, type Visit } from './probe-book.js';

export interface ProbesUnderTest {
  readonly catalogue: Pick<CatalogueWriter, 'learn' | 'forget'> &
    Pick<CatalogueReader, 'page' | 'standings'>;
  readonly probes: ProbeBook;
  deny(kind: 'payee' | 'host', value: string): Promise<void>;
}

const HOUR = HOST_PAUSE_MS;
const shop = (path: string): string => `https://shop.example.com/${path}`;

/** What every book of probes promises, in memory or in PostgreSQL. */
export function probesContract(name: string, make: () => Promise<ProbesUnderTest>): void {
  describe(`a book of probes, ${name}`, () => {
    let one: ProbesUnderTest;
    beforeEach(async () => {
      one = await make();
    });

    const list = (...resources: string[]) =>
      one.catalogue.learn(resources.map((resource) => aLesson({ resource })));
    const enrol = (at = NOON, most = 99) => one.probes.enrol(new Date(at), most);
    const take = (at = NOON, most = 99) => one.probes.take(new Date(at), most);
    const taken = async (at = NOON, most = 99) =>
      (await take(at, most)).map(({ entry }) => entry.listing.resource).sort();
    const finish = (visit: Visit | undefined, state: ProbeState, at: number, dueAt: number) => {
      if (visit === undefined) throw new Error('nothing was taken');
      const probe = { state, status: state === 'unreachable' ? undefined : 402, at: new Date(at) };
      return one.probes.finish(visit, { probe, dueAt: new Date(dueAt), robots: undefined });
    };
    const entries = (aliveSince?: Date) =>
      one.catalogue.page({ since: new Date(0), aliveSince }, { offset: 0 }, 99);

    it('notes each entry once, a page at a time', async () => {
      await list(shop('a'), shop('b'), shop('c'));
      expect([await enrol(NOON, 2), await enrol(NOON, 2), await enrol(NOON, 2)]).toEqual([2, 1, 0]);
    });

    it('gives a host to one that asks, for an hour, with all that is needed', async () => {
      await list(shop('a'), 'https://other.example.com/');
      await enrol();
      const given = await Promise.all([take(), take(), take()]);
      expect(
        given
          .flat()
          .map(({ host }) => host)
          .sort(),
      ).toEqual(['other.example.com', 'shop.example.com']);
      const visit = given.flat().find(({ host }) => host === 'shop.example.com');
      expect(visit).toMatchObject({
        robots: undefined,
        entry: { chainId: 56, payTo: PAYEE, listing: { resource: shop('a'), method: 'GET' } },
      });
      expect(await taken(NOON + HOUR - 1)).toEqual([]);
      // Whoever took it may have died: nothing is lost but the hour.
      expect(await taken(NOON + HOUR)).toEqual(['https://other.example.com/', shop('a')]);
    });

    it('gives no more hosts than are wanted', async () => {
      await list('https://a.example.com/', 'https://b.example.com/', 'https://c.example.com/');
      await enrol();
      expect([await taken(NOON, 2), await taken(NOON, 2)].map((all) => all.length)).toEqual([2, 1]);
    });

    it('asks a host of many entries for one an hour, due longest first', async () => {
      await list(shop('a'), shop('b'), shop('c'));
      await enrol();
      const asked: string[] = [];
      for (let hour = 0; hour < 6; hour += 1) {
        const [visit] = await take(NOON + hour * HOUR);
        asked.push(visit?.entry.listing.resource ?? 'none');
        if (visit !== undefined) {
          await finish(visit, 'alive', NOON + hour * HOUR, NOON + hour * HOUR + 5 * HOUR);
        }
        expect(await taken(NOON + hour * HOUR + 1)).toEqual([]);
      }
      expect(asked.slice(0, 3).sort()).toEqual([shop('a'), shop('b'), shop('c')]);
      expect(asked.slice(3)).toEqual(['none', 'none', asked[0]]);
    });

    it('asks for what is listed later, once its host has rested', async () => {
      await list(shop('a'));
      await enrol();
      const [visit] = await take();
      await finish(visit, 'alive', NOON, NOON + 24 * HOUR);
      await list(shop('b'));
      await enrol(NOON + 5);
      expect(await taken(NOON + HOUR - 1)).toEqual([]);
      expect(await taken(NOON + HOUR)).toEqual([shop('b')]);
    });

    it('asks for nothing that asking could do something to, and says so', async () => {
      await one.catalogue.learn([
        aLesson({ resource: shop('post'), method: 'POST' }),
        aLesson({ type: 'mcp', resource: 'mcp://shop.example.com/', toolName: 'a' }),
        aLesson({ resource: shop('head'), method: 'HEAD', x402Version: 1 }),
      ]);
      expect(await enrol()).toBe(3);
      expect(await taken(NOON + 9 * HOUR)).toEqual([]);
      const states = (await entries()).map(({ probe }) => probe);
      const none = { state: 'not_probed', status: undefined, at: undefined };
      expect(states).toEqual([none, none, none]);
    });

    it('asks for nothing that the operator denies', async () => {
      await list(shop('a'), 'https://other.example.com/');
      await one.catalogue.learn([aLesson({ resource: shop('b') }, { payTo: OTHER_PAYEE })]);
      await enrol();
      await one.deny('host', 'other.example.com');
      await one.deny('payee', PAYEE);
      expect(await taken()).toEqual([shop('b')]);
    });

    it('shows what was seen last, and lists what was seen alive since', async () => {
      await list(shop('a'));
      await enrol();
      expect((await entries())[0]?.probe).toBeUndefined();
      const [first] = await take();
      await finish(first, 'alive', NOON + 1, NOON + HOUR);
      const alive = { state: 'alive', status: 402, at: new Date(NOON + 1) };
      expect((await entries())[0]?.probe).toEqual(alive);
      const known = await one.catalogue.standings({ resource: shop('a') }, new Date(0));
      expect(known[0]?.probe).toEqual(alive);
      expect(await entries(new Date(NOON + 1))).toHaveLength(1);
      expect(await entries(new Date(NOON + 2))).toEqual([]);
      const [second] = await take(NOON + HOUR);
      await finish(second, 'unreachable', NOON + HOUR, NOON + 9 * HOUR);
      expect((await entries())[0]?.probe).toEqual({
        state: 'unreachable',
        status: undefined,
        at: new Date(NOON + HOUR),
      });
      expect(await entries(new Date(0))).toEqual([]);
    });

    it('keeps what a host wants of us', async () => {
      await list(shop('a'));
      await enrol();
      const [visit] = await take();
      if (visit === undefined) throw new Error('nothing was taken');
      const robots = {
        origin: 'https://shop.example.com',
        readAt: new Date(NOON),
        robots: [{ allow: false, pattern: '/\0\uD800*$' }],
      };
      const probe = { state: 'robots', status: undefined, at: new Date(NOON) } as const;
      await one.probes.finish(visit, { probe, dueAt: new Date(NOON), robots });
      const [again] = await take(NOON + HOUR);
      expect(again?.robots).toEqual(robots);
      await finish(again, 'robots', NOON + HOUR, NOON + HOUR);
      expect((await take(NOON + 2 * HOUR))[0]?.robots).toEqual(robots);
    });

    it('forgets what is listed no more, and asks anew for what is listed again', async () => {
      await list(shop('a'));
      await enrol();
      const [visit] = await take();
      await one.catalogue.forget(new Date(NOON + 9 * HOUR));
      await finish(visit, 'alive', NOON, NOON);
      await enrol(NOON + 1);
      expect(await taken(NOON + HOUR)).toEqual([]);
      await list(shop('a'));
      await enrol(NOON + HOUR + HOST_FORGOTTEN_MS);
      expect((await entries())[0]?.probe).toBeUndefined();
      expect(await taken(NOON + HOUR + HOST_FORGOTTEN_MS)).toEqual([shop('a')]);
    });

    it('lets a host that was asked rest, also where all its entries are new', async () => {
      await list(shop('a'));
      await enrol();
      await take();
      await one.catalogue.forget(new Date(NOON + 9 * HOUR));
      await enrol(NOON + 1);
      await list(shop('b'));
      await enrol(NOON + 2);
      expect(await taken(NOON + 3)).toEqual([]);
      expect(await taken(NOON + HOUR)).toEqual([shop('b')]);
    });
  });
}
