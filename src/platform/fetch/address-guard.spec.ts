import { describe, expect, it } from '@jest/globals';
import { isPublicAddress } from './address-guard.js';

describe('an address that is fetched from', () => {
  it.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '168.63.129.17',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '161.25.255.255',
    '166.12.0.0',
    '2606:4700:4700::1111',
    '2a00:1450:4001:80b::200e',
    '2001:200::1',
    '2003::1',
    '2620:4f:8001::1',
    '3fff:1000::1',
    '::ffff:1.1.1.1',
    '::FFFF:0101:0101',
    '64:ff9b::1.1.1.1',
  ])('may be %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.0.170',
    '192.0.2.1',
    '192.31.196.1',
    '192.52.193.1',
    '192.88.99.1',
    '192.168.1.1',
    '192.175.48.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
  ])('may not be a special-purpose address of IPv4: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
    expect(isPublicAddress(`::ffff:${address}`)).toBe(false);
    expect(isPublicAddress(`64:ff9b::${address}`)).toBe(false);
  });

  it.each([
    '168.63.129.16',
    '169.254.169.254',
    '169.254.169.253',
    '169.254.170.2',
    '192.0.0.192',
    '100.100.100.200',
    'fd00:ec2::254',
    'fd20:ce::254',
    '161.26.0.10',
    '166.9.14.1',
    '::ffff:168.63.129.16',
    '::ffff:a83f:8110',
    '64:ff9b::a83f:8110',
    '64:ff9b::a9fe:a9fe',
  ])('may not be one at which a cloud answers its machines: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each([
    '::',
    '::1',
    '::127.0.0.1',
    '::1.1.1.1',
    '::ffff:0:1.1.1.1',
    '64:ff9b:1::1.1.1.1',
    '100::1',
    '100:0:0:1::1',
    '2001::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2001:1::1',
    '2001:2::1',
    '2001:3::1',
    '2001:4:112::1',
    '2001:10::1',
    '2001:20::1',
    '2001:30::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:101:101::1',
    '2620:4f:8000::1',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '2606:4700::5efe:10.0.0.1',
    '2606:4700::200:5efe:127.0.0.1',
    'fe80::1%eth0',
    '2606:4700::1%eth0',
  ])('may not be a special-purpose or carrying address of IPv6: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['', 'localhost', '1.1.1', '0x7f.1', '[::1]', '1.1.1.1 '])(
    'may not be what is no address: %j',
    (text) => {
      expect(isPublicAddress(text)).toBe(false);
    },
  );
});
