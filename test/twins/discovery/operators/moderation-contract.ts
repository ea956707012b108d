import { beforeEach, describe, expect, it } from '@jest/globals';
import type { CatalogueReader, CatalogueWriter } from '../../../../src/discovery/catalogue.js';
import type {
  Denial,
  ModerationFilter,
  ModerationStore,
} from '../../../../src/discovery/operators/moderation-store.js';
import {
  aLesson,
  NOON,
  OTHER_PAYEE,
  PAYEE,
  RESOURCE,
} from '../../../builders/discovery/catalogue-update.js';
import type { Noted } from './memory-moderation.js';

interface ModerationUnderTest {
  readonly store: ModerationStore;
  readonly writer: CatalogueWriter;
  readonly reader: CatalogueReader;
  /** The actions, in their order. */
  audit(): Promise<readonly Noted[]>;
}

const HOST = 'shop.example.com';
const elsewhere = (name: string): string => `https://${name}.example.org/a`;
/** No test has as many. */
const MOST = 100;

/** What every store for operators promises, in memory or in PostgreSQL. */
export function moderationContract(name: string, make: () => Promise<ModerationUnderTest>): void {
  describe(`moderation, ${name}`, () => {
    let one: ModerationUnderTest;
    beforeEach(async () => {
      one = await make();
    });

    const update = (...lessons: Parameters<CatalogueWriter['update']>[0]) =>
      one.writer.update(lessons);
    const entries = async (filter: Partial<ModerationFilter> = {}, after?: string, most = 9) => {
      const all = { text: undefined, payTo: undefined, host: undefined };
      const found = await one.store.entries({ ...all, ...filter }, after, most);
      if (found === undefined || found === 'unreadable') throw new Error('no list');
      return found;
    };
    const shown = () => one.reader.count({ since: new Date(0) });
    const denied = async (...args: Parameters<ModerationStore['denials']>) =>
      (await one.store.denials(...args))?.map(({ value }) => value);

    it('hides what is denied, refuses what comes, and shows it again when it is allowed', async () => {
      await update(aLesson(), aLesson({ resource: elsewhere('a') }));
      expect(await one.store.deny(aDenial(), MOST)).toBe('denied');
      expect(await shown()).toBe(1);
      expect(await update(aLesson({}, { at: NOON + 1 }))).toEqual({ listed: 0, refused: 1 });
      expect((await entries({ host: HOST }))[0]).toMatchObject({
        chainId: 56,
        payTo: PAYEE,
        host: HOST,
        listing: { resource: RESOURCE },
        denials: [aDenial()],
      });
      expect(await one.store.allow(aDenial({ reason: 'a mistake' }))).toBe('allowed');
      expect(await shown()).toBe(2);
      expect((await entries({ host: HOST }))[0]?.denials).toEqual([]);
      expect(await one.audit()).toEqual([
        noted('catalogue_denied', 'spam'),
        noted('catalogue_allowed', 'a mistake'),
      ]);
    });

    it('does nothing twice, and notes nothing that was not done', async () => {
      expect(await one.store.allow(aDenial())).toBe('unchanged');
      await one.store.deny(aDenial(), MOST);
      expect(await one.store.deny(aDenial({ by: 'day-shift' }), MOST)).toBe('unchanged');
      expect(await one.store.denials({}, undefined, 9)).toEqual([aDenial()]);
      await one.store.deny(aDenial({ reason: 'malware', by: 'day-shift' }), MOST);
      expect(await one.store.denials({}, undefined, 9)).toEqual([
        aDenial({ reason: 'malware', by: 'day-shift' }),
      ]);
      expect((await one.audit()).map(({ by, reason }) => [by, reason])).toEqual([
        ['night-shift', 'spam'],
        ['day-shift', 'malware'],
      ]);
    });

    it('denies no more than it may, and changes what is denied even then', async () => {
      await one.store.deny(aDenial(), 1);
      expect(await one.store.deny(aDenial({ value: 'b.example.org' }), 1)).toBe('full');
      expect(await one.store.deny(aDenial({ reason: 'again' }), 1)).toBe('denied');
      expect(await denied({}, undefined, 9)).toEqual([HOST]);
    });

    it('tells a payee from a host, and both hide one entry', async () => {
      await update(aLesson(), aLesson({}, { payTo: OTHER_PAYEE }));
      await one.store.deny(aDenial({ kind: 'payee', value: PAYEE }), MOST);
      expect(await shown()).toBe(1);
      await one.store.deny(aDenial(), MOST);
      expect(await shown()).toBe(0);
      const [entry] = await entries({ payTo: PAYEE });
      expect(entry?.denials.map(({ kind }) => kind)).toEqual(['host', 'payee']);
      expect(entry?.otherPayees).toBe(1);
      await one.store.allow(aDenial());
      expect(await shown()).toBe(1);
    });

    it('lists what is denied page by page, newest first', async () => {
      const values = ['a.example.org', 'b.example.org', 'c.example.org'];
      for (const [index, value] of values.entries()) {
        await one.store.deny(aDenial({ value, at: new Date(NOON + (index > 0 ? 1 : 0)) }), MOST);
      }
      await one.store.deny(aDenial({ kind: 'payee', value: PAYEE, at: new Date(NOON - 1) }), MOST);
      const order = ['c.example.org', 'b.example.org', 'a.example.org', PAYEE];
      expect(await denied({}, undefined, 9)).toEqual(order);
      expect(await denied({}, undefined, 2)).toEqual(order.slice(0, 2));
      expect(await denied({}, { kind: 'host', value: 'b.example.org' }, 9)).toEqual(order.slice(2));
      expect(await denied({ kind: 'payee' }, undefined, 9)).toEqual([PAYEE]);
      expect(await denied({ value: 'a.example.org' }, undefined, 9)).toEqual(['a.example.org']);
      expect(await denied({}, { kind: 'payee', value: 'a.example.org' }, 9)).toBeUndefined();
    });

    it('finds entries by words, payee and host, page by page, newest first', async () => {
      await update(
        aLesson({ description: 'Weather of every city' }),
        aLesson({ resource: elsewhere('a') }, { at: NOON + 1 }),
        aLesson({ resource: elsewhere('b') }, { at: NOON + 2, payTo: OTHER_PAYEE }),
        aLesson({ type: 'mcp', resource: 'mcp://Tool/x', toolName: 'x' }, { at: NOON + 3 }),
      );
      const hosts = async (...args: Parameters<typeof entries>) =>
        (await entries(...args)).map(({ host }) => host);
      const all = ['tool', 'b.example.org', 'a.example.org', HOST];
      expect(await hosts()).toEqual(all);
      expect(await hosts({ text: 'weather' })).toEqual([HOST]);
      expect(await hosts({ payTo: OTHER_PAYEE })).toEqual(['b.example.org']);
      expect(await hosts({ host: 'tool' })).toEqual(['tool']);
      expect(await hosts({ text: 'weather', host: 'tool' })).toEqual([]);
      const [first, second] = await entries({}, undefined, 2);
      expect([first?.host, second?.host]).toEqual(all.slice(0, 2));
      expect(await hosts({}, second?.id)).toEqual(all.slice(2));
      const nobody = await one.store.entries(
        { text: undefined, payTo: undefined, host: undefined },
        'f'.repeat(64),
        9,
      );
      expect(nobody).toBeUndefined();
      const unread = await one.store.entries(
        { text: '-'.repeat(40), payTo: undefined, host: undefined },
        undefined,
        9,
      );
      expect(unread).toBe('unreadable');
    });
  });
}

function aDenial(more: Partial<Denial> = {}): Denial {
  return {
    kind: 'host',
    value: HOST,
    reason: 'spam',
    by: 'night-shift',
    at: new Date(NOON),
    ...more,
  };
}

const noted = (action: string, reason: string): Noted => ({
  by: 'night-shift',
  action,
  subject: `host:${HOST}`,
  reason,
});
