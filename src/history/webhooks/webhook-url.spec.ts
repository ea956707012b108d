import { describe, expect, it } from '@jest/globals';
import { brokenUrlRule } from './webhook-url.js';

const URL_ = 'https://seller.example/hook';

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
    expect(brokenUrlRule(url, allow)).toBeUndefined();
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
    expect(brokenUrlRule(url, allow)).toMatch(/^a URL/);
    expect(brokenUrlRule(url, allow)).not.toContain('hunter2');
  });
});
