import { describe, expect, it } from '@jest/globals';
import {
  problemOfUrl,
  type Read,
  readChange,
  readCreation,
  readReplay,
} from './webhook-request.js';

const URL_ = 'https://seller.example/hook';
const PAYEE = `0x${'aB'.repeat(20)}`;
const problem = (read: Read<unknown>): string => ('problem' in read ? read.problem : 'none');

describe('a webhook that is asked for', () => {
  it('hears of every event of settlements unless it says otherwise', () => {
    expect(readCreation({ url: URL_ })).toEqual({
      value: {
        url: URL_,
        description: '',
        payees: undefined,
        events: ['included', 'finalized', 'failed', 'reorged'].map((name) => `settlement.${name}`),
      },
    });
  });

  it('names payees in any case, each once', () => {
    const read = readCreation({ url: URL_, payees: [PAYEE, PAYEE.toLowerCase()] });
    expect(read).toMatchObject({ value: { payees: [PAYEE.toLowerCase()] } });
  });

  it.each<[unknown, RegExp]>([
    [undefined, /^The body/],
    [[], /^The body/],
    [{}, /^url:/],
    [{ url: 7 }, /^url:/],
    [{ url: `https://a.example/${'a'.repeat(2048)}` }, /^url:/],
    [{ url: URL_, secret: 'hunter2' }, /^The body/],
    [{ url: URL_, payees: [] }, /^payees:/],
    [{ url: URL_, payees: ['0x12'] }, /^payees:/],
    [{ url: URL_, payees: Array.from({ length: 101 }, () => PAYEE) }, /^payees:/],
    [{ url: URL_, events: [] }, /^events:/],
    [{ url: URL_, events: ['settlement.paid'] }, /^events:/],
    [{ url: URL_, description: 'two\nlines' }, /^description:/],
    [{ url: URL_, description: 'a\u0000' }, /^description:/],
    [{ url: URL_, description: 'a'.repeat(257) }, /^description:/],
  ])('is refused: %j', (sent, why) => {
    const said = problem(readCreation(sent));
    expect(said).toMatch(why);
    expect(said).not.toContain('hunter2');
  });

  it('changes one thing at a time', () => {
    expect(readChange({ enabled: false })).toEqual({ value: { enabled: false } });
    expect(readChange({})).toEqual({ value: {} });
    expect(problem(readChange({ enabled: 'no' }))).toMatch(/^enabled:/);
    expect(problem(readChange({ owner: 'other' }))).toMatch(/^The body/);
  });

  it('is sent again what it heard after an event, or since a time', () => {
    const after = `evt_${'a'.repeat(32)}`;
    expect(readReplay({ after })).toEqual({ value: { after } });
    const since = '2026-11-22T10:00:00Z';
    expect(readReplay({ since })).toEqual({ value: { since: new Date(since) } });
    expect(problem(readReplay({}))).toMatch(/^The body/);
    expect(problem(readReplay({ after: "evt_' or 1=1" }))).toMatch(/^after:/);
    expect(problem(readReplay({ since: 'yesterday' }))).toMatch(/^since:/);
  });
});

describe('the URL of a webhook', () => {
  const allow = new Set(['10.0.0.9:8080', 'hooks.internal']);

  it.each([
    URL_,
    'https://seller.example:8443/',
    'https://1.1.1.1/',
    'http://10.0.0.9:8080/',
    'https://hooks.internal/',
    'http://hooks.internal:1/',
  ])('may be %s', (url) => {
    expect(problemOfUrl(url, allow)).toBeUndefined();
  });

  it.each([
    'seller.example',
    'ftp://seller.example/',
    'javascript:alert(1)',
    'http://seller.example/',
    'https://user:hunter2@seller.example/',
    'https://seller.example/#a',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://169.254.169.254/',
    'https://10.0.0.9/',
    'http://10.0.0.9:8081/',
    'https://[::ffff:127.0.0.1]/',
  ])('may not be %s', (url) => {
    expect(problemOfUrl(url, allow)).toMatch(/^url: /);
    expect(problemOfUrl(url, allow)).not.toContain('hunter2');
  });
});
