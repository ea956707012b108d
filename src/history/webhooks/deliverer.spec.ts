import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Webhook as Receiver } from 'standardwebhooks';
import type { Address } from 'viem';
import { withKey } from '../../../test/builders/history/webhook-key.js';
import { MemoryDeliveries } from '../../../test/twins/history/webhooks/memory-deliveries.js';
import {
  type FetchAnswer,
  FetchError,
  type FetchRequest,
} from '../../platform/fetch/safe-fetch.js';
import { ATTEMPTS_MAX, Deliverer } from './deliverer.js';
import { challengeBody } from './event-body.js';
import { WebhookSecrets } from './signature.js';
import { CHALLENGE_EVENT, type Webhook } from './webhook.js';

const PAYEE: Address = `0x${'c3'.repeat(20)}`;
const HOUR_MS = 3_600_000;
const WEBHOOK: Webhook = {
  id: 'we_one',
  owner: 'shop',
  url: 'https://shop.example/hook',
  description: '',
  payees: [PAYEE],
  events: ['settlement.included'],
  secretNames: ['old', 'new'],
  createdAt: new Date(0),
  confirmedAt: new Date(0),
  failingSince: undefined,
  disabled: undefined,
};

/** What the endpoint does with what it is sent. */
type Conduct = (n: number) => Promise<Partial<FetchAnswer>> | Partial<FetchAnswer>;

