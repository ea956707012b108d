import type { Redis } from 'ioredis';
import type { PinoLogger } from 'nestjs-pino';
import type { AppConfig } from '../../platform/config/app-config.js';
import type { HubService } from '../hub.service.js';
import type { HubStats } from '../hub-stats.js';
import type { HubLimits } from '../limits/hub-limits.service.js';
import { nowSeconds } from '../now-seconds.js';
import type { StorageProvider } from '../storage/storage-provider.js';
import { verifiedRead } from '../storage/verified-read.js';
import { SalesSecret } from './access-token.js';
import { HttpPaymentGateway } from './http-payment-gateway.js';
import type { PaymentGateway } from './payment-gateway.js';
import { RedisSaleStore } from './redis-sale-store.js';
import { Sales } from './sales.js';

/** Parts of sales, and last the facilitator of this process, where it has one. */
type SalesNeeds = [
  AppConfig,
  Redis,
  StorageProvider,
  PinoLogger,
  HubStats,
  HubService,
  HubLimits,
  PaymentGateway?,
];

/** @returns `undefined` where nothing is sold. */
export function createSales(...needs: SalesNeeds): Sales | undefined {
  const [{ hub }, redis, storage, logger, stats, files, limits, own] = needs;
  const { sales, address } = hub;
  const gateway = sales?.facilitator ? new HttpPaymentGateway(sales.facilitator) : own;
  if (sales === undefined || gateway === undefined) return undefined;
  return new Sales({
    gateway,
    publicUrl: sales.publicUrl,
    store: new RedisSaleStore(redis),
    secret: new SalesSecret(sales.secret.reveal(), address),
    read: (object) => verifiedRead(storage, object, 0, object.size),
    assertServed: (object) => files.assertBytesServed(object),
    takeRoom: (bytes) => limits.takeSale(bytes),
    now: nowSeconds,
    failed: (error) => {
      logger.error({ err: error }, 'the facilitator that the hub sells through did not answer');
    },
    settled: (how) => {
      stats.noteSale(how);
    },
  });
}
