import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';
import { chargedTo } from '../../../../src/protocol/payment/payment-facts.js';
import type {
  GasBudget,
  HeldLane,
  OverBudget,
} from '../../../../src/settlement/ledger/lane-store.js';
import type { Attempt } from '../../../../src/settlement/model/attempt.js';

interface Charge {
  readonly day: string;
  costGwei: bigint;
  readonly charged: Map<string, bigint>;
}

const WEI_PER_GWEI = 1_000_000_000n;
/** The subject of the budget for transactions of payers. */
const FUNDINGS = 'fundings';

/** The gas budgets of a ledger in memory. */
export class MemoryGas {
  /** Gwei, by chain, subject and day. */
  #spent = new Map<string, bigint>();
  /** Fundings that are charged to a payee once it is paid, by settlement. */
  readonly #later = new Map<string, { readonly day: string; readonly costGwei: bigint }>();
  /** What account nonces in flight are charged with, by lane and nonce. */
  #charges = new Map<string, Charge>();

  constructor(private readonly paymentOf: (id: string) => AcceptedPayment) {}

  spentOn(chainId: number, subject: string, day: string): bigint {
    return this.#spent.get(`${chainId}:${subject}:${day}`) ?? 0n;
  }

  snapshot(): () => void {
    const copy = structuredClone({ spent: this.#spent, charges: this.#charges });
    return () => {
      this.#spent = copy.spent;
      this.#charges = copy.charges;
    };
  }

  /** Reserves what an account nonce may cost beyond what is reserved for it, in all budgets or in none. */
  charge(held: HeldLane, attempt: Attempt, budget: GasBudget): OverBudget | undefined {
    const { laneGwei, payeeGwei, costGwei } = budget;
    const key = `${held.lane} ${attempt.accountNonce}`;
    const charge = this.#charges.get(key) ?? {
      day: budget.day,
      costGwei: 0n,
      charged: new Map<string, bigint>(),
    };
    if (costGwei <= charge.costGwei) return undefined;
    const wanted = this.#wanted(held, attempt, budget);
    const limitOf = (subject: string): bigint | undefined => {
      if (subject === FUNDINGS) return budget.fundingsGwei;
      return subject === held.lane ? laneGwei : payeeGwei;
    };
    for (const [subject, gwei] of wanted) {
      const limit = limitOf(subject);
      const more = gwei - (charge.charged.get(subject) ?? 0n);
      const spent = this.spentOn(held.chainId, subject, charge.day);
      if (limit !== undefined && spent + more > limit) {
        return { kind: 'budget', subject: subject === held.lane ? 'lane' : subject };
      }
    }
    for (const [subject, gwei] of wanted) {
      const more = gwei - (charge.charged.get(subject) ?? 0n);
      this.#spend(held.chainId, subject, charge.day, more);
      charge.charged.set(subject, gwei);
    }
    charge.costGwei = costGwei;
    if (wanted.size > 0) this.#charges.set(key, charge);
    return undefined;
  }

  /** Whether a funding is more than the budget of the payee has left, which is charged once it is paid. */
  overPayee(
    { chainId }: HeldLane,
    account: string,
    { payeeGwei, costGwei, day }: GasBudget,
  ): OverBudget | undefined {
    if (payeeGwei === undefined) return undefined;
    const isOver = this.spentOn(chainId, account, day) + costGwei > payeeGwei;
    return isOver ? { kind: 'budget', subject: account } : undefined;
  }

  chargeLater(settlementId: string, { payeeGwei, costGwei, day }: GasBudget): void {
    if (payeeGwei !== undefined) this.#later.set(settlementId, { day, costGwei });
  }

  correctLater(settlementId: string, costWei: bigint): void {
    const charge = this.#later.get(settlementId);
    if (charge === undefined) return;
    const costGwei = (costWei + WEI_PER_GWEI - 1n) / WEI_PER_GWEI;
    this.#later.set(settlementId, { day: charge.day, costGwei });
  }

  chargePayee(
    { chainId }: HeldLane,
    { id, payment }: { id: string; payment: AcceptedPayment },
  ): void {
    const charge = this.#later.get(id);
    this.#later.delete(id);
    if (charge !== undefined) this.#spend(chainId, chargedTo(payment), charge.day, charge.costGwei);
  }

  /** Of what was reserved, what was not spent is free again. */
  close({ lane, chainId }: HeldLane, accountNonce: number, costWei: bigint): void {
    const key = `${lane} ${accountNonce}`;
    const charge = this.#charges.get(key);
    this.#charges.delete(key);
    if (charge === undefined) return;
    const costGwei = (costWei + WEI_PER_GWEI - 1n) / WEI_PER_GWEI;
    for (const [subject, gwei] of charge.charged) {
      const spent = (gwei * costGwei + charge.costGwei - 1n) / charge.costGwei;
      this.#spend(chainId, subject, charge.day, spent - gwei);
    }
  }

  #wanted(
    { lane }: HeldLane,
    { settlementIds }: Attempt,
    { laneGwei, payeeGwei, fundingsGwei, costGwei }: GasBudget,
  ): ReadonlyMap<string, bigint> {
    const wanted = new Map<string, bigint>();
    if (laneGwei !== undefined) wanted.set(lane, costGwei);
    if (fundingsGwei !== undefined) wanted.set(FUNDINGS, costGwei);
    if (payeeGwei === undefined || settlementIds.length === 0) return wanted;
    const items = BigInt(settlementIds.length);
    const share = (costGwei + items - 1n) / items;
    for (const id of settlementIds) {
      const account = chargedTo(this.paymentOf(id));
      wanted.set(account, (wanted.get(account) ?? 0n) + share);
    }
    return wanted;
  }

  #spend(chainId: number, subject: string, day: string, gwei: bigint): void {
    const key = `${chainId}:${subject}:${day}`;
    this.#spent.set(key, (this.#spent.get(key) ?? 0n) + gwei);
  }
}
