import { describe, expect, it } from '@jest/globals';
import type { AppConfig } from '../../platform/config/app-config.js';
import type { ApprovalRequests } from '../asks/approval-requests.js';
import type { Session } from '../session.js';
import type { Authorizer } from '../signing/authorizer.js';
import { WalletError } from '../wallet-error.js';
import type { Balances } from './balances.js';
import { Charger, type Purchase } from './charger.js';
import type { IntentStore } from './intent.js';
import type { Offer } from './offer.js';

const [WALLET, PAYEE, TOKEN] = ['11', '22', '33'].map(
  (byte) => `0x${byte.repeat(20)}` as const,
) as [`0x${string}`, `0x${string}`, `0x${string}`];

describe('a payment that is to be charged', () => {
  const token = { chainId: 56, address: TOKEN, symbol: 'T', decimals: 18, methods: ['permit2'] };
  const offer = {
    x402Version: 2,
    method: 'permit2',
    chainId: 56,
    token,
    payTo: PAYEE,
    amount: 0n,
    maxTimeoutSeconds: 60,
    requirements: { note: 'x'.repeat(10_000) },
  } as unknown as Offer;
  const required = {
    offers: [offer],
    offered: 1,
    resource: {},
    extensions: {},
    url: 'https://a.example/',
  };
  const wanted: Purchase = {
    url: 'https://a.example/',
    method: 'GET',
    headers: {},
    body: undefined,
    maxAmount: '1',
    intentId: 'one',
  };
  const session = { owner: PAYEE, wallet: { address: WALLET } } as unknown as Session;

  it('has room for its record first, as long as that is', async () => {
    const full = new WalletError('unavailable', 'full');
    const asked: unknown[] = [];
    let charged = 0;
    const approvals = { answerTo: () => Promise.resolve(), ask: () => Promise.resolve('ask') };
    const charger = (hasRoom: boolean, answer: object = { kind: 'charged', isSigned: false }) =>
      new Charger(
        { token: () => token, permit2Proxy: () => undefined } as never,
        {
          authorize: () => {
            charged += 1;
            return Promise.resolve(answer);
          },
        } as unknown as Authorizer,
        { textOf: () => '1/'.padEnd(12_000, 'x') } as unknown as IntentStore,
        { check: () => Promise.resolve() } as unknown as Balances,
        approvals as unknown as ApprovalRequests,
        {
          assertRecord: (...record: unknown[]) => {
            asked.push(record);
            return hasRoom ? Promise.resolve() : Promise.reject(full);
          },
        },
        { retentionSeconds: 60 } as unknown as AppConfig,
        () => 1_800_000_000,
      );
    await expect(charger(false).charge(session, wanted, required, '')).rejects.toBe(full);
    expect(charged).toBe(0);
    const result = await charger(true).charge(session, wanted, required, '');
    expect([result.kind, charged]).toEqual(['charged', 1]);
    expect(asked).toEqual([
      [WALLET, 12_000],
      [WALLET, 12_000],
    ]);
    const rule = { kind: 'needs_owner', rule: {}, revision: 1 };
    const waiting = await charger(true, rule).charge(session, wanted, required, '');
    expect(waiting.kind).toBe('asked');
    expect(asked.slice(2)).toEqual([
      [WALLET, 12_000],
      [WALLET, 16_384],
    ]);
  });
});
