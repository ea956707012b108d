import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const PUBLIC = new URL('../../public/', import.meta.url);
const pageFiles = readdirSync(PUBLIC).filter((name) => name.startsWith('admin'));

interface Total {
  readonly day: string;
  readonly network: string;
  readonly asset: string;
  readonly paid: { readonly count: string; readonly amount: string };
}

/** What the tests use of the page's scripts, which have no types. */
interface Common {
  plain(text: string): string;
  element(tag: string, attributes: object, ...children: unknown[]): FakeElement;
  queryOf(fields: Readonly<Record<string, string | undefined>>): string;
  moment(text?: string): string;
}
interface Lines {
  readonly LINES_MOST: number;
  linesOf(
    totals: readonly Total[],
    how: { from: string; to: string; valueOf: (total: Total) => number },
  ): {
    readonly days: readonly number[];
    readonly lines: readonly { readonly label: string; readonly values: readonly number[] }[];
    readonly left: number;
  };
}
interface Life {
  stepsOf(life: object): readonly { readonly at: string; readonly what: string; detail: string }[];
}

/** As much of an element as is needed: what is put in as text stays text. */
class FakeElement {
  readonly texts: unknown[] = [];
  readonly attributes: Record<string, string> = {};

  constructor(readonly tag: string) {}

  setAttribute(name: string, value: string): void {
    this.attributes[name] = value;
  }

  append(...children: unknown[]): void {
    this.texts.push(...children);
  }
}

const load = async <T>(name: string): Promise<T> => (await import(new URL(name, PUBLIC).href)) as T;

describe('what the operator page makes of texts', () => {
  const real = Object.getOwnPropertyDescriptor(globalThis, 'document');
  let common: Common;

  beforeAll(async () => {
    Object.defineProperty(globalThis, 'document', {
      value: { createElement: (tag: string) => new FakeElement(tag) },
      configurable: true,
    });
    common = await load<Common>('admin-common.js');
  });
  afterAll(() => {
    if (real === undefined) Reflect.deleteProperty(globalThis, 'document');
    else Object.defineProperty(globalThis, 'document', real);
  });

  it.each([
    ['https://shop.example/\u202Egpj.exe', 'https://shop.example/⟨U+202E⟩gpj.exe'],
    ['\u2066hidden\u2069', '⟨U+2066⟩hidden⟨U+2069⟩'],
    ['a\u0000b\u001b[31m', 'a⟨U+0000⟩b⟨U+001B⟩[31m'],
    ['zero\u200Bwidth\uFEFF', 'zero⟨U+200B⟩width⟨U+FEFF⟩'],
    ['one\u2028two', 'one⟨U+2028⟩two'],
    ['\u{E0041}tag', '⟨U+E0041⟩tag'],
    ['two\r\n\tlines', 'two⟨U+000D⟩ lines'],
    ['naïve 支付 🙂', 'naïve 支付 🙂'],
  ])('%j is shown as %j', (text, shown) => {
    expect(common.plain(text)).toBe(shown);
  });

  it('is a text, in an element and in an attribute', () => {
    const hostile = '<img src=x onerror=alert(1)>\u202E';
    const shown = '<img src=x onerror=alert(1)>⟨U+202E⟩';
    const node = common.element('td', { title: hostile }, hostile);
    expect(node.texts).toEqual([shown]);
    expect(node.attributes).toEqual({ title: shown });
  });

  it('asks for what was given, and for nothing that was left empty', () => {
    expect(common.queryOf({ payTo: '', state: 'a&b=c', cursor: undefined })).toBe(
      'state=a%26b%3Dc',
    );
    expect(common.moment('2026-11-22T08:00:00.123Z')).toBe('2026-11-22 08:00:00');
    expect(common.moment()).toBe('');
  });
});

describe('the chart of the operator page', () => {
  const total = (day: string, asset: string, count: string): Total => ({
    day,
    network: 'eip155:56',
    asset,
    paid: { count, amount: `${count}000` },
  });
  const week = { from: '2026-11-20', to: '2026-11-22' };
  const payments = ({ paid }: Total): number => Number(paid.count);

  it('has a value a day, also for a day without any', async () => {
    const { linesOf } = await load<Lines>('admin-lines.js');
    const totals = [total('2026-11-22', '0xa', '3'), total('2026-11-20', '0xa', '1')];
    const { days, lines, left } = linesOf(totals, { ...week, valueOf: payments });
    expect(days).toEqual([20, 21, 22].map((day) => Date.UTC(2026, 10, day) / 1000));
    expect(lines).toEqual([{ label: 'eip155:56 0xa', values: [1, 0, 3] }]);
    expect(left).toBe(0);
  });

  it('has the assets with the most payments, and says how many it leaves out', async () => {
    const { linesOf, LINES_MOST } = await load<Lines>('admin-lines.js');
    const totals = Array.from({ length: 10 }, (_, index) =>
      total('2026-11-21', `0x${index}`, String(index)),
    );
    const { lines, left } = linesOf(totals, { ...week, valueOf: payments });
    expect(lines.map(({ label }) => label)).toEqual(
      [9, 8, 7, 6, 5, 4, 3].map((index) => `eip155:56 0x${index}`),
    );
    expect(left).toBe(10 - LINES_MOST);
  });
});

describe('the life of a settlement on the operator page', () => {
  it('is in the order in which it happened, whoever did it', async () => {
    const { stepsOf } = await load<Life>('admin-life.js');
    const at = (second: number): string => `2026-11-22T08:00:0${second}.000Z`;
    const steps = stepsOf({
      settlement: { times: { claimed: at(1), included: at(4) } },
      history: {
        row: { archivedAt: at(5) },
        events: [
          {
            type: 'settlement.included',
            happenedAt: at(6),
            deliveries: [
              {
                owner: 'shop',
                url: 'u',
                state: 'failed',
                attempts: 2,
                triedAt: at(7),
                status: 500,
              },
              { owner: 'shop', url: 'u', state: 'waiting', attempts: 0 },
            ],
          },
        ],
        actions: [{ at: at(2), by: 'night-shift', action: 'lane_paused', subject: '56:0x' }],
      },
    });
    expect(steps.map(({ what }) => what)).toEqual([
      'claimed in the ledger',
      'an operator: lane_paused',
      'in a block',
      'archived as it is',
      'event settlement.included',
      'settlement.included: failed after 2',
    ]);
    expect(steps.at(-1)?.detail).toBe('shop · u · 500');
    expect(stepsOf({ settlement: {}, history: { status: 'off' } })).toEqual([]);
  });
});

describe('the files of the operator page', () => {
  it('are several', () => {
    expect(pageFiles.length).toBeGreaterThan(5);
  });

  it.each(pageFiles)('%s puts nothing in as HTML, and loads nothing from elsewhere', (name) => {
    const text = readFileSync(new URL(name, PUBLIC), 'utf8');
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b/);
    expect(text).not.toMatch(/https?:\/\//);
    if (name.endsWith('.html')) expect(text).not.toMatch(/<style|style=|<script>|\son\w+=/);
  });
});
