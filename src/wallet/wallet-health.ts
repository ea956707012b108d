import { Inject, Injectable } from '@nestjs/common';
import { FeatureHealth, type HealthReport } from '../platform/observability/feature-health.js';
import { Journal } from './audit/journal.js';
import type { ProviderCondition, WalletProvider } from './provider/wallet-provider.js';
import { WALLET_PROVIDER } from './wallet-tokens.js';

/** Whether wallets can pay now, as far as this process knows. Without the journal nothing is signed. */
@Injectable()
export class WalletHealth extends FeatureHealth {
  readonly name = 'wallet_journal';
  /** Without a journal every answer of this process is a refusal; another process may have a working journal. */
  override readonly gatesReadiness = true;

  constructor(
    private readonly journal: Journal,
    @Inject(WALLET_PROVIDER) private readonly provider: WalletProvider,
  ) {
    super();
  }

  journalIsWritable(): Promise<boolean> {
    return this.journal.isWritable();
  }

  get providerCondition(): ProviderCondition | undefined {
    return this.provider.condition;
  }

  async report(): Promise<HealthReport> {
    const isUp = await this.journalIsWritable();
    if (!isUp) return { isUp, facts: { code: 'journal_stopped' } };
    // Shown as long as the previous secret is still needed.
    const needsPreviousSecret = await this.journal.needsPreviousSecret();
    return { isUp, facts: needsPreviousSecret ? { needsPreviousSecret } : {} };
  }
}

@Injectable()
export class WalletProviderHealth extends FeatureHealth {
  readonly name = 'wallet_provider';

  constructor(@Inject(WALLET_PROVIDER) private readonly provider: WalletProvider) {
    super();
  }

  report(): HealthReport {
    const { kind, condition } = this.provider;
    if (condition === undefined) return { isUp: true, facts: { kind } };
    return { isUp: false, facts: { kind, code: condition } };
  }
}
