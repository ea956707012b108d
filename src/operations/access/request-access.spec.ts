import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import type { AccessConfig, Scope } from '../../platform/config/access-settings.js';
import type { AccessDecision, AccessRule } from '../../platform/http/access.js';
import { ClientAddresses } from '../../platform/http/client-address.js';
import type { Rate, RateVerdict } from '../../platform/rate-limit/rate-limiter.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { ApiKeyStore } from './api-key-store.js';
import { RequestAccess } from './request-access.js';

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="x402", ApiKey realm="x402"' };
const LET_IN: AccessDecision = { refusal: undefined, caller: undefined, headers: {} };

const SCOPES_OF: Readonly<Record<string, readonly Scope[]>> = {
  shop: ['verify', 'settle'],
  books: ['history'],
  checker: ['verify'],
  ops: ['history', 'admin'],
};
const PAYEES: ReadonlySet<Address> = new Set([`0x${'c3'.repeat(20)}` as const]);
/** A key here is the id of its owner. */
const keys: Pick<ApiKeyStore, 'find'> = {
  find: (id) => {
    const scopes = SCOPES_OF[id];
    return scopes && { id, scopes: new Set(scopes), payees: PAYEES };
  },
};

const VERDICT: RateVerdict = {
  isAllowed: true,
  limit: 5,
  remaining: 4,
  resetSeconds: 1,
  retryAfterSeconds: 0,
};
const SAID = { 'RateLimit-Limit': 5, 'RateLimit-Remaining': 4, 'RateLimit-Reset': 1 };

function access(
  more: {
    readonly keys?: undefined;
    readonly limits?: AccessConfig['rateLimits'];
    readonly open?: readonly Scope[];
  },
  verdict: RateVerdict | Error = VERDICT,
): { readonly taken: [string, Rate][]; readonly access: RequestAccess } {
  const taken: [string, Rate][] = [];
  const limiter = {
    take: (caller: string, rate: Rate) => {
      taken.push([caller, rate]);
      return verdict instanceof Error ? Promise.reject(verdict) : Promise.resolve(verdict);
    },
  };
  const { limits: rateLimits = { verify: 0, settle: 0, lookup: 0 }, open } = more;
  const known = 'keys' in more ? undefined : keys;
  const config = { access: { rateLimits, openScopes: new Set(open) } };
  const addresses = new ClientAddresses({ trustProxy: 'off' });
  return { taken, access: new RequestAccess(config, addresses, limiter, known) };
}

const requestWith = (headers: Readonly<Record<string, string>>): IncomingMessage =>
  ({ headers, socket: { remoteAddress: '2001:db8:1:2::9' } }) as unknown as IncomingMessage;
const ruleOf = (scope?: Scope, bucket?: AccessRule['bucket']): AccessRule => ({ scope, bucket });

describe('who may ask', () => {
  it.each([
    ['a key with the scope', { 'x-api-key': 'shop' }, 'settle', undefined, 'shop'],
    ['a bearer', { authorization: 'Bearer shop' }, 'settle', undefined, 'shop'],
    ['a bearer in other letters', { authorization: 'bEARER   shop' }, 'verify', undefined, 'shop'],
    ['no key', {}, 'verify', 401, undefined],
    ['an unknown key', { 'x-api-key': 'stranger' }, 'verify', 401, undefined],
    ['an empty key', { 'x-api-key': '', authorization: 'Bearer shop' }, 'verify', 401, undefined],
    ['basic credentials', { authorization: 'Basic shop' }, 'verify', 401, undefined],
    ['a bearer with more behind', { authorization: 'Bearer shop x' }, 'verify', 401, undefined],
    ['a key without the scope', { 'x-api-key': 'checker' }, 'settle', 403, 'checker'],
    ['a bearer of the hub', { authorization: 'Bearer shop' }, 'hub', 401, undefined],
    ['a bearer of operators', { authorization: 'Bearer shop' }, 'admin', 401, undefined],
    ['a key of the hub', { 'x-api-key': 'shop' }, 'hub', 403, 'shop'],
    ['no key on a public route', {}, undefined, undefined, undefined],
    ['a key on a public route', { 'x-api-key': 'shop' }, undefined, undefined, 'shop'],
  ] as const)('%s', async (_, headers, scope, refusal, caller) => {
    const decision = await access({}).access.decide(requestWith(headers), ruleOf(scope));
    const challenge = refusal === 401 ? CHALLENGE : {};
    expect(decision).toEqual({ refusal, caller, headers: challenge });
  });

  it.each([
    ['no key, for an open scope', {}, 'settle', undefined, undefined],
    ['a key without an open scope', { 'x-api-key': 'checker' }, 'settle', undefined, 'checker'],
    ['an unknown key, for an open scope', { 'x-api-key': 'stranger' }, 'settle', 401, undefined],
    ['no key, for another scope', {}, 'verify', 401, undefined],
    ['no key, for operators', {}, 'admin', 401, undefined],
  ] as const)('%s', async (_, headers, scope, refusal, caller) => {
    const open = access({ open: ['settle'] }).access;
    const decision = await open.decide(requestWith(headers), ruleOf(scope));
    expect(decision).toMatchObject({ refusal, caller });
  });

  it('lets an unknown key use a public route, and says that it is unknown', async () => {
    const decision = await access({}).access.decide(requestWith({ 'x-api-key': '?' }), ruleOf());
    expect(decision).toEqual({ ...LET_IN, isKeyUnknown: true });
  });

  it('is anybody where no keys are in use, whatever key comes', async () => {
    const { access: open } = access({ keys: undefined });
    const request = requestWith({ 'x-api-key': 'shop' });
    expect(await open.decide(request, ruleOf('settle'))).toEqual(LET_IN);
  });
});

