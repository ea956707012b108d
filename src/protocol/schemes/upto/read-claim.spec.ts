import { describe, expect, it } from '@jest/globals';
import { sponsoredBy } from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import {
  UPTO_LANE,
  UPTO_PAYEE,
  UPTO_PAYER,
  UPTO_TOKEN,
} from '../../../../test/builders/protocol/schemes/upto/upto.js';
import { UPTO_PERMIT2_PROXY } from '../../evm/contracts.js';
import { type JsonObject, UINT256_MAX } from '../../payment/wire-values.js';
import { payerAsSent, readUptoAmount, readUptoClaim, whyUnreadable } from './upto.js';

const SHAPE = 'unsupported_payload_type';
const VALUE = 'invalid_payload';

interface Changes {
  readonly payload?: JsonObject;
  readonly permit?: JsonObject;
  readonly permitted?: JsonObject;
  readonly witness?: JsonObject;
}

const aPayload = ({ payload, permit, permitted, witness }: Changes = {}): JsonObject => ({
  payload: {
    signature: '0xABcd',
    permit2Authorization: {
      from: UPTO_PAYER,
      permitted: { token: UPTO_TOKEN, amount: '1000', ...permitted },
      spender: UPTO_PERMIT2_PROXY,
      nonce: '0x4d',
      deadline: '0099',
      witness: { to: UPTO_PAYEE, facilitator: UPTO_LANE, validAfter: '-1', ...witness },
      ...permit,
    },
    ...payload,
  },
});

describe('a payload of upto', () => {
  it('is read in the forms a number may have as text', () => {
    expect(readUptoClaim(aPayload())).toStrictEqual({
      scheme: 'upto',
      method: 'permit2',
      from: UPTO_PAYER,
      token: UPTO_TOKEN,
      amount: 1000n,
      spender: UPTO_PERMIT2_PROXY,
      nonce: 77n,
      deadline: 99n,
      witnessTo: UPTO_PAYEE,
      facilitator: UPTO_LANE,
      witnessValidAfter: -1n,
      signature: '0xabcd',
      sponsoredPermit: undefined,
    });
  });

  it('is read in whatever letter case its addresses are', () => {
    const shout = (address: string): string => `0x${address.slice(2).toUpperCase()}`;
    const witness = { to: shout(UPTO_PAYEE), facilitator: shout(UPTO_LANE) };
    const read = readUptoClaim(aPayload({ permit: { from: shout(UPTO_PAYER) }, witness }));
    expect(read).toEqual(readUptoClaim(aPayload()));
  });

  it('is read with the permit of the token it brings', () => {
    const read = readUptoClaim({ ...aPayload(), extensions: sponsoredBy() });
    expect(read?.sponsoredPermit).toMatchObject({ amount: '1000', version: '1' });
  });

  it.each<[string, string | undefined]>([
    ['0x', '0x'],
    ['0xABC', undefined],
    ['signed', undefined],
    ['', undefined],
  ])('may have %j for a signature: it is judged later', (signature, read) => {
    const claim = readUptoClaim(aPayload({ payload: { signature } }));
    expect(claim).toBeDefined();
    expect(claim?.signature).toBe(read);
  });

  it.each<[string, Changes, string]>([
    ['no signature', { payload: { signature: undefined } }, SHAPE],
    ['no permit', { payload: { permit2Authorization: undefined } }, SHAPE],
    ['a list for a permit', { payload: { permit2Authorization: [] } }, SHAPE],
    ['no payer', { permit: { from: undefined } }, SHAPE],
    ['a spender that is no text', { permit: { spender: 7 } }, SHAPE],
    ['a nonce that is a number', { permit: { nonce: 77 } }, SHAPE],
    ['a deadline that is a number', { permit: { deadline: 99 } }, SHAPE],
    ['nothing permitted', { permit: { permitted: null } }, SHAPE],
    ['no token', { permitted: { token: null } }, SHAPE],
    ['an amount that is a number', { permitted: { amount: 1000 } }, SHAPE],
    ['no witness', { permit: { witness: undefined } }, SHAPE],
    ['no payee', { witness: { to: undefined } }, SHAPE],
    // A permit of exact.
    ['no facilitator', { witness: { facilitator: undefined } }, SHAPE],
    ['a start that is a number', { witness: { validAfter: 0 } }, SHAPE],
    ['a payer that is no address', { permit: { from: '0x1' } }, VALUE],
    ['a spender that is no address', { permit: { spender: 'proxy' } }, VALUE],
    ['a token that is no address', { permitted: { token: 'USD' } }, VALUE],
    ['a payee that is no address', { witness: { to: 'shop.eth' } }, VALUE],
    ['a facilitator that is no address', { witness: { facilitator: '' } }, VALUE],
    ['an amount with a fraction', { permitted: { amount: '1.5' } }, VALUE],
    ['a nonce in words', { permit: { nonce: 'seven' } }, VALUE],
    ['an empty deadline', { permit: { deadline: '' } }, VALUE],
    ['a start of too many digits', { witness: { validAfter: '1'.repeat(101) } }, VALUE],
    // The shape is asked first.
    ['both', { permit: { nonce: 77 }, witness: { facilitator: '' } }, SHAPE],
  ])('is not read with %s', (_, changes, reason) => {
    const payload = aPayload(changes);
    expect(readUptoClaim(payload)).toBeUndefined();
    expect(whyUnreadable(payload)).toBe(reason);
  });

  it.each([[{}], [{ payload: null }], [{ payload: 'eyJ' }], [{ payload: [] }]])(
    'is undefined without an upto payload: %j',
    (payload) => {
      expect(readUptoClaim(payload)).toBeUndefined();
      expect(whyUnreadable(payload)).toBe(SHAPE);
    },
  );

  it('names its payer as sent', () => {
    expect(payerAsSent({ permit2Authorization: { from: '0xAB' } })).toBe('0xAB');
    expect(payerAsSent({ permit2Authorization: 'x' })).toBeUndefined();
    expect(payerAsSent({ authorization: { from: '0xAB' } })).toBeUndefined();
  });
});

describe('the amount that a seller of upto settles', () => {
  it.each<[string, bigint]>([
    ['0', 0n],
    ['400', 400n],
    ['0400', 400n],
    ['0'.repeat(78), 0n],
    [UINT256_MAX.toString(), UINT256_MAX],
  ])('is %s', (sent, amount) => {
    expect(readUptoAmount(sent)).toBe(amount);
  });

  it.each<[unknown]>([
    [400],
    [400n],
    [undefined],
    [null],
    [['400']],
    [''],
    [' 400'],
    ['400\n'],
    ['-1'],
    ['-0'],
    ['+1'],
    ['0x10'],
    ['1e3'],
    ['1.0'],
    ['50%'],
    ['$0.01'],
    ['٤٠٠'],
    ['0'.repeat(79)],
    [(UINT256_MAX + 1n).toString()],
  ])('is not an amount: %p', (sent) => {
    expect(readUptoAmount(sent)).toBeUndefined();
  });
});
