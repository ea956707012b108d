import { Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { listingRulesOf } from '../../platform/config/listing-rules.js';
import { SafeFetch } from '../../platform/fetch/safe-fetch.js';
import { RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { VerificationModule } from '../verify/verification.module.js';
import { VerifyService } from '../verify/verify.service.js';
import { Doctor } from './doctor.js';
import { DoctorV2Controller } from './doctor.v2.controller.js';
import { DoctorPageController } from './doctor-page.controller.js';

/** Of an answer; the terms of a payment take a few KiB. */
const ANSWER_MAX_BYTES = 262_144;
/** More than clients take, so that terms which are too long for them are told of. */
const HEADERS_MAX_BYTES = 65_536;

/** Only there where it is turned on. */
@Module({
  imports: [VerificationModule],
  controllers: [DoctorV2Controller, DoctorPageController],
  providers: [
    {
      provide: SafeFetch,
      inject: [AppConfig],
      useFactory: ({ doctor }: AppConfig) =>
        new SafeFetch({
          userAgent: 'x402-doctor',
          maxBytes: ANSWER_MAX_BYTES,
          maxHeaderBytes: HEADERS_MAX_BYTES,
          allow: doctor?.allow ?? new Set(),
        }),
    },
    {
      provide: RateLimiter,
      inject: [LEDGER_REDIS],
      useFactory: (redis: SharedRedis) => new RateLimiter(redis, 'doctor'),
    },
    {
      provide: Doctor,
      inject: [AppConfig, SafeFetch, ChainRegistry, VerifyService],
      useFactory: (
        config: AppConfig,
        fetcher: SafeFetch,
        chains: ChainRegistry,
        verifier: VerifyService,
      ) =>
        new Doctor({
          fetcher,
          chains,
          judge: async (payment) => {
            const outcome = await verifier.verify(payment, '');
            return outcome.isValid ? undefined : outcome.reason;
          },
          rules: config.history?.catalogue && listingRulesOf(config),
        }),
    },
  ],
})
export class DoctorModule implements OnModuleDestroy {
  constructor(@Inject(SafeFetch) private readonly fetcher: SafeFetch) {}

  async onModuleDestroy(): Promise<void> {
    await this.fetcher.close();
  }
}
