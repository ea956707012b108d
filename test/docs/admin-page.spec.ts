import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const PUBLIC = new URL('../../public/', import.meta.url);
const pageFiles = [
  'admin.html',
  ...['admin', 'components'].flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, PUBLIC)).map((name) => `${folder}/${name}`),
  ),
];

interface Total {
  readonly day: string;
  readonly network: string;
  readonly asset: string;
  readonly paid: { readonly count: string; readonly amount: string };
  readonly states?: Readonly<Record<string, string>>;
}

/** What the tests use of the page's scripts, which have no types. */
interface Format {
  plain(text: string): string;
  queryOf(fields: Readonly<Record<string, string | undefined>>): string;
  moment(text?: string): string;
  percent(part: number): string;
  duration(ms: number): string;
  coins(value: number): string;
  wholeUnits(atomic: string, decimals: number): string;
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
interface Steps {
  stepsOf(life: object): readonly { readonly at: string; readonly what: string; detail: string }[];
}
interface Place {
  placeOf(hash: string): { page: string; fields: object };
  hrefOf(page: string, fields?: object): string;
}
interface Troubles {
  troublesOf(overview: object): readonly { readonly text: string; readonly fields?: object }[];
}
interface Figures {
  percentile(values: readonly number[], part: number): number | undefined;
  settleTimes(settlements: readonly object[]): readonly number[];
  volumesOf(totals: readonly Total[]): readonly { asset: string; count: number; atomic: bigint }[];
  outcomesOf(totals: readonly Total[]): { succeeded: number; refused: number };
  gasOf(
    network: { lanes: readonly object[] },
    perDay?: number,
  ): { balance: number; spent?: number; daysLeft?: number } | undefined;
}
interface Listed {
  readonly settlementId: string;
  readonly state: string;
  readonly times: { readonly claimed: string };
  readonly payment?: { readonly amount: string };
}
interface Page {
  readonly settlements: readonly Listed[];
  readonly nextCursor?: string;
  readonly problem?: Error;
}
interface Listing {
  askedOf(fields: object): object;
  merged(asked: object, hot: readonly Listed[], history?: Partial<Page>): readonly Listed[];
  firstPage(
    ask: (path: string) => Promise<object>,
    asked: object,
    hasHistory: boolean,
  ): Promise<Page>;
  nextPage(
    ask: (path: string) => Promise<object>,
    asked: object,
    hasHistory: boolean,
    cursor: string | undefined,
  ): Promise<Page>;
  historyPage(
    ask: (path: string) => string,
    asked: object,
    cursor: string | undefined,
    now: number,
  ): string;
}

const load = async <T>(name: string): Promise<T> => (await import(new URL(name, PUBLIC).href)) as T;

describe('what the pages make of texts and numbers', () => {
  it.each([
    ['https://shop.example/\u202Egpj.exe', 'https://shop.example/⟨U+202E⟩gpj.exe'],
    ['\u2066hidden\u2069', '⟨U+2066⟩hidden⟨U+2069⟩'],
    ['a\u0000b\u001b[31m', 'a⟨U+0000⟩b⟨U+001B⟩[31m'],
    ['zero\u200Bwidth\uFEFF', 'zero⟨U+200B⟩width⟨U+FEFF⟩'],
    ['one\u2028two', 'one⟨U+2028⟩two'],
    ['\u{E0041}tag', '⟨U+E0041⟩tag'],
    ['two\r\n\tlines', 'two⟨U+000D⟩ lines'],
    ['naïve 支付 🙂', 'naïve 支付 🙂'],
  ])('%j is shown as %j', async (text, shown) => {
    const { plain } = await load<Format>('components/format.js');
    expect(plain(text)).toBe(shown);
    expect(plain(shown)).toBe(shown);
  });

  it('asks for what was given, and for nothing that was left empty', async () => {
    const { queryOf, moment } = await load<Format>('components/format.js');
    expect(queryOf({ payTo: '', state: 'a&b=c', cursor: undefined })).toBe('state=a%26b%3Dc');
    expect(moment('2026-11-22T08:00:00.123Z')).toBe('2026-11-22 08:00:00');
    expect(moment()).toBe('');
  });

  it.each([
    ['100000000000000000', 18, '0.1'],
    ['1', 18, '0.000000000000000001'],
    ['0', 6, '0'],
    ['1234567890123', 6, '1,234,567.890123'],
    ['1234', 0, '1,234'],
  ])('%s units with %i decimals are %s', async (atomic, decimals, whole) => {
    const { wholeUnits } = await load<Format>('components/format.js');
    expect(wholeUnits(atomic, decimals)).toBe(whole);
  });

  it('rounds no failure away', async () => {
    const { percent, coins, duration } = await load<Format>('components/format.js');
    expect([1, 0.999999, 0.5, 0].map(percent)).toEqual(['100 %', '99.99 %', '50 %', '0 %']);
    expect([0, 0.0062708, 12.3456, 4321.7].map(coins)).toEqual(['0', '0.00627', '12.3', '4,322']);
    expect([12, 1300, 63_000, 754_000, 90 * 3_600_000].map(duration)).toEqual([
      '12 ms',
      '1.3 s',
      '63 s',
      '13 min',
      '4 days',
    ]);
  });
});

describe('the place in the console', () => {
  it('stands in the address, with what is asked for', async () => {
    const { placeOf, hrefOf } = await load<Place>('admin/place.js');
    const fields = { payTo: '0xab', sale: 'unclaimed' };
    expect(placeOf(hrefOf('settlements', fields))).toEqual({ page: 'settlements', fields });
    expect(placeOf('')).toEqual({ page: 'overview', fields: {} });
  });
});

describe('what the console calls wrong', () => {
  const lane = {
    signer: `0x${'ab'.repeat(20)}`,
    trouble: null,
    settlementsLeft: 5000,
    inFlight: 0,
    oldestInFlightMs: 0,
  };
  const overview = (network: object = {}, lanes: readonly object[] = [lane]) => ({
    apiKeys: {},
    processes: [{ roles: ['worker'] }],
    networks: [{ network: 'eip155:56', endpoints: { reachable: 1, all: 1 }, lanes, ...network }],
  });

  it('is nothing where all is well', async () => {
    const { troublesOf } = await load<Troubles>('admin/troubles.js');
    expect(troublesOf(overview())).toEqual([]);
    expect(troublesOf(overview({ unclaimed: { count: 0, oldestMs: 0, sums: [] } }))).toEqual([]);
    expect(troublesOf(overview({}, [lane, { ...lane, trouble: 'paused' }]))).toEqual([]);
  });

  it('is each thing that an operator has to look at', async () => {
    const { troublesOf } = await load<Troubles>('admin/troubles.js');
    const found = troublesOf({
      ...overview({ unclaimed: { count: 2, oldestMs: 754_000 }, endpoints: { reachable: 0 } }, [
        { ...lane, trouble: 'no_gas' },
        { ...lane, trouble: 'paused', inFlight: 1, oldestInFlightMs: 63_000, oldestNonce: 7 },
      ]),
      processes: [],
      apiKeys: { code: 'unreadable' },
    });
    expect(found.map(({ text }) => text).join('\n')).toMatch(
      /No worker.*2 payments were made and not delivered, the oldest 13 min ago.*no RPC endpoint.*no lane takes work.*no_gas.*pending for 63 s.*API key file/s,
    );
    expect(found[1]?.fields).toEqual({ sale: 'unclaimed', network: 'eip155:56' });
    const low = troublesOf(overview({}, [{ ...lane, settlementsLeft: 7, isShort: true }]));
    expect(low).toHaveLength(2);
  });
});

describe('the figures of the overview', () => {
  const total = (asset: string, count: string, states = {}): Total => ({
    day: '',
    network: 'eip155:56',
    asset,
    paid: { count, amount: `${count}000` },
    states,
  });

  it('count what was paid, and what was not', async () => {
    const { outcomesOf, volumesOf } = await load<Figures>('admin/figures.js');
    const totals = [total('0xa', '2'), total('0xb', '5', { expired: '1', finalized: '5' })];
    expect(outcomesOf(totals)).toEqual({ succeeded: 7, refused: 1 });
    expect(volumesOf([...totals, total('0xa', '9'), total('0xc', '0')])).toEqual([
      { network: 'eip155:56', asset: '0xa', count: 11, atomic: 11_000n },
      { network: 'eip155:56', asset: '0xb', count: 5, atomic: 5000n },
    ]);
  });

  it('are the median and the slowest of the settlements that were paid', async () => {
    const { percentile, settleTimes } = await load<Figures>('admin/figures.js');
    const at = (ms: number): string => new Date(ms).toISOString();
    const one = (ms: number, paid = true) => ({
      paid,
      times: { claimed: at(1000), included: at(1000 + ms) },
    });
    const times = settleTimes([one(300), one(100), one(200), one(9000, false), { paid: true }]);
    expect(times).toEqual([300, 100, 200]);
    expect([percentile(times, 0.5), percentile(times, 0.99), percentile([], 0.5)]).toEqual([
      200,
      300,
      undefined,
    ]);
  });

  it('tell how long the gas lasts, at the price the lanes count with', async () => {
    const { gasOf } = await load<Figures>('admin/figures.js');
    const lanes = [
      { balance: '1.5', settlementsLeft: 3000 },
      { balance: '9', settlementsLeft: 100, treasury: {} },
    ];
    expect(gasOf({ lanes }, 100)).toEqual({ balance: 1.5, spent: 0.05, daysLeft: 30 });
    expect(gasOf({ lanes }, 0)).toEqual({ balance: 1.5, spent: 0, daysLeft: undefined });
    expect(gasOf({ lanes }, undefined)?.daysLeft).toBeUndefined();
    expect(gasOf({ lanes: [] }, 100)).toBeUndefined();
  });
});

describe('the list of settlements', () => {
  const one = (settlementId: string, second: number, state = 'finalized'): Listed => ({
    settlementId,
    state,
    times: { claimed: `2026-11-22T08:00:0${second}.000Z` },
  });
  const idsOf = (settlements: readonly Listed[]): readonly string[] =>
    settlements.map(({ settlementId }) => settlementId);

  it('has each settlement once, as the ledger has it, the newest first', async () => {
    const { merged } = await load<Listing>('admin/listing.js');
    const hot = [one('c', 3), one('a', 1)];
    const history = { settlements: [one('d', 4), one('a', 1, 'included')] };
    expect(merged({}, hot, history)).toEqual([one('d', 4), one('c', 3), one('a', 1)]);
    // What the ledger knows to be finalized is not listed by the state it was archived in.
    expect(idsOf(merged({ state: 'included' }, hot, history))).toEqual(['d']);
    expect(idsOf(merged({ state: 'finalized' }, hot))).toEqual(['c', 'a']);
  });

  it('leaves what belongs to a later page to that page', async () => {
    const { merged } = await load<Listing>('admin/listing.js');
    const page = { settlements: [one('c', 3), one('b', 2)], nextCursor: 'x' };
    expect(idsOf(merged({}, [one('d', 4), one('a', 1)], page))).toEqual(['d', 'c', 'b']);
  });

  it('asks both places, and goes on without the history', async () => {
    const { firstPage, askedOf } = await load<Listing>('admin/listing.js');
    const paths: string[] = [];
    const ask = (path: string): Promise<object> => {
      paths.push(path);
      return path.startsWith('history')
        ? Promise.reject(new Error('The history cannot be asked now.'))
        : Promise.resolve({ settlements: [one('a', 1)] });
    };
    const payer = `0x${'ab'.repeat(20)}`;
    const page = await firstPage(ask, askedOf({}), true);
    expect(idsOf(page.settlements)).toEqual(['a']);
    expect(page.problem?.message).toBe('The history cannot be asked now.');
    await firstPage(ask, askedOf({ search: payer }), true);
    await firstPage(ask, askedOf({ sale: 'unclaimed' }), true);
    await firstPage(ask, askedOf({ search: 'an id' }), true);
    await firstPage(ask, askedOf({ search: 'an id', sale: 'unclaimed' }), true);
    await firstPage(ask, askedOf({ search: payer, sale: 'unclaimed' }), true);
    expect(paths.map((path) => path.replace(/from=[\d-]+/, 'from=DAY'))).toEqual([
      'settlements?',
      'history/settlements?from=DAY',
      `settlements?search=${payer}`,
      `history/settlements?payer=${payer}`,
      'settlements?sale=unclaimed',
      'history/settlements?sale=unclaimed&from=DAY',
      'settlements?search=an+id',
      'settlements?search=an+id',
      `settlements?sale=unclaimed&payer=${payer}`,
      `history/settlements?payer=${payer}&sale=unclaimed`,
    ]);
  });

  it('leaves out what is smaller than the least amount asked for, in both places', async () => {
    const { firstPage, merged, askedOf } = await load<Listing>('admin/listing.js');
    const paths: string[] = [];
    const ask = (path: string): Promise<object> => {
      paths.push(path.replace(/&from=[\d-]+/, ''));
      return Promise.resolve({ settlements: [] });
    };
    await firstPage(ask, askedOf({ sale: 'unclaimed', leastAmount: '500' }), true);
    expect(paths).toEqual([
      'settlements?sale=unclaimed&leastAmount=500',
      'history/settlements?sale=unclaimed&leastAmount=500',
    ]);
    const paid = (id: string, amount: string): Listed => ({ ...one(id, 1), payment: { amount } });
    const hot = [paid('dust', '1'), paid('exact', '500'), paid('large', '9000')];
    expect(idsOf(merged({ leastAmount: '500' }, hot))).toEqual(['exact', 'large']);
  });

  it('goes on by pages of the ledger where there is no history', async () => {
    const { firstPage, nextPage } = await load<Listing>('admin/listing.js');
    const paths: string[] = [];
    const ask = (path: string): Promise<object> => {
      paths.push(path);
      return Promise.resolve({
        settlements: [one(`page ${paths.length}`, 1)],
        ...(paths.length === 1 && { nextCursor: '17.x' }),
      });
    };
    const asked = { sale: 'unclaimed', payTo: '0xab' };
    const first = await firstPage(ask, { sale: 'unclaimed' }, false);
    const next = await nextPage(ask, { sale: 'unclaimed' }, false, first.nextCursor);
    expect([idsOf(first.settlements), idsOf(next.settlements)]).toEqual([['page 1'], ['page 2']]);
    expect(next.nextCursor).toBeUndefined();
    await nextPage(ask, asked, true, 'of the history');
    expect(paths).toEqual([
      'settlements?sale=unclaimed',
      'settlements?sale=unclaimed&cursor=17.x',
      'history/settlements?payTo=0xab&sale=unclaimed&cursor=of+the+history',
    ]);
  });

  it('asks the history for a month where nothing bounds it', async () => {
    const { historyPage } = await load<Listing>('admin/listing.js');
    const ask = (path: string): string => path;
    const now = Date.parse('2026-11-26T12:00:00Z');
    expect(historyPage(ask, {}, 'x', now)).toBe('history/settlements?from=2026-10-27&cursor=x');
    expect(historyPage(ask, { to: '2026-11-01', payTo: '0xab' }, undefined, now)).toBe(
      'history/settlements?payTo=0xab&to=2026-11-01',
    );
    expect(historyPage(ask, { to: '2026-11-01' }, undefined, now)).toContain('from=2026-10-02');
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
    const { linesOf } = await load<Lines>('admin/lines.js');
    const totals = [total('2026-11-22', '0xa', '3'), total('2026-11-20', '0xa', '1')];
    const { days, lines, left } = linesOf(totals, { ...week, valueOf: payments });
    expect(days).toEqual([20, 21, 22].map((day) => Date.UTC(2026, 10, day) / 1000));
    expect(lines).toEqual([{ label: 'eip155:56 0xa', values: [1, 0, 3] }]);
    expect(left).toBe(0);
  });

  it('has the assets with the most payments, and says how many it leaves out', async () => {
    const { linesOf, LINES_MOST } = await load<Lines>('admin/lines.js');
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
    const { stepsOf } = await load<Steps>('admin/steps.js');
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
      'Accepted into the ledger',
      'Operator: lane_paused',
      'Included in a block',
      'Written to the history',
      'Event settlement.included',
      'Webhook settlement.included: failed after 2 attempts',
    ]);
    expect(steps.at(-1)?.detail).toBe('shop · u · 500');
    expect(stepsOf({ settlement: {}, history: { status: 'off' } })).toEqual([]);
  });
});

describe('the files of the operator page', () => {
  it('are several', () => {
    expect(pageFiles.length).toBeGreaterThan(20);
  });

  it.each(pageFiles)('%s puts nothing in as HTML, and loads nothing from elsewhere', (name) => {
    const text = readFileSync(new URL(name, PUBLIC), 'utf8');
    expect(text).not.toMatch(
      /innerHTML|InnerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b/,
    );
    expect(text).not.toMatch(/https?:\/\//);
    if (name.endsWith('.html')) expect(text).not.toMatch(/<style|style=|<script>|\son\w+=/);
  });
});
