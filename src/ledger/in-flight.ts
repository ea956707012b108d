import type { InFlightKind } from '../core/settlement/accepted-payment.js';

/** What one payer has on its way in one token, as the ledger counted it at one moment. */
export class InFlight {
  private constructor(
    /** Changes with every claim; a claim that counted with an older one is refused. */
    readonly version: string,
    private readonly amounts: ReadonlyMap<string, { kind: InFlightKind; amount: bigint }>,
  ) {}

  /** Reads the hash of a payer and token: `_v` and, by settlement id, `<kind>:<amount>`. */
  static read(fields: ReadonlyMap<string, string>): InFlight {
    const amounts = new Map<string, { kind: InFlightKind; amount: bigint }>();
    for (const [id, text] of fields) {
      if (id === '_v') continue;
      amounts.set(id, { kind: text.slice(0, 1) as InFlightKind, amount: BigInt(text.slice(2)) });
    }
    return new InFlight(fields.get('_v') ?? '', amounts);
  }

  /** Atomic units that will leave the payer's balance, but for this settlement's own. */
  balanceNeededBeside(id: string): bigint {
    return this.#sum(id, () => true);
  }

  /** Atomic units that will be taken from what the payer approved to Permit2. */
  allowanceNeededBeside(id: string): bigint {
    return this.#sum(id, (kind) => kind === 'p');
  }

  hasSponsoredPermitBeside(id: string): boolean {
    return [...this.amounts].some(([other, { kind }]) => other !== id && kind === 's');
  }

  #sum(id: string, counts: (kind: InFlightKind) => boolean): bigint {
    let sum = 0n;
    for (const [other, { kind, amount }] of this.amounts) {
      if (other !== id && counts(kind)) sum += amount;
    }
    return sum;
  }
}
