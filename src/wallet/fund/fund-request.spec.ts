import { inflateSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import jsQR from 'jsqr';
import { type Address, getAddress } from 'viem';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import { FundInput } from '../tools/fund-shapes.js';
import { fundRequest } from './fund-request.js';
import { qrPicture } from './qr-picture.js';

const wallet: Address = `0x${'a1'.repeat(20)}`;
const [dollar, other]: readonly Address[] = [`0x${'d4'.repeat(20)}`, `0x${'e5'.repeat(20)}`];
const facts = { methods: ['permit2'], eip712: undefined } as const;
const assets: readonly WalletAsset[] = [
  { chainId: 56, address: dollar ?? wallet, symbol: 'USDX', decimals: 6, ...facts },
  { chainId: 97, address: other ?? wallet, symbol: 'USDX', decimals: 18, ...facts },
  { chainId: 97, address: `0x${'f6'.repeat(20)}`, symbol: 'EURX', decimals: 18, ...facts },
];
const to = getAddress(wallet);

const request = (given: object) => fundRequest(wallet, assets, [56, 97], FundInput.parse(given));

/** A decoder of others reads what a camera would see. */
function decoded(png: Buffer): string | undefined {
  expect(png.subarray(1, 4).toString('latin1')).toBe('PNG');
  const width = png.readUInt32BE(16);
  const at = png.indexOf('IDAT');
  const data = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
  const lineBytes = data.length / width;
  const pixels = new Uint8ClampedArray(width * width * 4).fill(255);
  for (let line = 0; line < width; line += 1) {
    for (let pixel = 0; pixel < width; pixel += 1) {
      const byte = data[line * lineBytes + 1 + (pixel >> 3)] ?? 0;
      const isWhite = (byte & (0x80 >> (pixel & 7))) !== 0;
      if (!isWhite) pixels.fill(0, (line * width + pixel) * 4, (line * width + pixel) * 4 + 3);
    }
  }
  return jsQR.default(pixels, width, width)?.data;
}

describe('a request to fund a wallet', () => {
  it.each([
    [
      'some of a token',
      { token: 'usdx', network: 'eip155:56', amount: '1.50' },
      `ethereum:${getAddress(dollar ?? wallet)}@56/transfer?address=${to}&uint256=1500000`,
    ],
    [
      'any amount of a token by its address',
      { token: (other ?? wallet).toUpperCase().replace('0X', '0x') },
      `ethereum:${getAddress(other ?? wallet)}@97/transfer?address=${to}`,
    ],
    [
      'some of a native coin',
      { token: 'native', network: 'eip155:97', amount: '0.01' },
      `ethereum:${to}@97?value=10000000000000000`,
    ],
    ['any amount of a native coin', { token: 'native', network: 'eip155:56' }, `ethereum:${to}@56`],
  ])('is for %s, and its QR code says the same', (_what, given, uri) => {
    const { request: made, qrText, qr } = request(given);
    expect([made?.uri, qrText]).toEqual([uri, uri]);
    expect(decoded(Buffer.from(qr.data, 'base64'))).toBe(uri);
  });

  it('is the address alone where no token is named', () => {
    const { qr, ...rest } = request({});
    expect(rest).toEqual({ address: to, networks: ['eip155:56', 'eip155:97'], qrText: to });
    expect(decoded(Buffer.from(qr.data, 'base64'))).toBe(to);
  });

  it('says amounts in both forms', () => {
    const given = { token: 'USDX', network: 'eip155:56', amount: '1.5' };
    expect(request(given).request).toMatchObject({ atomic: '1500000', decimal: '1.5' });
  });

  it.each([
    ['an amount of nothing named', { amount: '1' }],
    ['a name that is on two networks', { token: 'USDX' }],
    ['the coin of which network is not said', { token: 'native' }],
    ['a token that is not known', { token: 'DOGE' }],
    ['a token of another network', { token: 'EURX', network: 'eip155:56' }],
    ['a network that is not served', { token: 'native', network: 'eip155:1' }],
    ['more decimals than the token has', { token: dollar, amount: '0.0000001' }],
    ['nothing', { token: 'EURX', amount: '0.0' }],
  ])('is refused for %s', (_what, given) => {
    expect(() => request(given)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('fits into a code however long its amount is', () => {
    const text = `ethereum:${to}@999999999999999/transfer?address=${to}&uint256=${'9'.repeat(78)}`;
    expect(decoded(qrPicture(text))).toBe(text);
  });
});
