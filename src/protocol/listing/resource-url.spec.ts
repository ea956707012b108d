import { describe, expect, it } from '@jest/globals';
import { iconUrlOf, isFault, readResourceUrl, routeTemplateOf, standsFor } from './resource-url.js';

function read(declared: unknown, allow: readonly string[] = []): string {
  const url = readResourceUrl(declared, 'resource.url', new Set(allow));
  return isFault(url) ? url.code : url.origin + url.path;
}

describe('the URL of what is sold', () => {
  it.each([
    ['https://Shop.Example.com:443/a/b?user=1#top', 'https://shop.example.com/a/b'],
    ['http://shop.example.com.:8080', 'http://shop.example.com:8080/'],
    ['mcp://tool/weather', 'mcp://tool/weather'],
    ['https://münchen.de/', 'https://xn--mnchen-3ya.de/'],
  ])('%s is known as %s', (declared, known) => {
    expect(read(declared)).toBe(known);
  });

  it.each([
    [undefined, 'resource_missing'],
    ['', 'resource_missing'],
    ['/report', 'resource_invalid'],
    ['shop.example.com/report', 'resource_invalid'],
    [7, 'resource_invalid'],
    [`https://shop.example.com/${'a'.repeat(2048)}`, 'resource_invalid'],
    [`https://shop.example.com/${'天'.repeat(1000)}`, 'resource_invalid'],
    ['https://shop.example.com/\u202Egnp', 'resource_invalid'],
    ['javascript:alert(1)', 'resource_scheme'],
    ['data:text/html,x', 'resource_scheme'],
    ['file:///etc/passwd', 'resource_scheme'],
    ['ftp://shop.example.com/', 'resource_scheme'],
    ['mcp:tool', 'resource_invalid'],
    ['https://user:secret@shop.example.com/', 'resource_credentials'],
    ['http://localhost:4021/report', 'resource_not_public'],
    ['http://127.0.0.1/', 'resource_not_public'],
    ['http://2130706433/', 'resource_not_public'],
    ['http://0x7f.1/', 'resource_not_public'],
    ['http://[::1]/', 'resource_not_public'],
    ['http://169.254.169.254/latest', 'resource_not_public'],
    ['http://printer/', 'resource_not_public'],
    ['http://shop.local/', 'resource_not_public'],
    ['http://shop.internal./', 'resource_not_public'],
  ])('%s is refused: %s', (declared, code) => {
    expect(read(declared)).toBe(code);
  });

  it('may be one that the operator allows', () => {
    expect(read('http://127.0.0.1:4021/a', ['127.0.0.1'])).toBe('http://127.0.0.1:4021/a');
    expect(read('http://127.0.0.1:4021/a', ['127.0.0.1:4021'])).toBe('http://127.0.0.1:4021/a');
    expect(read('http://127.0.0.1:4022/a', ['127.0.0.1:4021'])).toBe('resource_not_public');
  });
});

describe('the URL of an icon', () => {
  it('is public and of the web', () => {
    expect(iconUrlOf('https://shop.example.com/i.png?v=2')).toBe(
      'https://shop.example.com/i.png?v=2',
    );
    for (const declared of [
      'javascript:alert(1)',
      'http://10.0.0.1/i.png',
      'https://a:b@shop.example.com/i.png',
      'https://localhost/i.png',
      '/i.png',
      5,
      `https://shop.example.com/${'a'.repeat(3000)}`,
    ]) {
      expect(iconUrlOf(declared)).toBeUndefined();
    }
  });
});

describe('the template of a route', () => {
  it.each([
    ['/weather/:city', '/weather/berlin'],
    ['/a/:b/c/:d', '/a/1/c/2'],
    ['/file-:id.json', '/file-77.json'],
    ['/:a-:b', '/x-y'],
    ['/plain', '/plain'],
  ])('%s stands for %s', (template, path) => {
    expect(routeTemplateOf(template, path)).toBe(template);
  });

  it.each([
    ['/weather/:city', '/weather/berlin/mitte'],
    ['/weather/:city', '/weather/'],
    ['/weather/:city', '/news/berlin'],
    ['/file-:id.json', '/file-.json'],
    ['/a/../b', '/a/../b'],
    ['/a/%2e%2e/b', '/a/%2e%2e/b'],
    ['/a/%252525252e', '/a/%252525252e'],
    ['/a/%zz', '/a/%zz'],
    ['/https://x', '/https://x'],
    ['weather/:city', 'weather/berlin'],
    ['/a?b', '/a?b'],
    [7, '/a'],
  ])('%s does not stand for %s', (template, path) => {
    expect(routeTemplateOf(template, path)).toBeUndefined();
  });

  it.each([
    ['https://a.example/weather/:city', 'https://a.example/weather/paris', true],
    ['https://a.example/weather/:city', 'https://a.example/weather/', false],
    ['https://a.example/weather/:city', 'https://a.example/weather/paris/now', false],
    ['https://a.example/weather/:city', 'http://a.example/weather/paris', false],
    ['https://a.example/weather/:city', 'https://b.example/weather/paris', false],
    ['https://a.example:4021/:a/b-:c.json', 'https://a.example:4021/x/b-y.json', true],
    ['https://[fe80::abcd]/:a', 'https://[fe80:1]/x', false],
  ])('whether %s stands for %s: %s', (template, url, is) => {
    expect(standsFor(template, url)).toBe(is);
  });
});
