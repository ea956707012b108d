import { WebSocket } from 'undici';
import type { Hex } from 'viem';

interface Notice {
  readonly method?: string;
  readonly params?: { readonly subscription: string; readonly result: unknown };
  readonly id?: number;
  readonly result?: string;
}

/**
 * When the node took each transaction and made each block, as its own notices tell; the same yardstick
 * for every facilitator. Milliseconds since the epoch.
 */
export class ChainClock {
  readonly #blocks = new Map<bigint, number>();
  readonly #pending = new Map<string, number>();
  readonly #socket: WebSocket;
  readonly #onBlock: ((number: bigint) => void)[] = [];

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static async open(rpcUrl: string): Promise<ChainClock> {
    const socket = new WebSocket(rpcUrl.replace('http', 'ws'));
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => {
        resolve();
      });
      socket.addEventListener('error', () => {
        reject(new Error('the chain gives no notices'));
      });
    });
    const clock = new ChainClock(socket);
    const ready = clock.#listen();
    ['newHeads', 'newPendingTransactions'].forEach((kind, id) => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: [kind] }));
    });
    await ready;
    return clock;
  }

  #listen(): Promise<void> {
    const kinds = new Map<string, number>();
    return new Promise((resolve) => {
      this.#socket.addEventListener('message', ({ data }) => {
        const at = performance.timeOrigin + performance.now();
        const notice = JSON.parse(String(data)) as Notice;
        if (notice.id !== undefined && notice.result !== undefined) {
          kinds.set(notice.result, notice.id);
          if (kinds.size === 2) resolve();
        }
        const { subscription = '', result } = notice.params ?? {};
        if (kinds.get(subscription) === 0) {
          const number = BigInt((result as { readonly number: Hex }).number);
          this.#blocks.set(number, at);
          for (const tell of this.#onBlock) tell(number);
        } else if (kinds.get(subscription) === 1) {
          this.#pending.set(result as string, at);
        }
      });
    });
  }

  onBlock(tell: (number: bigint) => void): void {
    this.#onBlock.push(tell);
  }

  blockAt(number: bigint): number | undefined {
    return this.#blocks.get(number);
  }

  takenAt(transaction: string): number | undefined {
    return this.#pending.get(transaction);
  }

  /** Mean seconds between the blocks seen so far. */
  get blockTime(): number {
    const numbers = [...this.#blocks.keys()];
    const [first, last] = [numbers[0], numbers.at(-1)];
    if (first === undefined || last === undefined || first === last) return 0;
    const elapsed = (this.#blocks.get(last) ?? 0) - (this.#blocks.get(first) ?? 0);
    return elapsed / 1000 / Number(last - first);
  }

  close(): void {
    this.#socket.close();
  }
}
