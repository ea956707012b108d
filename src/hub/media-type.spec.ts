import { describe, expect, it } from '@jest/globals';
import { isShown, mediaTypeIn } from './media-type.js';

describe('a media type', () => {
  it.each([
    ['text/plain', 'text/plain'],
    ['Text/HTML; charset=utf-8', 'text/html'],
    [' image/svg+xml ;x', 'image/svg+xml'],
    ['application/vnd.api+json', 'application/vnd.api+json'],
    ['', undefined],
    [undefined, undefined],
    ['text', undefined],
    ['text/', undefined],
    ['text/plain\r\nX: y', undefined],
    ['text/plain, text/html', undefined],
    [`a/${'b'.repeat(64)}`, undefined],
  ])('in %j is %j', (header, type) => {
    expect(mediaTypeIn(header)).toBe(type);
  });

  it.each([
    'text/html',
    'image/svg+xml',
    'application/pdf',
    'text/xml',
    'text/javascript',
    undefined,
  ])('like %s is never shown in place: it may hold a script', (type) => {
    expect(isShown(type)).toBe(false);
  });
});
