import { ask } from './client.js';
import type { Payment } from './deals.js';
import type { Stage } from './stage.js';

/** What anybody can look up about a payment. */
export interface Status {
  readonly source: string;
  readonly state: string;
  readonly isPaid: boolean;
  readonly transactions: readonly string[];
  /** Lower case. */
  readonly payTo: string | undefined;
  /** The settled amount. */
  readonly amount: string | undefined;
  /** From its claim until its first transaction was stored. */
  readonly queuedMs: number | undefined;
}

const ANSWER_TIMEOUT_MS = 5000;

/** By the authorization; `undefined` when it is unknown, or no process answers. */
export async function statusOf(
  stage: Stage,
  { token, payer, nonce }: Payment,
): Promise<Status | undefined> {
  const query = new URLSearchParams({
    network: `eip155:${stage.world.chainId}`,
    asset: token,
    payer,
    nonce,
  });
  for (const url of stage.urls()) {
    const answer = await ask(`${url}/v2/settlements?${query.toString()}`, {
      timeoutMs: ANSWER_TIMEOUT_MS,
    });
    if (answer?.status === 200) return readStatus(answer.json);
  }
  return undefined;
}

function readStatus(json: Readonly<Record<string, unknown>>): Status {
  const { source, state, paid, transactions = [], payment = {}, times = {} } = json;
  const { payTo, amount } = payment as Record<string, string>;
  const { claimed, allocated } = times as Record<string, string>;
  return {
    source: String(source),
    state: String(state),
    isPaid: paid === true,
    transactions: transactions as readonly string[],
    payTo: payTo?.toLowerCase(),
    amount,
    queuedMs:
      claimed === undefined || allocated === undefined
        ? undefined
        : Date.parse(allocated) - Date.parse(claimed),
  };
}
