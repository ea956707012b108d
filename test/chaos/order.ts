import { randomUUID } from 'node:crypto';
import type { Body, Json } from '../support/payments.js';
import type { Dice } from '../support/dice.js';

export interface Heard {
  readonly reason: string | undefined;
  readonly isSuccess: boolean;
  readonly transaction: unknown;
  readonly network: unknown;
}

export type End = 'success' | 'duplicate' | 'not_sent' | 'refused';

/** Says nothing about the payment: ask again. */
const ASK_AGAIN = new Set(['settlement_pending', 'network_unavailable', 'queue_full', 'no_gas']);
const PATIENCE_MS = 35_000;

/**
 * One order of a seller, paid by one payment: asks with its idempotency key until it has heard the end,
 * as a seller does who must know.
 */
export class Order {
  readonly key = randomUUID();
  readonly heard: Heard[] = [];
  end: End | undefined;

  constructor(
    readonly body: Body,
    private readonly urls: () => readonly string[],
    private readonly dice: Dice,
    private readonly habits: {
      /** Hangs up on its first request after this many milliseconds, and asks again. */
      readonly hangsUpAfterMs?: number;
      /** Does not try again what was not sent. */
      readonly isEasilyDiscouraged: boolean;
      /** Whether another order has got this payment: then "duplicate" is the end of it. */
      readonly isSoldElsewhere: () => boolean;
    },
  ) {}

  /** Resolves when it has heard the end, or after its patience; `end` is then unset. */
  async pursue(deadline: number): Promise<void> {
    let round = 0;
    while (Date.now() < deadline) {
      const hangsUp = round === 0 ? this.habits.hangsUpAfterMs : undefined;
      round += 1;
      const heard = await this.#ask(hangsUp ?? PATIENCE_MS);
      if (heard !== undefined) {
        this.heard.push(heard);
        this.end = this.#endOf(heard);
        if (this.end !== undefined) return;
      }
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }

  #endOf({ isSuccess, reason }: Heard): End | undefined {
    if (isSuccess) return 'success';
    if (reason === undefined || ASK_AGAIN.has(reason)) return undefined;
    if (reason === 'duplicate_settlement') {
      return this.habits.isSoldElsewhere() ? 'duplicate' : undefined;
    }
    if (reason === 'settlement_not_sent') {
      return this.habits.isEasilyDiscouraged ? 'not_sent' : undefined;
    }
    return 'refused';
  }

  async #ask(patienceMs: number): Promise<Heard | undefined> {
    try {
      const response = await fetch(`${this.dice.pick(this.urls())}/settle`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': this.key },
        body: JSON.stringify(this.body),
        signal: AbortSignal.timeout(patienceMs),
      });
      const answer = (await response.json()) as Json;
      const { success, errorReason, transaction, network } = answer;
      return {
        isSuccess: success === true,
        reason: errorReason as string | undefined,
        transaction,
        network,
      };
    } catch {
      // Nobody there, the connection lost, or patience at its end: nothing was heard.
      return undefined;
    }
  }
}
