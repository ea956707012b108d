import type { Redis } from 'ioredis';
import type { Hex } from 'viem';
import type { Reason } from '../../protocol/reasons.js';
import { processChannel } from './keys.js';
import { readReason } from './record.js';

const KINDS = ['sent', 'included', 'finalized', 'failed', 'sold', 'open'] as const;

/** An event of a settlement that requesters of this process wait for. */
export interface SettlementUpdate {
  /**
   * - `sold`: perhaps to another requester.
   * - `open`: the sale was rolled back.
   */
  readonly kind: (typeof KINDS)[number];
  readonly transaction: Hex | undefined;
  readonly reason: Reason | undefined;
}

const isHash = (text: string | undefined): text is string => /^[0-9a-f]{64}$/.test(text ?? '');

type Listener = (event: SettlementUpdate) => void;

/**
 * Events of settlements, published by the ledger to the processes of waiting requesters. A lost connection loses
 * events, so requesters also poll the ledger.
 */
export class SettlementEvents {
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(
    private readonly subscriber: Redis,
    private readonly processId: string,
  ) {}

  async start(): Promise<void> {
    this.subscriber.on('message', (channel: string, text: string) => {
      if (channel === processChannel(this.processId)) this.#publish(text);
    });
    await this.subscriber.subscribe(processChannel(this.processId));
  }

  /** @returns a function that removes the callback. */
  listen(settlementId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(settlementId) ?? new Set();
    this.#listeners.set(settlementId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(settlementId);
    };
  }

  #publish(text: string): void {
    const [ids = '', kind, transaction, reason] = text.split('|');
    const known = KINDS.find((one) => one === kind);
    if (known === undefined) return;
    const event: SettlementUpdate = {
      kind: known,
      transaction: isHash(transaction) ? `0x${transaction}` : undefined,
      reason: readReason(reason),
    };
    for (const id of ids.split(',')) {
      for (const listener of [...(this.#listeners.get(id) ?? [])]) listener(event);
    }
  }
}
