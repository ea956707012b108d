import type { Redis } from 'ioredis';
import type { HubConfig } from '../../platform/config/hub-settings.js';
import { nowSeconds } from '../now-seconds.js';
import type { StorageProvider, StoredObject } from '../storage/storage-provider.js';
import { verifiedRead } from '../storage/verified-read.js';
import { SalesSecret } from './access-token.js';
import { HttpPaymentGateway } from './http-payment-gateway.js';
import type { PaymentGateway } from './payment-gateway.js';
import { RedisSaleStore } from './redis-sale-store.js';
import { Sales } from './sales.js';

/** What sales are made of. */
interface SalesSetUp {
  readonly hub: HubConfig;
  readonly redis: Redis;
  readonly storage: StorageProvider;
  /** The facilitator of this process, where it has one. */
  readonly own: PaymentGateway | undefined;
  /** @throws HubRefusal for bytes that the operator has taken down. */
  readonly assertServed: (object: StoredObject) => Promise<void>;
  /** A facilitator that did not answer. */
  readonly failed: (error: unknown) => void;
  /** What became of a payment. */
  readonly settled: (how: 'sold' | 'failed') => void;
}

/** @returns `undefined` where nothing is sold. */
export function createSales(setUp: SalesSetUp): Sales | undefined {
  const { hub, redis, storage, own, assertServed, failed, settled } = setUp;
  const { sales, address } = hub;
  const gateway = sales?.facilitator ? new HttpPaymentGateway(sales.facilitator) : own;
  if (sales === undefined || gateway === undefined) return undefined;
  return new Sales({
    gateway,
    publicUrl: sales.publicUrl,
    store: new RedisSaleStore(redis),
    secret: new SalesSecret(sales.secret.reveal(), address),
    read: (object) => verifiedRead(storage, object, 0, object.size),
    assertServed,
    now: nowSeconds,
    failed,
    settled,
  });
}
