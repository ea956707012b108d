import type { Redis } from 'ioredis';
import type { Hex } from 'viem';
import type { Reason } from '../core/reasons.js';
import { processChannel } from '../ledger/keys.js';
import { readReason } from '../ledger/snapshot.js';

/** Something happened to a settlement that askers of this process wait for. */
export interface News {
  readonly kind: 'sent' | 'included' | 'finalized' | 'failed' | 'refused' | 'sold' | 'held';
  readonly transaction: Hex | undefined;
  readonly reason: Reason | undefined;
  /** Of a refusal: the claim that was refused. A later claim of the same payment is another one. */
  readonly generation: string | undefined;
}

type Listener = (news: News) => void;

/**
 * News of settlements, as the ledger publishes it to the processes whose askers wait. News may be lost
 * with a connection; askers look at the ledger from time to time all the same.
 */
export class SettlementNews {
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(
    private readonly subscriber: Redis,
    private readonly process: string,
  ) {}

  async start(): Promise<void> {
    this.subscriber.on('message', (channel: string, text: string) => {
      if (channel === processChannel(this.process)) this.#publish(text);
    });
    await this.subscriber.subscribe(processChannel(this.process));
  }

  /** @returns how to stop listening. */
  listen(settlementId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(settlementId) ?? new Set();
    this.#listeners.set(settlementId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(settlementId);
    };
  }

  #publish(text: string): void {
    const [ids = '', kind, transaction, reason, generation] = text.split('|');
    const news: News = {
      kind: kind as News['kind'],
      transaction: transaction ? (transaction as Hex) : undefined,
      reason: readReason(reason),
      generation,
    };
    for (const id of ids.split(',')) {
      for (const listener of [...(this.#listeners.get(id) ?? [])]) listener(news);
    }
  }
}
