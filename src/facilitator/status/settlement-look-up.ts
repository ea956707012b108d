import { Injectable } from '@nestjs/common';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { identityOf } from '../../protocol/payment/identity.js';
import { parsePayment, readEnvelope } from '../../protocol/payment/parse-payment.js';
import type { SettlementStatus } from '../../settlement/ledger/queries/settlement-status.js';
import type { Versions } from '../facilitator.service.js';
import { SimulatedSettles } from '../simulation/simulated-settles.js';
import type { AskedSimulation } from '../simulation/simulation-request.js';
import type { PaymentQuery } from './payment-query.js';
import { StatusService } from './status.service.js';

/** Finds the settlement of a payment that a caller presents. */
@Injectable()
export class SettlementLookUp {
  constructor(
    private readonly chains: ChainRegistry,
    private readonly status: StatusService,
    private readonly simulated: SimulatedSettles,
  ) {}

  /** @param asked - finds the simulation with this outcome instead of a real settlement. */
  async byPayment(
    query: PaymentQuery,
    versions: Versions,
    asked?: AskedSimulation,
  ): Promise<SettlementStatus | undefined> {
    const envelope = readEnvelope(query);
    if (envelope === undefined) return undefined;
    const parsed = parsePayment(
      envelope,
      versions,
      (chainId) => this.chains.served(chainId) !== undefined,
    );
    const identity = parsed.ok ? identityOf(parsed.payment) : undefined;
    if (!parsed.ok || identity === undefined) return undefined;
    if (asked !== undefined) {
      const { caller, outcome } = asked;
      return this.simulated.byAuthorization(caller, outcome, [identity.authorizationId]);
    }
    return this.status.byPayment(parsed.payment.requirements.chainId, identity);
  }
}
