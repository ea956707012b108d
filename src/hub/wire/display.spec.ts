import { describe, expect, it } from '@jest/globals';
import { isDisplayed } from '../api/api-download.controller.js';

const asked = (method: string, accept: string | undefined, display = '', download = ''): boolean =>
  isDisplayed({ method, accept, display, download });

describe('isDisplayed', () => {
  it.each([
    ['GET', 'application/json', true],
    ['HEAD', 'application/json; charset=utf-8', true],
    ['GET', 'application/json, */*;q=0', true],
    ['POST', 'application/json', false],
    ['GET', 'application/json, text/plain, */*', false],
    ['GET', 'application/json;q=0', false],
    ['GET', '*/*', false],
    ['GET', undefined, false],
    ['GET', 'text/plain', false],
    ['GET', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
    ['POST', 'text/html,*/*', false],
  ])('%s with %s', (method, accept, expected) => {
    expect(asked(method, accept)).toBe(expected);
  });

  it('goes by what is asked for in words before all else', () => {
    expect(asked('POST', '*/*', 'json')).toBe(true);
    expect(asked('GET', 'text/html', '', '1')).toBe(false);
    expect(asked('GET', 'application/json', '', '1')).toBe(false);
  });
});
