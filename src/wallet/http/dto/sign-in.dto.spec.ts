import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { RequestPipe } from '../../../platform/http/request.pipe.js';
import { ApprovalDto, ChallengeDto, SignedMessageDto } from './sign-in.dto.js';

const ADDRESS = `0x${'aB'.repeat(20)}`;
const SIGNED = { address: ADDRESS, message: 'hello' };
const ASSERTION = { id: 'a', authenticatorData: 'b', clientDataJSON: 'c', signature: 'd' };
const read = (metatype: Type, body: unknown): Promise<unknown> =>
  new RequestPipe().transform(body, { type: 'body', metatype });

describe('the sign-in body', () => {
  it('names its address in lower case', async () => {
    expect(await read(ChallengeDto, { address: ADDRESS })).toEqual({
      address: ADDRESS.toLowerCase(),
    });
  });

  it.each([{ signature: '0x00' }, { assertion: ASSERTION }])(
    'has a signature or the answer of a passkey: %j',
    async (proof) => {
      expect(await read(SignedMessageDto, { ...SIGNED, ...proof })).toEqual({
        ...SIGNED,
        ...proof,
      });
    },
  );

  it('has the code of the agent, too, where an agent is let in', async () => {
    expect(await read(ApprovalDto, { ...SIGNED, code: 'A' })).toEqual({ ...SIGNED, code: 'A' });
  });

  it.each<[Type, unknown, RegExp]>([
    [ChallengeDto, { address: '0x1' }, /^address must be an address/],
    [ChallengeDto, { address: [ADDRESS] }, /^address must be an address/],
    [ChallengeDto, { address: ADDRESS, more: 1 }, /not known here/],
    [SignedMessageDto, { address: ADDRESS }, /^message must be text/],
    [SignedMessageDto, { ...SIGNED, message: 'x'.repeat(4097) }, /^message must be text/],
    [SignedMessageDto, { ...SIGNED, signature: null }, /^signature must be text/],
    [SignedMessageDto, { ...SIGNED, signature: 'x'.repeat(16_387) }, /^signature must be text/],
    [SignedMessageDto, { ...SIGNED, assertion: null }, /^assertion must be an object/],
    [SignedMessageDto, { ...SIGNED, assertion: [] }, /^assertion must be an object/],
    [SignedMessageDto, { ...SIGNED, assertion: [ASSERTION] }, /^assertion must be an object/],
    [
      SignedMessageDto,
      { ...SIGNED, assertion: { ...ASSERTION, id: 'a b' } },
      /^assertion.id must be base64url/,
    ],
    [
      SignedMessageDto,
      { ...SIGNED, assertion: { ...ASSERTION, more: 1 } },
      /^assertion: a field is not known here/,
    ],
    [ApprovalDto, SIGNED, /^code must be text/],
  ])('is refused by %p: %j', async (type, body, message) => {
    await expect(read(type, body)).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: expect.stringMatching(message) as unknown,
    });
  });
});
