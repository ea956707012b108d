import { beforeEach, describe, expect, it } from '@jest/globals';
import type { PinoLogger } from 'nestjs-pino';
import type { Hex } from 'viem';
import {
  anEip3009Payment,
  PAYEE,
  PAYER,
  type Sent,
  STRANGER,
  TOKEN,
} from '../../test/builders/protocol/schemes/exact/exact-payment.js';
import { aSettlementView } from '../../test/builders/settlement/model/settlement-view.js';
import type { ChainRegistry } from '../platform/chain/chain-registry.js';
import type { AppConfig } from '../platform/config/app-config.js';
import { StatedProblem } from '../platform/http/stated-problem.js';
import type { JsonObject } from '../protocol/payment/wire-values.js';
import type { ClaimRef } from '../settlement/ledger/settlement-store.js';
import type { CarriedExtension, ExtendedRequest } from '../settlement/settle-extension.js';
import { FacilitatorService, type ScopedKey, type SettleTerms } from './facilitator.service.js';
import type { SettleService } from './settle/settle.service.js';
import { type SettleAnswer, SettleAnswers } from './settle/settle-answer.js';
import type { SettleRequest } from './settle/settle-context.js';
import type { SimulatedSettles } from './simulation/simulated-settles.js';
import type { VerifyOutcome, VerifyService } from './verify/verify.service.js';

const TX: Hex = `0x${'5f'.repeat(32)}`;
const NO_KEY: ScopedKey = { value: undefined, caller: undefined };
const bodyOf = (sent: Sent = {}): JsonObject => anEip3009Payment(sent).body;