describe('deliveries to a webhook', () => {
  let now: number;
  let store: MemoryDeliveries;
  let sent: FetchRequest[];
  let conduct: Conduct;
  let reported: string[];
  let payees: Set<Address>;
  let isOperator: boolean;
  const secrets = new WebhookSecrets(withKey('k'));

  const deliverer = (holder = 'one') =>
    new Deliverer(
      store,
      secrets,
      {
        payeesOfOwner: (owner) => (owner === 'shop' ? payees : new Set()),
        isOperator: (owner) => owner === 'shop' && isOperator,
      },
      {
        fetch: async (request) => {
          sent.push(request);
          const answer = await conduct(numberOf(request));
          return {
            url: request.url,
            status: 200,
            headers: {},
            body: Buffer.alloc(0),
            isCutOff: false,
            ...answer,
          };
        },
      },
      {
        attempted: (outcome) => reported.push(outcome),
        disabled: ({ id }, reason) => reported.push(`${id} disabled: ${reason}`),
        failed: () => undefined,
        recovered: () => undefined,
      },
      { processId: holder },
      { now: () => now },
    );
  const numberOf = ({ body }: FetchRequest): number =>
    (JSON.parse(body ?? '') as { readonly n: number }).n;
  const order = () => sent.map(numberOf);
  const outcome = (index = 0) => store.kept[index]?.outcome;

  afterEach(() => {
    jest.restoreAllMocks();
  });

  beforeEach(() => {
    jest.spyOn(Math, 'random').mockReturnValue(0);
    now = Date.now();
    store = new MemoryDeliveries(WEBHOOK, () => now);
    [sent, reported, payees] = [[], [], new Set([PAYEE])];
    isOperator = false;
    conduct = () => ({});
  });

  it('are signed by each of its secrets, posted once, and noted', async () => {
    store.add(1, 'a');
    expect(await deliverer().round('we_one')).toBeUndefined();
    const [request] = sent;
    expect(request).toMatchObject({ method: 'POST', url: WEBHOOK.url, body: '{"n":1}' });
    for (const name of WEBHOOK.secretNames) {
      const receiver = new Receiver(secrets.textOf('we_one', name));
      expect(receiver.verify(request?.body ?? '', { ...request?.headers })).toEqual({ n: 1 });
    }
    expect(outcome()).toEqual({ status: 200, state: 'delivered' });
    expect(reported).toEqual(['delivered']);
    expect(store.lease).toBeUndefined();
    await deliverer().round('we_one');
    expect(sent).toHaveLength(1);
  });

  it('of one settlement come one after the other, of several at once', async () => {
    for (const [index, line] of ['a', 'a', 'b', 'a', 'b'].entries()) store.add(index, line);
    let open = 0;
    let most = 0;
    const finished: number[] = [];
    conduct = async (n) => {
      open += 1;
      most = Math.max(most, open);
      // The first one of a line is the slowest.
      await new Promise((resolve) => setTimeout(resolve, n === 0 ? 20 : 1));
      open -= 1;
      finished.push(n);
      return {};
    };
    await deliverer().round('we_one');
    expect(most).toBe(2);
    expect(finished.filter((n) => [0, 1, 3].includes(n))).toEqual([0, 1, 3]);
    expect(finished.filter((n) => [2, 4].includes(n))).toEqual([2, 4]);
  });

  it('wait behind one of their settlement that failed, and behind no other', async () => {
    for (const [index, line] of ['a', 'a', 'b'].entries()) store.add(index, line);
    conduct = (n) => ({ status: n === 0 && sent.length < 4 ? 500 : 200 });
    expect(await deliverer().round('we_one')).toBeDefined();
    expect(order()).toEqual([0, 2]);
    now += 4999;
    await deliverer().round('we_one');
    expect(order()).toEqual([0, 2]);
    now += 1;
    await deliverer().round('we_one');
    expect(order()).toEqual([0, 2, 0]);
    now += 30_000;
    await deliverer().round('we_one');
    expect(order()).toEqual([0, 2, 0, 0, 1]);
  });

  it.each<[string, Conduct, object]>([
    ['another status', () => ({ status: 404 }), { status: 404, problem: /2xx/ }],
    [
      'a redirect',
      () => ({ status: 307, headers: { location: 'http://127.0.0.1/' } }),
      { status: 307, problem: /redirects/ },
    ],
    [
      'a private address',
      () =>
        Promise.reject(new FetchError('fetch_refused', 'the address of the host is not public')),
      { problem: /not public/ },
    ],
    [
      'silence',
      () => Promise.reject(new FetchError('fetch_failed', 'The server did not answer in time.')),
      { problem: /in time/ },
    ],
  ])('fail at %s, and are tried again', async (_, does, expected) => {
    store.add(1, 'a');
    conduct = does;
    expect(await deliverer().round('we_one')).toBe(5000);
    const { problem, ...rest } = expected as { readonly problem: RegExp };
    expect(outcome()).toMatchObject({ state: 'waiting', pauseMs: 5000, ...rest });
    expect(outcome()?.problem).toMatch(problem);
    expect(reported).toEqual(['refused']);
    expect(sent).toHaveLength(1);
  });

  it('keep a short piece of an answer, without what cannot be stored', async () => {
    store.add(1, 'a');
    conduct = () => ({ body: Buffer.from(`ok\u0000\u001b[2J ${'ü'.repeat(5000)}`) });
    await deliverer().round('we_one');
    const answer = outcome()?.answer ?? '';
    expect(answer).toHaveLength(256);
    expect(answer).toMatch(/^ok\[2J ü+$/);
  });

  it('end after the last attempt, and let the next one of their settlement go', async () => {
    store.add(1, 'a');
    store.add(2, 'a');
    store.add(3, 'b');
    conduct = (n) => ({ status: n === 1 ? 500 : 200 });
    for (let hour = 0; hour < 90; hour += 1) {
      // Something else reaches it, so that it is not given up as a whole.
      store.add(100 + hour, 'others');
      await deliverer().round('we_one');
      now += HOUR_MS;
    }
    const attempts = order().filter((n) => n === 1).length;
    expect(store.kept[0]?.state).toBe('failed');
    expect(attempts).toBe(ATTEMPTS_MAX);
    expect(store.kept[1]?.state).toBe('delivered');
    expect(store.disabledFor).toBeUndefined();
  });

  it('end for the endpoint when nothing has reached it for a day', async () => {
    store.add(1, 'a');
    conduct = () => ({ status: 500 });
    const from = now;
    while (store.disabledFor === undefined && now - from < 72 * HOUR_MS) {
      now += (await deliverer().round('we_one')) ?? 0;
    }
    expect(store.disabledFor).toBe('failing');
    expect((now - from) / HOUR_MS).toBeGreaterThanOrEqual(24);
    expect(reported.at(-1)).toBe('we_one disabled: failing');
    const before = sent.length;
    expect(await deliverer().round('we_one')).toBeUndefined();
    expect(sent).toHaveLength(before);
  });

  it('end at once for an endpoint that says it is gone', async () => {
    store.add(1, 'a');
    conduct = () => ({ status: 410 });
    await deliverer().round('we_one');
    expect(store.disabledFor).toBe('gone');
  });

  it('are withheld from a key that may not list the payee any more', async () => {
    store.add(1, 'a');
    store.add(2, 'test', { payTo: undefined });
    payees.clear();
    await deliverer().round('we_one');
    expect(order()).toEqual([2]);
    expect(outcome()).toMatchObject({ state: 'withheld' });
    expect(reported).toContain('withheld');
  });

  it('of lanes are withheld from a key that is no operator’s, or not any more', async () => {
    const ofLane = { type: 'lane.low', payTo: undefined };
    store.add(1, '56:0xd4', ofLane);
    await deliverer().round('we_one');
    expect(sent).toEqual([]);
    expect(outcome()).toMatchObject({ state: 'withheld' });
    isOperator = true;
    payees.clear();
    store.add(2, '56:0xd4', ofLane);
    await deliverer().round('we_one');
    expect(order()).toEqual([2]);
  });

  describe('to a URL that is not confirmed', () => {
    const CHALLENGE = 'a text that cannot be guessed';
    const body = challengeBody('we_one', CHALLENGE, new Date(0));
    const types = () =>
      sent.map((request) => (JSON.parse(request.body ?? '') as { type?: string }).type ?? 'event');

    beforeEach(() => {
      store.webhook = { ...WEBHOOK, confirmedAt: undefined };
      store.add(1, 'a');
      store.add(2, 'challenge', { type: CHALLENGE_EVENT, payTo: undefined, body });
    });

    it.each<[string, string]>([
      ['a text', CHALLENGE],
      ['a line', ` ${CHALLENGE}\n`],
      ['JSON', JSON.stringify({ challenge: CHALLENGE })],
    ])('begin when it answers the challenge by %s', async (_, answer) => {
      conduct = () => ({ body: Buffer.from(answer) });
      await deliverer().round('we_one');
      expect(types()).toEqual(['webhook.challenge', 'event']);
      expect(store.webhook.confirmedAt).toEqual(new Date(now));
      expect(store.kept.map(({ state }) => state)).toEqual(['delivered', 'delivered']);
    });

    it.each<[string, Partial<FetchAnswer>, RegExp]>([
      ['nothing', {}, /challenge/],
      ['a number', { body: Buffer.from('5') }, /challenge/],
      ['null', { body: Buffer.from('null') }, /challenge/],
      ['all that it was sent', { body: Buffer.from(body) }, /challenge/],
      ['the challenge and more', { body: Buffer.from(`<p>${CHALLENGE}</p>`) }, /challenge/],
      ['the challenge as an error', { status: 404, body: Buffer.from(CHALLENGE) }, /2xx/],
    ])('stop after the challenge where it answers with %s', async (_, answer, problem) => {
      conduct = () => answer;
      expect(await deliverer().round('we_one')).toBe(5000);
      expect(types()).toEqual(['webhook.challenge']);
      expect(outcome(1)?.problem).toMatch(problem);
      expect(store.webhook.confirmedAt).toBeUndefined();
      now += 5000;
      conduct = () => ({ body: Buffer.from(CHALLENGE) });
      await deliverer().round('we_one');
      expect(types()).toEqual(['webhook.challenge', 'webhook.challenge', 'event']);
    });

    it('stop where its owner named another URL meanwhile', async () => {
      conduct = () => {
        store.webhook = { ...store.webhook, url: 'https://other.example/hook' };
        conduct = () => ({ body: Buffer.from('no') });
        return { body: Buffer.from(CHALLENGE) };
      };
      await deliverer().round('we_one');
      expect(sent.map(({ url }) => url)).toEqual([WEBHOOK.url, 'https://other.example/hook']);
      expect(types()).toEqual(['webhook.challenge', 'webhook.challenge']);
      expect(store.webhook.confirmedAt).toBeUndefined();
    });

    it('end when it has not answered the challenge for a day', async () => {
      const from = now;
      while (store.disabledFor === undefined && now - from < 72 * HOUR_MS) {
        now += (await deliverer().round('we_one')) ?? HOUR_MS;
      }
      expect(store.disabledFor).toBe('failing');
      expect(new Set(types())).toEqual(new Set(['webhook.challenge']));
    });
  });

  it('are made by one process at a time, and by the next when that one dies', async () => {
    store.add(1, 'a');
    let others: Promise<unknown> | undefined;
    conduct = async () => {
      others ??= deliverer('two').round('we_one');
      await others;
      return {};
    };
    await deliverer().round('we_one');
    expect(order()).toEqual([1]);
    store.add(2, 'a');
    await store.take('we_one', 'dead', 30_000);
    await deliverer().round('we_one');
    expect(order()).toEqual([1]);
    now += 30_000;
    await deliverer().round('we_one');
    expect(order()).toEqual([1, 2]);
  });

  it('are made once where two jobs of one process bring it to the same endpoint', async () => {
    for (const [index, line] of ['a', 'a', 'b'].entries()) store.add(index, line);
    conduct = async () => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      return {};
    };
    const one = deliverer();
    await Promise.all([one.round('we_one'), one.round('we_one')]);
    expect([...order()].sort()).toEqual([0, 1, 2]);
  });

  it('are made again, with the same id, when what came of one was not noted', async () => {
    store.add(1, 'a');
    store.dies = true;
    await expect(deliverer().round('we_one')).rejects.toThrow('died');
    await deliverer().round('we_one');
    expect(order()).toEqual([1, 1]);
    expect(sent[0]?.headers['webhook-id']).toBe(sent[1]?.headers['webhook-id']);
  });

  it('begin no more when the process is to end', async () => {
    store.add(1, 'a');
    store.add(2, 'a');
    const one = deliverer();
    conduct = () => {
      one.stop();
      return {};
    };
    expect(await one.round('we_one')).toBe(0);
    expect(order()).toEqual([1]);
  });
});
