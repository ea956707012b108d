import { Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { delay } from '../../platform/concurrency/timing.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { Payment } from '../../protocol/payment/payment.js';
import { actionOf } from '../../protocol/schemes/registry.js';
import type { Told } from '../../protocol/schemes/scheme.js';
import type { SettleAnswer, SettleAnswers } from './settle-answer.js';

/** About three hours of BNB Chain: older transactions of others are not named. */
const LOOK_BACK_BLOCKS = 25_000n;
/** How long an answer waits for what it is to say beside success, and for how long between two attempts. */
const PATIENCE_MS = 3000;
const AGAIN_MS = 200;

/**
 * Adds to a success what its action says of it: amounts in its logs, and the state after its transaction. Both are read
 * from the chain for each answer, so that a repeated request has the same answer as the first one.
 */
@Injectable()
export class DoneFacts {
  /** @returns the same answer, unless it is a success of an action that says more than that. */
  async added(
    answer: SettleAnswer,
    payment: Payment,
    answers: SettleAnswers,
    chain: EvmChain,
  ): Promise<SettleAnswer> {
    if (!answer.body.success) return answer;
    const action = actionOf(payment.claim);
    if (action.told === undefined) return answer;
    const own = answer.body.transaction as Hex | '';
    const ofOwn = own === '' ? undefined : await this.#read(payment, own, chain);
    if (ofOwn !== undefined) return withFacts(answer, own, ofOwn);
    // The transaction of another sender was mined first: ours had no effect, or was never sent.
    const found = await this.#find(payment, chain);
    const ofFound = found && (await this.#read(payment, found, chain));
    if (found && ofFound) return withFacts(answer, found, ofFound);
    if (action.mayBeUntold === true) return answer;
    return own === ''
      ? answers.failure('network_unavailable')
      : answers.of(answer.settlementId ?? '').pending(own);
  }

  /** The newest transaction that did such a thing; `undefined` where none is found in time. */
  async #find(payment: Payment, chain: EvmChain): Promise<Hex | undefined> {
    const trace = actionOf(payment.claim).traceOf?.(payment.claim, chain.chainId);
    if (trace === undefined) return undefined;
    return inTime(async () => {
      const { from, to } = await chain.recentBlocks(LOOK_BACK_BLOCKS);
      const logs = await chain.withView((view) => view.logs({ ...trace, from, to }));
      return logs.at(-1)?.transactionHash;
    });
  }

  /** As two endpoints say, where two are there. */
  #read(payment: Payment, transaction: Hex, chain: EvmChain): Promise<Told | undefined> {
    let isStateThere = true;
    return inTime(async () => {
      try {
        const what = 'what a transaction did';
        return await chain.quorumRead({
          what,
          read: async (view) => {
            const value = await readIn(view, payment, transaction, isStateThere);
            return { value, key: JSON.stringify([value], decimal) };
          },
        });
      } catch (error) {
        // A node that has dropped the state of an old block still has the newest state.
        isStateThere = false;
        throw error;
      }
    });
  }
}

async function readIn(
  view: ChainView,
  { claim }: Payment,
  transaction: Hex,
  isStateThere: boolean,
): Promise<Told | undefined> {
  const receipt = await view.receipt(transaction);
  if (receipt === undefined) throw new ChainUnavailableError(view.chainId, 'receipt');
  const { logs, blockHash } = receipt;
  const at = isStateThere ? { blockHash } : 'latest';
  const state = {
    chainId: view.chainId,
    call: (...[call, gas]: Parameters<ChainView['call']>) => view.call(call, gas, at),
  };
  return actionOf(claim).told?.(claim, logs, state);
}

function withFacts(
  answer: SettleAnswer,
  transaction: Hex | '',
  { amount, extra }: Told,
): SettleAnswer {
  const body = {
    ...answer.body,
    transaction,
    ...(amount !== undefined && { amount: amount.toString() }),
    extra: { ...answer.body.extra, ...extra },
  };
  return { ...answer, body };
}

async function inTime<T>(read: () => Promise<T>): Promise<T | undefined> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      if (Date.now() + AGAIN_MS > until) return undefined;
      await delay(AGAIN_MS);
    }
  }
}

function decimal(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
