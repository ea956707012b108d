import { randomBytes } from 'node:crypto';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { type Address, type Hex, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { stockBuyerAs } from './buyer.js';
import { channelSeller } from './channel-seller.js';
import { type SandboxClient, USD_NAME, USD_VERSION } from './deploy.js';
import { freePort } from './processes.js';
import { listen } from './seller.js';

/** Of one call, in atomic units: 0.001 of a token with 18 decimals. */
export const CALL_PRICE = 10n ** 15n;

/** The facilitator takes up to twice `SETTLE_WAIT_MS` for a claim or a payout. */
const CLIENT_WAIT_MS = 45_000;

interface ChannelTradeOptions {
  readonly facilitatorUrl: string;
  readonly rpcUrl: string;
  readonly client: SandboxClient;
  readonly network: `eip155:${number}`;
  /** Of the token that calls are paid in. */
  readonly usd: Address;
  /** Key of the buyer, who holds the price of all calls. */
  readonly buyer: Hex;
  /** Key of the seller, which signs its claims too. */
  readonly seller: Hex;
  readonly calls: number;
  readonly onPaid?: (calls: number) => void;
}

interface TradeTransaction {
  readonly what: 'deposit' | 'claim' | 'payout';
  readonly hash: Hex;
  readonly gas: number;
}

/** The result of many calls that one channel has paid. */
export interface ChannelTrade {
  /** From the first call, which opens the channel, to the answer to the last. */
  readonly seconds: number;
  /** In the order in which they were sent. */
  readonly transactions: readonly TradeTransaction[];
  /** For each call that was paid. */
  readonly gasEach: number;
}

/**
 * Opens a new channel that holds the price of all calls, makes them one after another with the stock client, and has
 * the stock manager of the seller claim them and have them paid out.
 *
 * @throws Error that says which call was not paid, and why; or what the manager says of a claim or payout.
 */
export async function tradeByChannel(options: ChannelTradeOptions): Promise<ChannelTrade> {
  const { facilitatorUrl, rpcUrl, client, calls, onPaid } = options;
  const authorizer = privateKeyToAccount(options.seller);
  const minDeposit = (CALL_PRICE * BigInt(calls)).toString();
  const { app, manager } = channelSeller({
    facilitator: new HTTPFacilitatorClient({ url: facilitatorUrl, timeoutMs: CLIENT_WAIT_MS }),
    network: options.network,
    payTo: authorizer.address,
    authorizer,
    token: options.usd,
    extra: { name: USD_NAME, version: USD_VERSION, minDeposit },
    price: CALL_PRICE,
  });
  const port = await freePort();
  const server = await listen(app, port);
  try {
    // The salt makes the channel a new one.
    const salt = toHex(randomBytes(32));
    const buyer = stockBuyerAs(privateKeyToAccount(options.buyer), rpcUrl, { salt });
    // A call that is covered by the deposit names no transaction.
    const deposits: string[] = [];
    const begun = performance.now();
    for (let call = 1; call <= calls; call += 1) {
      const { status, receipt, refusal } = await buyer.buy(`http://127.0.0.1:${port}/call`);
      if (status !== 200) {
        throw new Error(`Call ${call} was not paid: ${refusal ?? `the seller answers ${status}`}`);
      }
      deposits.push(receipt?.transaction ?? '');
      onPaid?.(call);
    }
    const seconds = (performance.now() - begun) / 1000;
    const { claims, settle } = await manager.claimAndSettle();
    const answers = [
      ...deposits.map((hash) => ['deposit', hash] as const),
      ...claims.map(({ transaction }) => ['claim', transaction] as const),
      ['payout', settle?.transaction ?? ''] as const,
    ];
    const transactions = await Promise.all(
      answers.filter(([, hash]) => hash !== '').map(([what, hash]) => sent(client, what, hash)),
    );
    const gas = transactions.reduce((sum, one) => sum + one.gas, 0);
    return { seconds, transactions, gasEach: gas / calls };
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function sent(
  client: SandboxClient,
  what: TradeTransaction['what'],
  transaction: string,
): Promise<TradeTransaction> {
  const hash = transaction as Hex;
  const { gasUsed } = await client.getTransactionReceipt({ hash });
  return { what, hash, gas: Number(gasUsed) };
}
