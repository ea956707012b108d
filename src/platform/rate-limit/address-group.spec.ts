import { describe, expect, it } from '@jest/globals';
import { addressGroup, customerGroup, siteGroup } from './address-group.js';

describe('addressGroup', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0DB8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::FFFF:CB00:7109', '203.0.113.9'],
    ['::ffff:0:203.0.113.9', '0:0:0:0::/64'],
    ['2001:db8:1:2:3:4:203.0.113.9', '2001:db8:1:2::/64'],
    ['', 'unknown'],
    ['a text of a header', 'unknown'],
    [undefined, 'unknown'],
  ])('%s', (address, group) => {
    expect(addressGroup(address)).toBe(group);
  });
});

describe('customerGroup', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2ff::1', '2001:db8:1:200::/56'],
    ['2001:db8:1:200:3:4:5:6', '2001:db8:1:200::/56'],
    ['2001:db8:1:300::1', '2001:db8:1:300::/56'],
    [undefined, 'unknown'],
  ])('%s', (address, group) => {
    expect(customerGroup(address)).toBe(group);
  });
});

describe('siteGroup', () => {
  it.each([
    ['203.0.113.9', '203.0.113.0/24'],
    ['::ffff:203.0.113.250', '203.0.113.0/24'],
    ['2001:db8:1:2ff::1', '2001:db8:1:0::/48'],
    ['2001:db8:2::', '2001:db8:2:0::/48'],
    [undefined, 'unknown'],
  ])('%s', (address, group) => {
    expect(siteGroup(address)).toBe(group);
  });
});
