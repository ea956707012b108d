import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  aLesson,
  NOON,
  PAYEE,
  RESOURCE,
} from '../../../test/builders/discovery/catalogue-update.js';
import { codeOf } from '../../../test/builders/platform/http/coded-error.js';
import { readBody, readQuery } from '../../../test/builders/platform/http/dto.js';
import { MemoryCatalogue } from '../../../test/twins/discovery/memory-catalogue.js';
import { MemoryModeration } from '../../../test/twins/discovery/operators/memory-moderation.js';
import { ArchiveError } from '../../history/archive.js';
import { readHost } from './denial-name.js';
import { DenialsQueryDto, EntriesQueryDto, VerdictDto } from './dto/moderation.dto.js';
import { Moderation } from './moderation.js';
import type { ModerationStore } from './moderation-store.js';

const DAY_MS = 86_400_000;
const VERDICT = { kind: 'host', value: 'shop.example.com', reason: 'spam' };
const verdict = Object.assign(new VerdictDto(), VERDICT);

describe('moderation', () => {
  let catalogue: MemoryCatalogue;
  let store: MemoryModeration;
  let now: number;
  let moderation: Moderation;
  const make = (of: ModerationStore | undefined): Moderation =>
    new Moderation({ expiryMs: 30 * DAY_MS }, { now: () => now }, of);

  beforeEach(() => {
    catalogue = new MemoryCatalogue();
    store = new MemoryModeration(catalogue);
    now = NOON + 5000;
    moderation = make(store);
  });

  const entries = async (query: object, of = moderation) =>
    of.entries(await readQuery(EntriesQueryDto, query));
  const denials = async (query: object, of = moderation) =>
    of.denials(await readQuery(DenialsQueryDto, query));
  const deny = async (body: unknown, by: string) =>
    moderation.deny(await readBody(VerdictDto, body), by);
  const statesOf = async (): Promise<unknown> => {
    const { entries: found } = await entries({});
    return found.map(({ state }) => state);
  };

  it('says of each entry whether it is listed, and else what hides it', async () => {
    await catalogue.update([aLesson({ serviceName: 'Weather' })]);
    expect(await entries({})).toEqual({
      entries: [
        {
          id: expect.stringMatching(/^[0-9a-f]{64}$/),
          state: 'listed',
          network: 'eip155:56',
          payTo: PAYEE,
          type: 'http',
          resource: RESOURCE,
          call: 'GET',
          host: 'shop.example.com',
          serviceName: 'Weather',
          otherPayees: 0,
          denials: [],
          firstPaidAt: new Date(NOON + 1000),
          lastPaidAt: new Date(NOON + 1000),
        },
      ],
    });
    now = NOON + 40 * DAY_MS;
    expect(await statesOf()).toEqual(['expired']);
    await deny(VERDICT, 'night-shift');
    expect(await statesOf()).toEqual(['denied']);
  });

  it('notes who did it, and answers what was done', async () => {
    expect(await deny(VERDICT, 'night-shift')).toEqual({
      outcome: 'denied',
      denial: { ...VERDICT, by: 'night-shift', at: new Date(now) },
    });
    expect(await deny(VERDICT, 'day-shift')).toMatchObject({ outcome: 'unchanged' });
    const { kind, value } = VERDICT;
    expect(await moderation.allow(verdict, 'day-shift')).toEqual({
      outcome: 'allowed',
      kind,
      value,
    });
    expect(store.audit.map(({ by, action }) => [by, action])).toEqual([
      ['night-shift', 'catalogue_denied'],
      ['day-shift', 'catalogue_allowed'],
    ]);
  });

  it('goes on where the page before ended', async () => {
    for (const value of ['a.example.org', 'b.example.org', '[::1]']) {
      await deny({ ...VERDICT, value }, 'night-shift');
    }
    const first = (await denials({ limit: '2' })) as { next?: string };
    expect(first.next).toBe('host:a.example.org');
    expect(await denials({ after: first.next })).toMatchObject({
      denials: [{ value: '[::1]' }],
    });
    expect(await codeOf(denials({ after: 'host:gone.example.org' }))).toEqual([
      400,
      'invalid_cursor',
    ]);
  });

  it.each([
    ['kind', { ...VERDICT, kind: 'all' }],
    ['value', { ...VERDICT, value: 'https://shop.example.com/' }],
    ['value', { ...VERDICT, kind: 'payee' }],
    ['value', { ...VERDICT, value: 7 }],
    ['reason', { ...VERDICT, reason: undefined }],
    ['reason', { ...VERDICT, reason: '  ' }],
    ['reason', { ...VERDICT, reason: 'x'.repeat(201) }],
    ['reason', { ...VERDICT, reason: 'a\u202Eb' }],
    ['field', { ...VERDICT, until: 'tomorrow' }],
    ['object', []],
    ['object', 'deny'],
  ])('refuses a verdict whose %s is wrong: %j', async (name, body) => {
    await expect(deny(body, 'night-shift')).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: expect.stringContaining(name),
    });
    expect(store.audit).toEqual([]);
  });

  it.each([
    ['payTo', { payTo: 'nobody' }],
    ['host', { host: 'a/b' }],
    ['text', { text: 'x'.repeat(401) }],
    ['text', { text: ['a', 'b'] }],
    ['text', { text: 'a\ud800' }],
    ['text', { text: '!&|' }],
    ['limit', { limit: '101' }],
    ['after', { after: 'x' }],
    ['parameter', { page: '2' }],
  ])('names what is wrong with a question: %s', async (name, query) => {
    await expect(entries(query)).rejects.toMatchObject({
      status: 400,
      code: 'invalid_query',
      message: expect.stringContaining(name),
    });
  });

  it('is off without a catalogue, and away while the database is', async () => {
    const off = make(undefined);
    for (const answer of [entries({}, off), denials({}, off), off.deny(verdict, 'a')]) {
      expect(await codeOf(answer)).toEqual([501, 'catalogue_off']);
    }
    const failing = (sqlState: string): ModerationStore =>
      new Proxy(store, {
        get: () => () => Promise.reject(new ArchiveError('database_failed', sqlState)),
      });
    expect(await codeOf(make(failing('08006')).allow(verdict, 'a'))).toEqual([
      503,
      'catalogue_unavailable',
    ]);
    expect(await codeOf(entries({}, make(failing('57014'))))).toEqual([503, 'catalogue_too_slow']);
  });
});

describe('a host that is denied', () => {
  it.each([
    ['shop.example.com', 'shop.example.com'],
    [' Shop.Example.COM. ', 'shop.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]', '[::1]'],
    ['tool', 'tool'],
    ['b%C3%BCcher', 'b%c3%bccher'],
  ])('%s is %s, as in the URLs of entries', (text, host) => {
    expect(readHost(text)).toBe(host);
  });

  it.each([
    '',
    '.',
    'https://shop.example.com',
    'shop.example.com:80',
    'a/b',
    'a b',
    'user@host',
    'a?b',
    'a#b',
    '*.example.com/',
    `${'a'.repeat(250)}.com`,
    'a\u0000b',
    '[shop]',
  ])('rejects %j', (text) => {
    expect(readHost(text)).toBeUndefined();
  });
});
