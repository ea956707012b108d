import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { withKey } from '../../../test/builders/history/webhook-key.js';
import { WebhookSecrets } from './signature.js';

const secrets = new WebhookSecrets(withKey('k'));
const body = '{"type":"settlement.included","data":{"text":"Grüße"}}';
const now = () => Math.floor(Date.now() / 1000);
const headersOf = (names: readonly string[], seconds = now()) =>
  secrets.headersOf('we_one', names, { eventId: 'evt_1', body, seconds });
const receiver = (name: string) => new Webhook(secrets.textOf('we_one', name));

describe('a signed event', () => {
  it('is taken by the stock library with any of the secrets, and with no other', () => {
    const headers = headersOf(['first', 'second']);
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
    for (const name of ['first', 'second']) {
      expect(receiver(name).verify(body, { ...headers })).toEqual(JSON.parse(body));
    }
    expect(() => receiver('third').verify(body, { ...headers })).toThrow('No matching signature');
  });

  it.each<[string, string, Record<string, string>]>([
    ['another body', `${body} `, {}],
    ['another id', body, { 'webhook-id': 'evt_2' }],
    ['another time', body, { 'webhook-timestamp': String(now() + 60) }],
  ])('is refused with %s', (_, text, changed) => {
    const headers = { ...headersOf(['first']), ...changed };
    expect(() => receiver('first').verify(text, headers)).toThrow('No matching signature');
  });

  it('is refused once it is old', () => {
    const headers = { ...headersOf(['first'], now() - 600) };
    expect(() => receiver('first').verify(body, headers)).toThrow('too old');
  });

  it('has a secret that belongs to its endpoint, its name and the key of the service', () => {
    const text = secrets.textOf('we_one', 'first');
    expect(text).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(secrets.textOf('we_one', 'first')).toBe(text);
    const others = new WebhookSecrets(withKey('l'));
    expect(
      new Set([
        text,
        secrets.textOf('we_two', 'first'),
        secrets.textOf('we_one', 'second'),
        others.textOf('we_one', 'first'),
      ]).size,
    ).toBe(4);
  });
});
