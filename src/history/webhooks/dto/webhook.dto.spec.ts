import { describe, expect, it } from '@jest/globals';
import { RequestPipe } from '../../../platform/http/request.pipe.js';
import { WebhookChangeDto, WebhookCreationDto, WebhookReplayDto } from './webhook.dto.js';

const URL_ = 'https://seller.example/hook';
const PAYEE = `0x${'aB'.repeat(20)}`;
const pipe = new RequestPipe();
type Dto = typeof WebhookCreationDto | typeof WebhookChangeDto | typeof WebhookReplayDto;
const read = (metatype: Dto, sent: unknown): Promise<unknown> =>
  pipe.transform(sent, { type: 'body', metatype });
const problem = async (metatype: Dto, sent: unknown): Promise<string> =>
  read(metatype, sent).then(
    () => 'none',
    (error: unknown) => (error as Error).message,
  );

describe('a webhook that is asked for', () => {
  it('gets every event of settlements by default', async () => {
    expect(await read(WebhookCreationDto, { url: URL_ })).toEqual({
      url: URL_,
      description: '',
      payees: undefined,
      events: ['included', 'finalized', 'failed', 'reorged', 'unclaimed'].map(
        (name) => `settlement.${name}`,
      ),
    });
  });

  it('names payees in any case, each once', async () => {
    const sent = { url: URL_, payees: [PAYEE, PAYEE.toLowerCase()] };
    expect(await read(WebhookCreationDto, sent)).toMatchObject({ payees: [PAYEE.toLowerCase()] });
  });

  it.each<[unknown, RegExp]>([
    [undefined, /^The body/],
    [[], /^The body/],
    [{}, /^url /],
    [{ url: 7 }, /^url /],
    [{ url: `https://a.example/${'a'.repeat(2048)}` }, /^url /],
    [{ url: URL_, secret: 'hunter2' }, /^a field is not known here/],
    [{ url: URL_, payees: [] }, /^payees /],
    [{ url: URL_, payees: null }, /^payees /],
    [{ url: URL_, payees: ['0x12'] }, /^payees /],
    [
      {
        url: URL_,
        payees: Array.from({ length: 101 }, (_, at) => `0x${String(at).padStart(40, '0')}`),
      },
      /^payees /,
    ],
    [{ url: URL_, events: [] }, /^events /],
    [{ url: URL_, events: ['settlement.paid'] }, /^events /],
    [{ url: URL_, description: 'two\nlines' }, /^description /],
    [{ url: URL_, description: 'a\u0000' }, /^description /],
    [{ url: URL_, description: 'a'.repeat(257) }, /^description /],
  ])('is refused: %j', async (sent, why) => {
    const answer = await problem(WebhookCreationDto, sent);
    expect(answer).toMatch(why);
    expect(answer).not.toContain('hunter2');
  });

  it('changes one thing at a time', async () => {
    expect(await read(WebhookChangeDto, { enabled: false })).toEqual({ enabled: false });
    expect(await read(WebhookChangeDto, {})).toEqual({});
    expect(await problem(WebhookChangeDto, { enabled: 'no' })).toMatch(/^enabled /);
    expect(await problem(WebhookChangeDto, { owner: 'other' })).toMatch(/^a field is not known/);
  });

  it('can get events again, after an event or since a time', async () => {
    const after = `evt_${'a'.repeat(32)}`;
    expect(await read(WebhookReplayDto, { after })).toEqual({ after });
    const since = '2026-11-22T10:00:00Z';
    expect(await read(WebhookReplayDto, { since })).toEqual({ since });
    expect(await problem(WebhookReplayDto, { after: "evt_' or 1=1" })).toMatch(/^after /);
    expect(await problem(WebhookReplayDto, { since: 'yesterday' })).toMatch(/^since /);
    expect(await problem(WebhookReplayDto, { since: '2026-02-30T10:00:00Z' })).toMatch(/^since /);
  });
});
