import { Pool } from 'undici';
import type { Hex } from 'viem';
import type { SandboxAccount } from '../../sandbox/accounts.js';
import { signTransaction } from '../../src/platform/crypto/sign-transaction.js';
import type { Baseline } from './baselines.js';
import type { ChainClock } from './chain-clock.js';

/** The cheapest transaction there is. */
const TRANSFER_GAS = 21_000n;
const GAS_PRICE_WEI = 50_000_000n;

interface BareNodeOptions {
  readonly rpcUrl: string;
  readonly chainId: number;
  /** An account with no other sender. */
  readonly from: SandboxAccount;
  readonly clock: ChainClock;
  readonly concurrency: number;
  /** Transfers altogether. */
  readonly count: number;
}

/**
 * Signed transfers straight to the node, each place in the line free again when its transfer is mined,
 * as a settle is answered: what no facilitator of one transaction a payment could pass.
 */
export async function bareNodeFloor({
  rpcUrl,
  chainId,
  from,
  clock,
  concurrency,
  count,
}: BareNodeOptions): Promise<Baseline> {
  const pool = new Pool(new URL(rpcUrl).origin, { connections: 64 });
  const key = Buffer.from(from.key.slice(2), 'hex');
  const first = Number(await ask(pool, 'eth_getTransactionCount', [from.address, 'latest']));
  const signed = Array.from({ length: count }, (_, index) =>
    signTransaction(
      {
        chainId,
        nonce: first + index,
        maxPriorityFeePerGas: GAS_PRICE_WEI,
        maxFeePerGas: GAS_PRICE_WEI,
        gas: TRANSFER_GAS,
        to: from.address,
        data: '0x',
      },
      key,
    ),
  );
  const waiting = new Map<string, () => void>();
  clock.onBlock((number) => {
    if (waiting.size === 0) return;
    const params = [`0x${number.toString(16)}`, false];
    void ask(pool, 'eth_getBlockByNumber', params).then((block) => {
      const { transactions } = block as { readonly transactions: readonly Hex[] };
      for (const hash of transactions) waiting.get(hash)?.();
    });
  });
  const begun = performance.now();
  let next = 0;
  const place = async (): Promise<void> => {
    for (;;) {
      const transaction = signed[next];
      next += 1;
      if (transaction === undefined) return;
      const mined = new Promise<void>((resolve) => {
        waiting.set(transaction.hash, () => {
          waiting.delete(transaction.hash);
          resolve();
        });
      });
      await ask(pool, 'eth_sendRawTransaction', [transaction.raw]);
      await mined;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, place));
  const perSecond = (count * 1000) / (performance.now() - begun);
  await pool.close();
  return { name: `bare node: raw transfers sent and mined, ${concurrency} at once`, perSecond };
}

async function ask(pool: Pool, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await pool.request({
    method: 'POST',
    path: '/',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = (await response.body.json()) as { result?: unknown; error?: unknown };
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
  return result;
}
