import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { HttpException } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  type AccessDecision,
  type AccessRule,
  admit,
  audienceOf,
  callerOf,
  payeesOf,
  RateLimited,
  RequireScope,
  ruleOf,
} from './access.js';
import { HttpRefusal } from './answer.js';

@RequireScope('hub')
class Files {
  @RateLimited('lookup')
  list(): void {
    // Only its decorators matter.
  }

  @RequireScope('admin')
  remove(): void {
    // Only its decorators matter.
  }
}

describe('what a route asks of its callers', () => {
  it.each<[keyof Files, AccessRule]>([
    ['list', { scope: 'hub', bucket: 'lookup' }],
    ['remove', { scope: 'admin', bucket: undefined }],
  ])('%s: its handler first, then its class', (name, rule) => {
    const handler = Files.prototype[name];
    expect(ruleOf(new Reflector(), Files, handler)).toEqual(rule);
  });
});

describe.each([
  ['at once', false],
  ['after Redis was asked', true],
])('admit, decided %s', (_, isLater) => {
  const RULE: AccessRule = { scope: 'verify', bucket: 'verify' };

  async function outcomeOf(decision: Partial<AccessDecision>) {
    const headers: [string, unknown][] = [];
    const response = { setHeader: (...header: [string, unknown]) => headers.push(header) };
    const request = {} as unknown as IncomingMessage;
    const policy = {
      decide: (asked: IncomingMessage, rule: AccessRule) => {
        expect([asked, rule]).toEqual([request, RULE]);
        const decided = {
          refusal: undefined,
          caller: undefined,
          headers: {},
          ...decision,
        };
        return isLater ? Promise.resolve(decided) : decided;
      },
    };
    let error: unknown;
    try {
      const admitted = admit(policy, RULE, request, response as unknown as ServerResponse);
      expect(admitted instanceof Promise).toBe(isLater);
      await admitted;
    } catch (problem) {
      error = problem;
    }
    return { error, headers, caller: callerOf(request) };
  }

  it('notes the caller, and what the answer has to say', async () => {
    expect(await outcomeOf({ caller: 'shop', headers: { 'RateLimit-Limit': 5 } })).toEqual({
      error: undefined,
      caller: 'shop',
      headers: [['RateLimit-Limit', 5]],
    });
    expect(await outcomeOf({})).toEqual({ error: undefined, caller: undefined, headers: [] });
  });

  it('says that no cache may keep what a key with payees is answered', async () => {
    expect((await outcomeOf({ caller: 'shop', payees: new Set() })).headers).toEqual([
      ['Cache-Control', 'no-store'],
    ]);
  });

  it.each([
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [429, 'Too Many Requests'],
  ] as const)('refuses every caller with %d', async (refusal, message) => {
    const headers = { 'Retry-After': 1 };
    const outcome = await outcomeOf({ refusal, caller: 'shop', headers });
    expect(outcome).toMatchObject({ caller: undefined, headers: [['Retry-After', 1]] });
    expect(outcome.error).toBeInstanceOf(HttpException);
    expect(outcome.error).toMatchObject({ message });
    expect((outcome.error as HttpException).getStatus()).toBe(refusal);
  });
});

describe('whose settlements a request may list', () => {
  const payee = `0x${'c3'.repeat(20)}` as const;
  const other = `0x${'99'.repeat(20)}` as const;

  function outcomeOf(decision: Partial<AccessDecision> | undefined, read = payeesOf) {
    const request = {} as unknown as IncomingMessage;
    if (decision !== undefined) {
      const decided = { refusal: undefined, caller: undefined, headers: {}, ...decision };
      void admit({ decide: () => decided }, { scope: undefined, bucket: undefined }, request, {
        setHeader: () => undefined,
      } as unknown as ServerResponse);
    }
    try {
      return { payees: [...read(request)] };
    } catch (error) {
      const headers = error instanceof HttpRefusal ? Object.keys(error.headers) : [];
      return { status: (error as HttpException).getStatus(), headers };
    }
  }

  it('are the payees of its key', () => {
    const payees = new Set([payee]);
    expect(outcomeOf({ caller: 'shop', payees })).toEqual({ payees: [payee] });
  });

  it('are empty without a key, and where no keys are in use', () => {
    const refused = { status: 401, headers: ['WWW-Authenticate'] };
    expect(outcomeOf({})).toEqual(refused);
    expect(outcomeOf(undefined)).toEqual(refused);
  });

  it('are empty for a key without the scope, and for one without payees', () => {
    const refused = { status: 403, headers: [] };
    expect(outcomeOf({ caller: 'shop' })).toEqual(refused);
    expect(outcomeOf({ caller: 'shop', payees: new Set() })).toEqual(refused);
  });

  it('may be empty where an operator subscribes to lanes', () => {
    const read: typeof payeesOf = (...asked) => {
      const { payees, isOperator } = audienceOf(...asked);
      return isOperator ? payees : new Set([...payees, other]);
    };
    const heard = (decision: Partial<AccessDecision>) => outcomeOf(decision, read);
    const none = new Set<typeof payee>();
    expect(heard({ caller: 'ops', payees: none, isOperator: true })).toMatchObject({ payees: [] });
    expect(heard({ caller: 'ops', payees: new Set([payee]), isOperator: true })).toMatchObject({
      payees: [payee],
    });
    expect(heard({ caller: 'shop', payees: none })).toMatchObject({ status: 403 });
    expect(heard({ caller: 'shop', payees: new Set([payee]) })).toMatchObject({
      payees: [payee, other],
    });
    expect(heard({})).toMatchObject({ status: 401 });
  });
});
