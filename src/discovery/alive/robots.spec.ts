import { describe, expect, it } from '@jest/globals';
import { mayAsk, readRobots, ROBOTS_MAX_BYTES } from './robots.js';

const PRODUCT = 'PaymentCatalogue';
const robots = (text: string, isCutOff = false) => readRobots(text, isCutOff, PRODUCT);
const may = (text: string, path: string): boolean =>
  mayAsk(robots(text), new URL(path, 'https://shop.example.com'));

describe('robots.txt', () => {
  it.each([
    ['nothing', '', '/a', true],
    ['no group', 'Disallow: /', '/a', true],
    ['a group of everybody', 'User-agent: *\nDisallow: /a', '/a/b', false],
    ['a path beside it', 'User-agent: *\nDisallow: /a', '/b', true],
    ['an empty line of it', 'User-agent: *\nDisallow:', '/a', true],
    ['a group of another', 'User-agent: Other\nDisallow: /', '/a', true],
    ['a group of ours', 'User-agent: paymentcatalogue\nDisallow: /a', '/a', false],
    ['a version behind it', 'User-agent: PaymentCatalogue/2.0 (x)\nDisallow: /a', '/a', false],
    ['a longer name', 'User-agent: PaymentCatalogueX\nDisallow: /', '/a', true],
    [
      'ours before everybody',
      'User-agent: *\nDisallow: /\n\nUser-agent: PaymentCatalogue\nDisallow: /x',
      '/a',
      true,
    ],
    [
      'ours that says nothing',
      'User-agent: *\nDisallow: /\nUser-agent: PaymentCatalogue\nDisallow:',
      '/a',
      true,
    ],
    [
      'two groups of ours',
      'User-agent: PaymentCatalogue\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: PaymentCatalogue\nDisallow: /b',
      '/b',
      false,
    ],
    [
      'two names of one group',
      'User-agent: x\nUser-agent: PaymentCatalogue\nDisallow: /a',
      '/a',
      false,
    ],
    [
      'lines that are no rules within',
      'User-agent: *\nCrawl-delay: 9\nSitemap: https://x/\nDisallow: /a',
      '/a',
      false,
    ],
    ['the longer rule', 'User-agent: *\nDisallow: /a\nAllow: /a/b', '/a/b/c', true],
    ['the longer rule, in any order', 'User-agent: *\nAllow: /a/b\nDisallow: /a', '/a/c', false],
    ['two as long', 'User-agent: *\nDisallow: /a\nAllow: /a', '/a', true],
    ['two as long, in any order', 'User-agent: *\nAllow: /a\nDisallow: /a', '/a', true],
    ['a star', 'User-agent: *\nDisallow: /*.json', '/a/b.json?c=1', false],
    ['a star and an end', 'User-agent: *\nDisallow: /*.json$', '/a/b.json?c=1', true],
    ['an end', 'User-agent: *\nDisallow: /a$', '/a', false],
    ['an end of another', 'User-agent: *\nDisallow: /a$', '/ab', true],
    ['several stars', 'User-agent: *\nDisallow: /*a*b*c', '/xaxbxc', false],
    ['stars out of order', 'User-agent: *\nDisallow: /*a*c*b$', '/xaxbxc', true],
    ['parts that may not overlap', 'User-agent: *\nDisallow: /ab*ba$', '/aba', true],
    ['another spelling of a letter', 'User-agent: *\nDisallow: /%61b', '/ab', false],
    ['a reserved character encoded', 'User-agent: *\nDisallow: /a%2Fb', '/a/b', true],
    ['letters beyond ASCII', 'User-agent: *\nDisallow: /ツ', '/%e3%83%84', false],
    ['case of a path', 'User-agent: *\nDisallow: /A', '/a', true],
    [
      'comments, spaces and case',
      '\uFEFF# x\r\n uSER-aGENT : * # all\r\n  DISALLOW:/a # b',
      '/a',
      false,
    ],
    ['ends of lines of a Mac', 'User-agent: *\rDisallow: /a', '/a', false],
    ['what is no text', '\0\x01User-agent: *\n\uFFFD\nDisallow: /', '/a', true],
  ])('is read: %s', (_, text, path, expected) => {
    expect(may(text, path)).toBe(expected);
  });

  it('has half a line where it is cut off, which would forbid more than it says', () => {
    const text = 'User-agent: *\nDisallow: /private/\nDisallow: /';
    expect(mayAsk(robots(text, true), new URL('https://a.example/b'))).toBe(true);
    expect(mayAsk(robots(text, false), new URL('https://a.example/b'))).toBe(false);
  });

  it('asks for nothing where rules are too many, too long or have too many stars', () => {
    const many = 'Disallow: /x\n'.repeat(1001);
    for (const rules of [many, `Disallow: /${'x'.repeat(2048)}`, `Disallow: /${'*x'.repeat(17)}`]) {
      expect(robots(`User-agent: *\n${rules}`)).toBe('nothing');
      expect(robots(`User-agent: other\n${rules}`)).toEqual([]);
    }
  });

  it('takes no time to speak of at its worst', () => {
    const half = 'a'.repeat(32);
    const pattern = `/${`*${half}b`.repeat(14)}`;
    const line = `Disallow: ${pattern}\n`;
    const count = Math.min(1000, Math.floor(ROBOTS_MAX_BYTES / line.length));
    const rules = robots(`User-agent: *\n${line.repeat(count)}`);
    const url = new URL(`https://a.example/${`${half}b`.repeat(13)}${'a'.repeat(1500)}`);
    const before = performance.now();
    expect(mayAsk(rules, url)).toBe(true);
    // A few milliseconds; the bound is that of a slow machine, far below what a fault would take.
    expect(performance.now() - before).toBeLessThan(1000);
  });
});