describe('how often', () => {
  const limits = { verify: 5, settle: 0, lookup: 5 };

  it('counts by key, else by address, each bucket apart', async () => {
    const { access: limited, taken } = access({ limits });
    const request = requestWith({ 'x-api-key': 'shop' });
    expect(await limited.decide(request, ruleOf('verify', 'verify'))).toEqual({
      refusal: undefined,
      caller: 'shop',
      headers: SAID,
    });
    await limited.decide(requestWith({}), ruleOf(undefined, 'lookup'));
    const rate: Rate = { requests: 5, seconds: 1, burst: 5 };
    expect(taken).toEqual([
      ['verify:key:shop', rate],
      ['lookup:ip:2001:db8:1:2::/64', rate],
    ]);
  });

  it('is not asked of Redis where the route has no limit, nor for who may not ask', async () => {
    const { access: limited, taken } = access({ limits });
    await limited.decide(requestWith({ 'x-api-key': 'shop' }), ruleOf('settle', 'settle'));
    await limited.decide(requestWith({}), ruleOf());
    await limited.decide(requestWith({}), ruleOf('verify', 'verify'));
    expect(taken).toEqual([]);
  });

  it('refuses beyond the limit, and says when to come again', async () => {
    const refused = { ...VERDICT, isAllowed: false, remaining: 0, retryAfterSeconds: 2 };
    const { access: limited } = access({ limits, keys: undefined }, refused);
    expect(await limited.decide(requestWith({}), ruleOf('verify', 'verify'))).toEqual({
      refusal: 429,
      caller: undefined,
      headers: { ...SAID, 'RateLimit-Remaining': 0, 'Retry-After': 2 },
    });
  });

  it('is not counted while Redis is away; any other fault is not hidden', async () => {
    const request = requestWith({ 'x-api-key': 'shop' });
    const away = access({ limits }, new RedisUnavailableError('rate_limit', 'away')).access;
    expect(await away.decide(request, ruleOf('verify', 'verify'))).toEqual({
      ...LET_IN,
      caller: 'shop',
    });
    const broken = access({ limits }, new Error('broken')).access;
    await expect(broken.decide(request, ruleOf('verify', 'verify'))).rejects.toThrow('broken');
  });
});

describe('whose settlements may be listed', () => {
  it('is said of a key with the scope history, counted or not', async () => {
    const request = requestWith({ 'x-api-key': 'books' });
    const { access: free } = access({});
    expect(await free.decide(request, ruleOf())).toMatchObject({ payees: PAYEES });
    const { access: limited } = access({ limits: { verify: 0, settle: 0, lookup: 5 } });
    expect(await limited.decide(request, ruleOf(undefined, 'lookup'))).toMatchObject({
      payees: PAYEES,
    });
  });

  it('is said of no other key, nor of a request without one', async () => {
    const { access: free } = access({});
    for (const headers of [{ 'x-api-key': 'shop' }, { 'x-api-key': 'stranger' }, {}]) {
      const { payees } = await free.decide(requestWith(headers), ruleOf());
      expect(payees).toBeUndefined();
    }
  });
});

describe('an operator', () => {
  it('is who has the scope admin, counted or not', async () => {
    const { access: free } = access({});
    const { access: limited } = access({ limits: { verify: 0, settle: 0, lookup: 5 } });
    for (const [name, isOperator] of [
      ['ops', true],
      ['books', undefined],
      ['stranger', undefined],
    ] as const) {
      const request = requestWith({ 'x-api-key': name });
      expect((await free.decide(request, ruleOf())).isOperator).toBe(isOperator);
      expect((await limited.decide(request, ruleOf(undefined, 'lookup'))).isOperator).toBe(
        isOperator,
      );
    }
  });
});
