import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';

const read = (file: string): string =>
  readFileSync(new URL(`../../public/${file}`, import.meta.url), 'utf8');

/** As much of an element as the page uses. Text stays text: there is no parser to give it to. */
class FakeElement {
  readonly children: (FakeElement | string)[] = [];
  readonly attributes: Record<string, string> = {};
  textContent = '';
  className = '';
  value = '';
  hidden = false;
  disabled = false;
  onsubmit: ((event: object) => void) | undefined;

  constructor(readonly tag: string) {}

  setAttribute(name: string, value: string): void {
    this.attributes[name] = value;
  }

  append(...children: (FakeElement | string)[]): void {
    this.children.push(...children);
  }

  replaceChildren(...children: (FakeElement | string)[]): void {
    this.children.splice(0, Infinity, ...children);
  }

  addEventListener(_: string, listener: (event: object) => void): void {
    this.onsubmit = listener;
  }

  get text(): string {
    const parts = this.children.map((child) => (typeof child === 'string' ? child : child.text));
    return this.textContent + parts.join('');
  }
}

const REPORT = {
  url: 'https://x.example',
  method: 'GET',
  status: 402,
  isSound: false,
  counts: { error: 1, warning: 1, note: 0 },
  offers: [
    {
      path: 'terms.accepts[0]',
      scheme: 'exact',
      method: 'eip3009',
      network: 'eip155:56',
      asset: '0xAsset',
      payTo: '0xPayee',
      amount: '5',
      price: '0.1 <b>U</b>',
    },
  ],
  findings: [
    {
      code: 'name_differs',
      severity: 'error',
      path: 'terms',
      expected: '"U"',
      fix: 'Mend.',
      got: '"<img src=x onerror=alert(1)>"',
    },
    { code: 'other', severity: 'warning', path: 'status', expected: '402', fix: 'Do.' },
  ],
};

/** Opens the page, fills in its fields and presses the button. */
async function use(
  answer: { readonly status: number; readonly body: unknown },
  fields: Readonly<Record<string, string>> = {},
) {
  const ids = [...read('doctor.html').matchAll(/ id="([a-z]+)"/g)].map(([, id]) => id ?? '');
  const elements = new Map(ids.map((id) => [id, new FakeElement(id)]));
  const asked: { readonly url: string; readonly init: { body: string; headers: object } }[] = [];
  const byId = (id: string): FakeElement | undefined => elements.get(id);
  runInNewContext(read('doctor.js'), {
    document: { getElementById: byId, createElement: (tag: string) => new FakeElement(tag) },
    fetch: (url: string, init: { body: string; headers: object }) => {
      asked.push({ url, init });
      const { status, body } = answer;
      return Promise.resolve({ ok: status === 200, status, json: () => Promise.resolve(body) });
    },
  });
  const all = { url: ' https://x.example ', method: 'GET', ...fields };
  for (const [id, value] of Object.entries(all)) Object.assign(byId(id) ?? {}, { value });
  byId('ask')?.onsubmit?.({ preventDefault: () => undefined });
  expect(byId('check')?.disabled).toBe(true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(byId('check')?.disabled).toBe(false);
  const [request] = asked;
  return {
    outcome: byId('outcome'),
    report: byId('report'),
    sent: JSON.parse(request?.init.body ?? '') as unknown,
    headers: request?.init.headers,
    url: request?.url,
  };
}

describe('the page that checks a seller', () => {
  it('asks what was filled in, and shows what was found as text', async () => {
    const { outcome, report, sent, headers, url } = await use({ status: 200, body: REPORT });
    expect([url, sent]).toEqual(['v2/doctor', { url: 'https://x.example', method: 'GET' }]);
    expect(headers).toEqual({ 'content-type': 'application/json' });
    expect(outcome).toMatchObject({
      textContent: 'It answered 402. 1 error, 1 warning.',
      className: 'bad',
    });
    expect(report?.hidden).toBe(false);
    for (const text of ['<img src=x onerror=alert(1)>', '0.1 <b>U</b>', 'name_differs', 'Mend.']) {
      expect(report?.text).toContain(text);
    }
  });

  it('sends a body where the method has one, and a key where there is one', async () => {
    const fields = { method: 'POST', body: '{"a":1}', key: 'k' };
    const { sent, headers } = await use({ status: 200, body: REPORT }, fields);
    expect(sent).toEqual({ url: 'https://x.example', method: 'POST', body: '{"a":1}' });
    expect(headers).toMatchObject({ 'x-api-key': 'k' });
    const get = await use({ status: 200, body: REPORT }, { body: '{"a":1}' });
    expect(get.sent).not.toHaveProperty('body');
  });

  it.each([
    [{ ...REPORT, isSound: true }, 'Sound: a stock buyer can pay.', 'good'],
    [{ ...REPORT, counts: { error: 0, warning: 2 } }, '0 errors, 2 warnings.', 'warn'],
    [{ ...REPORT, status: undefined }, 'The seller could not be asked.', 'bad'],
  ])('says in one line how it went', async (body, text, className) => {
    const { outcome } = await use({ status: 200, body });
    expect(outcome?.textContent).toContain(text);
    expect(outcome?.className).toBe(className);
  });

  it('says why it was refused', async () => {
    const { outcome, report } = await use({ status: 429, body: { error: 'Too many requests.' } });
    expect(outcome).toMatchObject({ textContent: 'Too many requests.', className: 'bad' });
    expect(report?.hidden).toBe(true);
  });

  it('has neither scripts nor styles of its own, nor ways around text', () => {
    expect(read('doctor.html')).not.toMatch(/<script>|<style|style=|\son[a-z]+=/);
    expect(read('doctor.js')).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval/,
    );
  });
});
