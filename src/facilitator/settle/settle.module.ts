import { type DynamicModule, Module } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { provide } from '../../platform/nest/provide.js';
import { whileStarting } from '../../platform/redis/while-starting.js';
import { Admission } from '../../settlement/admission.js';
import { LABEL_STORE, SETTLEMENT_STORE } from '../../settlement/ledger/ledger.module.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import { SettlementEvents } from '../../settlement/ledger/settlement-events.js';
import { SETTLEMENT_QUEUES, SettlementModule } from '../../settlement/settlement.module.js';
import { ArchivedPayments } from '../status/archived-payments.js';
import { UsedAuthorizationFinder } from '../status/used-authorization-finder.js';
import { PaymentVerifier } from '../verify/payment-verifier.js';
import { VerificationModule } from '../verify/verification.module.js';
import { LostClaims } from './lost-claims.js';
import { SettleService, type SettleServiceParts } from './settle.service.js';

@Module({})
export class SettleModule {
  static forRoot(config: AppConfig): DynamicModule {
    const settlement = SettlementModule.forRoot(config);
    return {
      module: SettleModule,
      imports: [VerificationModule, settlement],
      providers: [
        LostClaims,
        provide(
          SettleService,
          {
            chains: ChainRegistry,
            verifier: PaymentVerifier,
            store: SETTLEMENT_STORE,
            labels: LABEL_STORE,
            queues: SETTLEMENT_QUEUES,
            news: SettlementEvents,
            admission: Admission,
            finder: UsedAuthorizationFinder,
            archived: ArchivedPayments,
            lostClaims: LostClaims,
            processes: ProcessRegistry,
            config: AppConfig,
            logger: PinoLogger,
          },
          startedSettles,
        ),
      ],
      exports: [SettleService, settlement],
    };
  }
}

interface Injected extends Omit<SettleServiceParts, 'onTrouble'> {
  readonly processes: ProcessRegistry;
  readonly config: AppConfig;
  readonly logger: PinoLogger;
}

async function startedSettles({
  processes,
  config,
  logger,
  ...parts
}: Injected): Promise<SettleService> {
  const service = new SettleService(
    {
      ...parts,
      onTrouble: (what, error) => {
        logger.warn({ what, err: error }, 'a background step of a settle request failed');
      },
    },
    { processId: processes.processId, waitMs: config.settleWaitMs },
  );
  const chainIds = config.networks.map(({ chainId }) => chainId);
  await whileStarting('REDIS_URL', () => service.start(chainIds));
  return service;
}