describe('the facilitator', () => {
  let service: FacilitatorService;
  let outcome: VerifyOutcome | Error;
  let settled: SettleAnswer | Error | undefined;
  let verifyKeys: string[];
  let requests: SettleRequest[];
  let observed: unknown[][];
  let logged: unknown[];
  let isChainListBroken: boolean;
  let claims: ClaimRef[];
  const carried: CarriedExtension = {
    beforeClaim: (ref) => claims.push(ref),
    responseTo: ({ result, settlementId }) => `${result} ${settlementId ?? ''}`,
  };

  beforeEach(() => {
    outcome = { isValid: true };
    settled = undefined;
    isChainListBroken = false;
    [verifyKeys, requests, observed, logged, claims] = [[], [], [], [], []];
    const parts = {
      config: { settleFinality: 'finalized' },
      chains: {
        get: (chainId: number) => (chainId === 56 ? {} : undefined),
        get all() {
          if (isChainListBroken) throw new TypeError('a bug');
          return [{ chainId: 56 }];
        },
      },
      verifier: {
        verify: (_: unknown, keyTag: string) => {
          verifyKeys.push(keyTag);
          return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
        },
      },
      settler: {
        settle: (request: SettleRequest) => {
          requests.push(request);
          return settled instanceof Error ? Promise.reject(settled) : Promise.resolve(settled);
        },
      },
      extension: {
        carriedBy: ({ paymentPayload }: ExtendedRequest) =>
          paymentPayload['extensions'] === undefined ? undefined : carried,
      },
      logger: { error: (line: unknown) => logged.push(line) },
      observer: {
        verified: (...[, reason]: unknown[]) => observed.push(['verified', reason]),
        settled: (...[, result, reason]: unknown[]) => observed.push([result, reason]),
      },
    };
    service = new FacilitatorService(
      parts.config as AppConfig,
      parts.chains as unknown as ChainRegistry,
      parts.verifier as unknown as VerifyService,
      parts.settler as unknown as SettleService,
      parts.logger as unknown as PinoLogger,
      parts.observer,
      parts.extension,
      {} as SimulatedSettles,
    );
  });

  const terms = (more: Partial<SettleTerms> = {}): SettleTerms => ({
    idempotencyKey: NO_KEY,
    address: '192.0.2.7',
    isAsync: false,
    finality: 'included',
    arrivedAt: Date.now(),
    connection: { closed: new Promise(() => undefined), isWritable: true },
    ...more,
  });
  const settle = (more: Partial<SettleTerms> = {}, sent: Sent = {}) =>
    service.settle(bodyOf(sent), [1, 2], terms(more));

  describe('asked to verify', () => {
    it('answers with the payer as it was sent', async () => {
      expect(await service.verify(bodyOf(), [1, 2], NO_KEY)).toEqual({
        isValid: true,
        payer: PAYER,
      });
      expect(observed).toEqual([['verified', undefined]]);
      outcome = { isValid: true, extra: { serial: '7' } };
      expect(await service.verify(bodyOf(), [1, 2], NO_KEY)).toEqual({
        isValid: true,
        payer: PAYER,
        extra: { serial: '7' },
      });
    });

    it.each<[string, Sent, readonly (1 | 2)[], string]>([
      ['of a version that is not served here', {}, [1], 'invalid_x402_version'],
      [
        'of a network that is not served',
        { requirements: { network: 'eip155:97' } },
        [2],
        'invalid_network',
      ],
      ['of another scheme', { requirements: { scheme: 'permit' } }, [2], 'unsupported_scheme'],
    ])('refuses a payment %s without judging it', async (_, { requirements }, versions, reason) => {
      const body = bodyOf();
      const sent = { ...(body['paymentRequirements'] as JsonObject), ...requirements };
      const answer = await service.verify({ ...body, paymentRequirements: sent }, versions, NO_KEY);
      expect(answer).toMatchObject({ isValid: false, invalidReason: reason, payer: PAYER });
      expect(answer.invalidMessage?.length).toBeGreaterThan(10);
      expect(verifyKeys).toEqual([]);
    });

    it('names an empty payer where V1 has none to read, and none in V2', async () => {
      const unreadable = (x402Version: number): JsonObject => ({
        paymentPayload: { x402Version, payload: { authorization: { from: 'nobody' } } },
        paymentRequirements: {},
      });
      expect(await service.verify(unreadable(1), [1, 2], NO_KEY)).toMatchObject({ payer: '' });
      expect(await service.verify(unreadable(3), [1], NO_KEY)).toMatchObject({ payer: '' });
      expect(await service.verify(unreadable(2), [1, 2], NO_KEY)).not.toHaveProperty('payer');
    });

    it('has an answer when it fails itself, which shows nothing of why', async () => {
      outcome = new Error('rpc https://user:secret@node');
      const answer = await service.verify(bodyOf(), [2], NO_KEY);
      expect(answer).toMatchObject({ isValid: false, invalidReason: 'unexpected_verify_error' });
      expect(JSON.stringify(answer)).not.toMatch(/secret|rpc/);
      expect(logged).toHaveLength(1);
    });

    it.each([
      [[]],
      ['text'],
      [null],
      [{ paymentPayload: {} }],
      [{ paymentPayload: [], paymentRequirements: {} }],
    ])('takes %j for no request', async (body) => {
      await expect(service.verify(body, [2], NO_KEY)).rejects.toThrow(StatedProblem);
      expect(observed).toEqual([]);
    });
  });

  describe('asked to settle', () => {
    const answers = new SettleAnswers(
      { networkAsSent: '', payerAsSent: undefined },
      'included',
      'c',
    );
    const rollBack = (): Promise<void> => Promise.resolve();

    it.each<[string, () => SettleAnswer | Error | undefined, string, string | undefined]>([
      [
        'success',
        () => answers.success(aSettlementView({ isPaid: true }), rollBack),
        'success',
        undefined,
      ],
      ['pending', () => answers.pending(TX), 'pending', 'settlement_pending'],
      ['a 202', () => answers.accepted({ id: 'c' }, rollBack), 'accepted', undefined],
      ['failure', () => answers.failure('no_gas'), 'failure', 'no_gas'],
      ['a client that hung up', () => undefined, 'hung_up', undefined],
      ['a fault of its own', () => new Error('x'), 'failure', 'unexpected_settle_error'],
    ])('counts %s as what it is', async (_, what, result, reason) => {
      settled = what();
      const answer = await settle();
      expect(observed).toEqual([[result, reason]]);
      expect(answer === undefined).toBe(result === 'hung_up');
    });

    it('tells what becomes of what it carries, and of nothing where it carries nothing', async () => {
      const body = bodyOf();
      const paymentPayload = { ...(body['paymentPayload'] as JsonObject), extensions: {} };
      settled = answers.pending(TX);
      const answer = await service.settle({ ...body, paymentPayload }, [2], terms());
      expect(answer?.extensionResponses).toBe('pending c');
      requests.at(-1)?.beforeClaim?.({ chainId: 56, id: 'c' });
      expect(claims).toEqual([{ chainId: 56, id: 'c' }]);
      expect(await settle()).not.toHaveProperty('extensionResponses');
      expect(requests.at(-1)).not.toHaveProperty('beforeClaim');
    });

    it('tells the reason, and the hash, also where it cannot explain them', async () => {
      isChainListBroken = true;
      settled = answers.pending(TX);
      expect((await settle())?.body).toMatchObject({
        errorReason: 'settlement_pending',
        transaction: TX,
        extensions: { diagnosis: { fault: 'chain', retry: 'same' } },
      });
      expect(logged).toHaveLength(1);
    });

    it('has an answer when it fails itself, with strings wherever the client reads them', async () => {
      settled = new Error('rpc https://user:secret@node');
      const answer = await settle();
      expect(answer).toMatchObject({
        status: 200,
        body: { success: false, transaction: '', network: 'eip155:56', payer: PAYER },
      });
      expect(JSON.stringify(answer)).not.toMatch(/secret|rpc/);
    });

    it('knows no address of a client it cannot tell, and one network of IPv6 as one', async () => {
      const credentialsAt = async (address: string | undefined): Promise<readonly string[]> => {
        await settle({ address });
        return requests.at(-1)?.credentials ?? [];
      };
      expect(await credentialsAt(undefined)).toEqual([]);
      const one = await credentialsAt('2001:db8::1');
      expect(one).toHaveLength(1);
      expect(await credentialsAt('2001:db8::ffff')).toEqual(one);
      expect(await credentialsAt('2001:db8:0:1::1')).not.toEqual(one);
    });
  });

  describe('the scope of an idempotency key', () => {
    const tagOf = async (value: string | undefined, caller?: string, sent: Sent = {}) => {
      await settle({ idempotencyKey: { value, caller } }, sent);
      return requests.at(-1)?.keyTag;
    };

    it('is the API key: an order number of a seller is one order, for all its payees', async () => {
      const own = await tagOf('order-1', 'seller');
      const to = { requirements: { payTo: STRANGER } };
      expect(await tagOf('order-1', 'seller', to)).toBe(own);
      expect(await tagOf('order-1', 'other')).not.toBe(own);
      expect(await tagOf('order-2', 'seller')).not.toBe(own);
    });

    it('is payee and payer without one: no stranger can occupy an order number', async () => {
      const own = await tagOf('order-1');
      expect(await tagOf('order-1')).toBe(own);
      expect(await tagOf('order-1', undefined, { requirements: { payTo: STRANGER } })).not.toBe(
        own,
      );
      expect(await tagOf('order-1', undefined, { signed: { from: STRANGER } })).not.toBe(own);
      expect(await tagOf('order-1', 'seller')).not.toBe(own);
    });

    it('is that of a label too, which is never taken for a key', async () => {
      const label = 'a-label-of-a-buyer';
      const sent = { extensions: { 'payment-identifier': { info: { id: label } } } };
      const labelOf = async (caller?: string, more: Sent = {}) => {
        const body = bodyOf(more);
        const paymentPayload = { ...(body['paymentPayload'] as JsonObject), ...sent };
        const key = { idempotencyKey: { value: label, caller } };
        await service.settle({ ...body, paymentPayload }, [2], terms(key));
        return requests.at(-1);
      };
      const own = await labelOf();
      expect(own?.labelTag).toMatch(/.{20}/);
      expect(own?.labelTag).not.toBe(own?.keyTag);
      expect((await labelOf())?.labelTag).toBe(own?.labelTag);
      expect((await labelOf('seller'))?.labelTag).not.toBe(own?.labelTag);
      const to = { requirements: { payTo: STRANGER } };
      expect((await labelOf(undefined, to))?.labelTag).not.toBe(own?.labelTag);
      await settle();
      expect(requests.at(-1)?.labelTag).toBe('');
    });

    it('is none of what anybody may ask for: a stranger could use up the keys of a receiver', async () => {
      const offer = {
        scheme: 'batch-settlement',
        network: 'eip155:56',
        amount: '0',
        asset: TOKEN,
        payTo: PAYEE,
        maxTimeoutSeconds: 60,
        extra: {},
      };
      const payload = { type: 'settle', receiver: PAYEE, token: TOKEN };
      const payout = {
        x402Version: 2,
        paymentPayload: { x402Version: 2, accepted: offer, payload },
        paymentRequirements: offer,
      };
      const tagOfPayout = async (caller?: string) => {
        const idempotencyKey = { value: 'order-1', caller };
        await service.settle(payout, [2], terms({ idempotencyKey }));
        return requests.at(-1)?.keyTag;
      };
      expect([await tagOfPayout(), requests.length]).toEqual(['', 1]);
      expect(await tagOfPayout('seller')).toBe(await tagOf('order-1', 'seller'));
    });

    it('is the same for verify and settle, and nothing without a key', async () => {
      await service.verify(bodyOf(), [2], { value: 'order-1', caller: undefined });
      expect(verifyKeys).toEqual([await tagOf('order-1')]);
      expect([await tagOf(undefined), await tagOf('')]).toEqual(['', '']);
    });
  });
});
