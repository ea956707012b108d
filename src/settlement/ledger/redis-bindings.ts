import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { redisCall, runKeyedScript } from '../../platform/redis/redis-scripts.js';
import { type Binding, type BoundPayment, paymentNameOf, readBinding } from './binding.js';
import { idempotencyKey } from './keys.js';
import { asTexts } from './reply.js';
import type { Requester } from './requester.js';
import { REQUESTER_SCRIPTS } from './requester-scripts.js';
import type { BindResult } from './settlement-store.js';

/** The bindings of idempotency keys in Redis. */
export class RedisBindings {
  constructor(
    private readonly redis: SharedRedis,
    private readonly retentionSeconds: number,
  ) {}

  async of(keyTag: string): Promise<Binding | undefined> {
    const value = await redisCall('bindingOf', this.redis.get(idempotencyKey(keyTag)));
    return value === null ? undefined : readBinding(value);
  }

  async bind(requester: Requester, payment: BoundPayment): Promise<BindResult> {
    const [kind, value = '', now] = asTexts(
      await runKeyedScript(
        this.redis,
        REQUESTER_SCRIPTS.bind,
        [idempotencyKey(requester.keyTag)],
        [bindingText(requester, payment), this.retentionSeconds],
      ),
    );
    if (kind === 'bound') return { kind };
    const binding = readBinding(value);
    return { kind: 'other', binding, ageMs: Number(now) - binding.at };
  }

  async takeOver(requester: Requester, payment: BoundPayment, from: Binding): Promise<boolean> {
    const reply = await runKeyedScript(
      this.redis,
      REQUESTER_SCRIPTS.takeOver,
      [idempotencyKey(requester.keyTag)],
      [from.value, bindingText(requester, payment), this.retentionSeconds],
    );
    return reply === 1;
  }

  async unbind(requester: Requester, payment: BoundPayment): Promise<void> {
    await runKeyedScript(
      this.redis,
      REQUESTER_SCRIPTS.unbind,
      [idempotencyKey(requester.keyTag)],
      [bindingText(requester, payment)],
    );
  }
}

function bindingText(requester: Requester, payment: BoundPayment): string {
  return `${paymentNameOf(payment.chainId, payment)}|${requester.id}`;
}
