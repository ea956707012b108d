import { describe, expect, it } from '@jest/globals';
import type { Rate } from '../../platform/rate-limit/rate-limiter.js';
import type { Policy } from '../rules/policy.js';
import type { Session } from '../session.js';
import { PolicyService } from './policy.service.js';

type Parts = ConstructorParameters<typeof PolicyService>;

const SESSION = {
  owner: `0x${'11'.repeat(20)}`,
  wallet: { address: `0x${'22'.repeat(20)}` },
  tokenId: 't',
} as unknown as Session;
/** As many payees as rules may have: 90 KB. */
const LARGE = {
  limits: [],
  payeeLists: Array.from({ length: 10 }, (_, list) => ({
    name: `list ${list}`,
    payees: Array.from(
      { length: 200 },
      (__, at) => `0x${(list * 200 + at + 1).toString(16).padStart(40, '0')}`,
    ),
    limits: [],
  })),
};

/** The rules of one wallet, in force as soon as they are written. */
function service() {
  const present: Policy[] = [
    {
      revision: 1,
      active: true,
      windowHours: 24,
      limits: [],
      payeeLists: [],
      otherPayees: true,
      scopes: [],
    },
  ];
  let journaled = 0;
  const counted = new Map<string, number>();
  const policies = new PolicyService(
    {
      policyOf: () => Promise.resolve(present.at(-1)),
      putInForce: () => Promise.resolve(true),
    } as unknown as Parts[0],
    {
      replaceRules: (_wallet: string, policy: Policy) => {
        present.push(policy);
        return Promise.resolve('record');
      },
    } as unknown as Parts[1],
    {
      append: (event: object) => {
        journaled += JSON.stringify(event).length;
        return Promise.resolve();
      },
    } as unknown as Parts[2],
    { hold: (_name: string, work: () => Promise<void>) => work() } as unknown as Parts[3],
    {
      take: (name: string, { burst }: Rate, amount: number) => {
        const sum = (counted.get(name) ?? 0) + amount;
        const isAllowed = sum <= burst;
        if (isAllowed) counted.set(name, sum);
        const rest = { limit: burst, remaining: 0, resetSeconds: 0, retryAfterSeconds: 60 };
        return Promise.resolve({ isAllowed, ...rest });
      },
    },
    { assets: [] },
    () => 0,
  );
  return { policies, present, journaled: () => journaled };
}

describe('rules that are changed again and again', () => {
  it('fill no journal: neither new ones nor stops of a stopped wallet', async () => {
    const { policies, journaled } = service();
    const change = () => policies.replace(SESSION, LARGE);
    const stop = () => policies.stop(SESSION);
    for (const ask of [change, stop]) {
      let error: unknown;
      for (let count = 0; error === undefined; count += 1) {
        expect(count).toBeLessThan(50);
        error = await ask().then(
          () => undefined,
          (reason: unknown) => reason,
        );
      }
      expect(error).toMatchObject({ code: 'rate_limited', facts: { retryAfterSeconds: 60 } });
    }
    expect(journaled()).toBeLessThan(2_500_000);
  });

  it('leave the owner of a stopped wallet its changes, however often a token stops it', async () => {
    const { policies, present } = service();
    await policies.replace(SESSION, LARGE);
    for (let count = 0; count < 50; count += 1) {
      await policies.stop(SESSION).catch(() => undefined);
    }
    await policies.replace(SESSION, LARGE);
    expect(present.at(-1)?.active).toBe(true);
  });

  it('leave an active wallet to be stopped', async () => {
    const { policies, present } = service();
    for (let count = 0; count < 50; count += 1) {
      await policies.replace(SESSION, LARGE).catch(() => undefined);
    }
    await policies.stop(SESSION);
    expect(present.at(-1)?.active).toBe(false);
  });
});
