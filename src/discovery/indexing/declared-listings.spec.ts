import { beforeEach, describe, expect, it } from '@jest/globals';
import { PAYEE } from '../../../test/builders/discovery/catalogue-update.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import type { NotedContent } from '../../settlement/ledger/declaration-notes.js';
import type { ClaimRef } from '../../settlement/ledger/settlement-store.js';
import type { CarriedExtension, ExtendedOutcome } from '../../settlement/settle-extension.js';
import type { EntryName } from '../owned/statement.js';
import { DeclaredListings } from './declared-listings.js';

const TOKEN = `0x${'c3'.repeat(20)}`;
const REF: ClaimRef = { chainId: 56, id: 'mine' };
const GOOD = {
  resource: { url: 'https://shop.example.com/a' },
  extensions: { bazaar: { info: { input: { type: 'http', method: 'GET' } } } },
};
const BAD = { ...GOOD, resource: { url: 'javascript:alert(1)' } };

describe('what a settle request declares', () => {
  let noted: (ClaimRef & NotedContent)[];
  let trouble: unknown[];
  let reply: boolean | Error;
  let isKnown: boolean;
  let prepared: number;
  let refused: (entry: EntryName) => 'removed' | 'denied' | undefined;

  beforeEach(() => {
    [prepared, refused] = [0, () => undefined];
    [noted, trouble] = [[], []];
    [reply, isKnown] = [true, true];
  });

  function carried(payload: JsonObject, isOn = true): CarriedExtension | undefined {
    const notes = {
      note: (ref: ClaimRef, content: NotedContent) => {
        noted.push({ ...ref, ...content });
        return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
      },
    };
    const refusals = { prepare: () => (prepared += 1), of: (entry: EntryName) => refused(entry) };
    return new DeclaredListings(
      { allow: new Set(), isKnownAsset: () => isKnown },
      notes,
      { warn: (error: unknown) => trouble.push(error) },
      isOn ? refusals : undefined,
    ).carriedBy({
      paymentPayload: { x402Version: 2, ...payload },
      paymentRequirements: {},
      payment: {
        requirements: { network: 'eip155:56', asset: TOKEN, payTo: PAYEE },
      } as unknown as Payment,
    });
  }

  async function statusFor(
    one: CarriedExtension | undefined,
    result: ExtendedOutcome['result'] = 'success',
    settlementId = 'mine',
  ): Promise<unknown> {
    await new Promise((resolve) => setImmediate(resolve));
    const header = one?.responseTo({ result, settlementId }) ?? '';
    return (JSON.parse(Buffer.from(header, 'base64').toString()) as JsonObject)['bazaar'];
  }

  it('is nothing where nothing is declared', () => {
    expect(carried({})).toBeUndefined();
    expect(carried({ resource: GOOD.resource })).toBeUndefined();
  });

  it('is noted before the claim, and becomes of what the payment does', async () => {
    const one = carried(GOOD);
    one?.beforeClaim(REF);
    expect(noted).toMatchObject([{ chainId: 56, id: 'mine' }]);
    expect(JSON.parse(noted[0]?.content ?? '')).toMatchObject({
      listing: { resource: 'https://shop.example.com/a' },
    });
    for (const result of ['success', 'pending', 'accepted'] as const) {
      expect(await statusFor(one, result)).toEqual({
        status: 'processing',
        code: 'awaiting_outcome',
        status_url: '/discovery/status',
      });
    }
    expect(await statusFor(one, 'failure')).toMatchObject({
      status: 'rejected',
      code: 'not_settled',
    });
  });

  it('is kept once for all that declare the same', () => {
    carried(GOOD)?.beforeClaim(REF);
    carried({ ...GOOD })?.beforeClaim({ ...REF, id: 'another' });
    carried({ ...GOOD, resource: { url: 'https://shop.example.com/b' } })?.beforeClaim(REF);
    const [first, second, third] = noted.map(({ tag }) => tag);
    expect([second === first, third === first]).toEqual([true, false]);
  });

  it('counts for nothing where another request has claimed the payment', async () => {
    const joined = carried(GOOD);
    expect(await statusFor(joined)).toMatchObject({
      status: 'processing',
      code: 'first_request_counts',
    });
    const late = carried(GOOD);
    late?.beforeClaim(REF);
    expect(await statusFor(late, 'success', 'theirs')).toMatchObject({
      code: 'first_request_counts',
    });
  });

  it('reports what is wrong with it, whatever the outcome of the payment', async () => {
    const one = carried(BAD);
    one?.beforeClaim(REF);
    const wrong = {
      status: 'rejected',
      code: 'resource_scheme',
      path: 'paymentPayload.resource.url',
      rejectedReason: expect.stringMatching(/^resource_scheme: /),
    };
    for (const result of ['success', 'failure'] as const) {
      expect(await statusFor(one, result)).toEqual(wrong);
    }
    // Later requests get the same answer.
    expect(JSON.parse(noted[0]?.content ?? '')).toEqual({
      code: 'resource_scheme',
      path: 'paymentPayload.resource.url',
    });
  });

  it('is not listed when it was paid in an unknown token', async () => {
    isKnown = false;
    expect(await statusFor(carried(GOOD))).toMatchObject({
      status: 'rejected',
      code: 'asset_not_known',
    });
  });

  it('is not listed where there is no catalogue, and it says so', async () => {
    const one = carried(GOOD, false);
    one?.beforeClaim(REF);
    expect(noted).toEqual([]);
    expect(await statusFor(one)).toMatchObject({ status: 'rejected', code: 'catalogue_off' });
  });

  it('reports a listing removed from the catalogue, once it was paid', async () => {
    const asked: EntryName[] = [];
    for (const code of ['removed', 'denied'] as const) {
      refused = (entry) => {
        asked.push(entry);
        return code;
      };
      const one = carried(GOOD);
      one?.beforeClaim(REF);
      expect(await statusFor(one)).toMatchObject({ status: 'rejected', code });
      expect(await statusFor(one, 'failure')).toMatchObject({ code: 'not_settled' });
    }
    expect(asked[0]).toEqual({
      chainId: 56,
      payTo: PAYEE,
      type: 'http',
      call: 'GET',
      resource: 'https://shop.example.com/a',
    });
    carried(BAD);
    expect(prepared).toBe(2);
  });

  it('is lost where there is no room, or no Redis, and it says so', async () => {
    for (const trial of [false, new RedisUnavailableError('note_declaration', 'away')]) {
      reply = trial;
      const one = carried(GOOD);
      one?.beforeClaim(REF);
      expect(await statusFor(one)).toMatchObject({ status: 'rejected', code: 'catalogue_busy' });
    }
    expect(trouble).toHaveLength(1);
  });

  it('keeps no payment from being settled, whatever it is', () => {
    const thrower = new Proxy(
      {},
      {
        get: () => {
          throw new TypeError('a bug');
        },
      },
    );
    expect(carried({ resource: thrower, extensions: GOOD.extensions })).toBeUndefined();
    expect(trouble).toHaveLength(1);
  });
});
