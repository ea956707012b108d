import { Inject, Injectable } from '@nestjs/common';
import { Journal } from './audit/journal.js';
import type { ProviderTrouble, WalletProvider } from './provider/wallet-provider.js';
import { WALLET_PROVIDER } from './wallet-tokens.js';

/** As `IndicatorReport` of health. */
interface Report {
  readonly isUp: boolean;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Whether wallets can pay now, as this process knows it. Nobody is asked. */
@Injectable()
export class WalletHealth {
  constructor(
    private readonly journal: Journal,
    @Inject(WALLET_PROVIDER) private readonly provider: WalletProvider,
  ) {}

  /** Without it nothing is signed, by no means. */
  journalIsWritable(): Promise<boolean> {
    return this.journal.isWritable();
  }

  get providerTrouble(): ProviderTrouble | undefined {
    return this.provider.trouble;
  }

  async journalReport(): Promise<Report> {
    const isUp = await this.journalIsWritable();
    if (!isUp) return { isUp, facts: { code: 'journal_stopped' } };
    // Shown for as long as the secret before may not be taken away.
    const needsPreviousSecret = await this.journal.needsPreviousSecret();
    return { isUp, facts: needsPreviousSecret ? { needsPreviousSecret } : {} };
  }

  providerReport(): Report {
    const { kind, trouble } = this.provider;
    if (trouble === undefined) return { isUp: true, facts: { kind } };
    return { isUp: false, facts: { kind, code: trouble } };
  }
}
