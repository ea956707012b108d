import type { Address, Hex } from 'viem';
import { CHANNEL_ESCROW, ERC3009_COLLECTOR } from '../../protocol/evm/contracts.js';
import {
  AUTHORIZATION_USED_TOPIC,
  DEPOSITED_TOPIC,
  isPaidLog,
  type ReceiptLog,
  type Transfer,
  TRANSFER_TOPIC,
} from '../../protocol/evm/logs.js';
import { CHANNEL_SCHEME } from '../../protocol/schemes/registry.js';
import type { DifferenceName, Finding } from './difference.js';
import type { ReadTransaction, RecordedSettlement, SeenTransaction } from './records.js';

/** One transaction, and every settlement that names it. */
interface RecordedTransaction {
  readonly hash: Hex;
  readonly result: ReadTransaction;
  readonly settlements: readonly RecordedSettlement[];
}

type ShownTransfer = Transfer & { readonly logIndex: number };

/** A use of an EIP-3009 authorization. */
interface ShownUse {
  readonly asset: Address;
  readonly payer: Address;
  readonly nonce: bigint;
  readonly logIndex: number;
}

/**
 * Compares the settlements of one transaction with its logs. Each log pays for at most one settlement. Remaining logs
 * in a transaction of a lane are reported too.
 */
export function compareTransaction(
  { hash, result, settlements }: RecordedTransaction,
  lanes: ReadonlySet<Address>,
): readonly Finding[] {
  const paid = settlements.filter((one) => one.isPaid && one.transaction === hash);
  const unpaid = settlements.filter((one) => !one.isPaid);
  const of = (name: DifferenceName) => (one: RecordedSettlement) => finding(name, one, hash);
  if (result.kind === 'unread') return [...paid, ...unpaid].map(of('not_checked'));
  if (result.kind === 'absent') {
    return paid.map(of(result.isProven ? 'settled_without_log' : 'not_checked'));
  }
  const { transaction } = result;
  const isOurs = lanes.has(transaction.from);
  const senders = isOurs
    ? []
    : paid
        .filter(({ state }) => state !== 'foreign')
        .map((one) => finding('sender_differs', one, hash, { found: transaction.from }));
  if (!transaction.isSuccess) return [...senders, ...paid.map(of('settled_without_log'))];
  const logs = new TransactionLogs(transaction);
  const isOfChannel = ({ scheme }: RecordedSettlement): boolean => scheme === CHANNEL_SCHEME;
  return [
    ...senders,
    ...logs.compareChannels(paid.filter(isOfChannel)),
    ...logs.comparePaid(paid.filter((one) => !isOfChannel(one))),
    // A settlement that failed here may have been paid by a foreign transaction, if the payment was presented
    // elsewhere too.
    ...(isOurs ? [...logs.compareUnpaid(unpaid), ...logs.leftOver()] : []),
  ];
}

class TransactionLogs {
  readonly #transfers: readonly ShownTransfer[];
  readonly #uses: readonly ShownUse[];
  readonly #taken = new Set<number>();

  constructor(private readonly transaction: SeenTransaction) {
    this.#transfers = transaction.logs.flatMap((log) => transferOf(log) ?? []);
    this.#uses = transaction.logs.flatMap((log) => useOf(log) ?? []);
  }

  /** Correct settlements choose first, so that a wrong settlement does not take their log. */
  comparePaid(paid: readonly RecordedSettlement[]): readonly Finding[] {
    const findings: Finding[] = [];
    const others: RecordedSettlement[] = [];
    for (const one of paid) {
      const own = this.#transfers.find(({ logIndex }) => logIndex === one.logIndex);
      if (own !== undefined && !this.#taken.has(own.logIndex) && fits(one, own)) {
        findings.push(...this.#take(one, own));
      } else others.push(one);
    }
    for (const one of others) findings.push(...this.#compareOther(one));
    return findings;
  }

  /**
   * Money into a channel goes through the escrow, and the logs of payouts and refunds do not name their settlement.
   * The first requester has it done for all, so the settlements of such a transaction share what the escrow moved.
   */
  compareChannels(paid: readonly RecordedSettlement[]): readonly Finding[] {
    const { hash } = this.transaction;
    if (paid.length === 0) return [];
    const findings = paid.flatMap((one) => {
      const isDeposit = one.method === 'eip3009' || one.method === 'permit2';
      const own = this.#free().find(
        ({ asset, payer, payTo, amount }) =>
          asset === one.asset &&
          payer === one.payer &&
          amount === one.amount &&
          (payTo === CHANNEL_ESCROW || payTo === ERC3009_COLLECTOR),
      );
      const event = isDeposit ? this.#depositedOf(one) : undefined;
      if (isDeposit && (own === undefined || event === undefined)) {
        return [finding('settled_without_log', one, hash)];
      }
      if (isDeposit && own !== undefined) this.#taken.add(own.logIndex);
      if (event !== undefined) this.#taken.add(event.logIndex);
      return this.#compareBlock(one);
    });
    const moved = this.#transfers.filter(({ payer, payTo }) =>
      [payer, payTo].some((one) => one === CHANNEL_ESCROW || one === ERC3009_COLLECTOR),
    );
    for (const { logIndex } of moved) this.#taken.add(logIndex);
    for (const use of this.#uses) {
      const isOfDeposit = paid.some(
        ({ asset, payer, nonce }) =>
          use.asset === asset && use.payer === payer && use.nonce === nonce,
      );
      if (isOfDeposit) this.#taken.add(use.logIndex);
    }
    return findings;
  }

  /** The event of any channel with this amount, because the history does not store the channel. */
  #depositedOf({ amount, logIndex }: RecordedSettlement): ReceiptLog | undefined {
    return this.transaction.logs.find(
      (log) =>
        amount !== undefined &&
        log.logIndex === (logIndex ?? log.logIndex) &&
        isFree(this.#taken, log) &&
        isPaidLog(log, DEPOSITED, amount),
    );
  }

  /** Settlements that failed by the history and are paid on the chain. */
  compareUnpaid(unpaid: readonly RecordedSettlement[]): readonly Finding[] {
    const { hash, blockNumber } = this.transaction;
    return unpaid.flatMap((one) => {
      const { asset, payer, nonce } = one;
      if (asset === undefined || payer === undefined) return [];
      const transfer = this.#free().find((shown) => fits(one, shown));
      if (transfer === undefined) return [];
      if (one.method === 'eip3009') {
        const use = this.#uses.find(
          (shown) => isFree(this.#taken, shown) && isUseOf(shown, transfer, nonce),
        );
        if (use === undefined) return [];
        this.#taken.add(use.logIndex);
      }
      this.#taken.add(transfer.logIndex);
      const { logIndex } = transfer;
      return [
        finding('state_differs', one, hash, {
          logIndex,
          blockNumber,
          expected: one.state,
          found: 'paid',
        }),
      ];
    });
  }

  /** One finding for each payment: the use of an authorization and its transfer count once. */
  leftOver(): readonly Finding[] {
    const { hash, blockNumber, from: lane, logs } = this.transaction;
    const transfers = this.#free();
    const isCovered = ({ address, topics }: ReceiptLog): boolean =>
      topics[0] === AUTHORIZATION_USED_TOPIC &&
      transfers.some((one) => one.asset === address && topicOf(one.payer) === topics[1]);
    return logs
      .filter(
        ({ topics: [event] }) => event === TRANSFER_TOPIC || event === AUTHORIZATION_USED_TOPIC,
      )
      .filter((log) => isFree(this.#taken, log) && !isCovered(log))
      .map(({ address, logIndex, ...log }) => {
        const shown = transferOf({ address, logIndex, ...log });
        return {
          name: 'log_without_settlement',
          transaction: hash,
          blockNumber,
          lane,
          logIndex,
          found: shown === undefined ? address : textOf(shown),
        } as const;
      });
  }

  #compareOther(one: RecordedSettlement): readonly Finding[] {
    const { hash } = this.transaction;
    const free = this.#free();
    const isKnown = one.logIndex !== undefined;
    const same = isWhole(one) || !isKnown ? free.find((shown) => fits(one, shown)) : undefined;
    // Claims that the ledger restored do not know their log.
    if (same !== undefined && !isKnown) return this.#take(one, same);
    if (same !== undefined) {
      return [
        finding('log_index_differs', one, hash, {
          logIndex: same.logIndex,
          expected: String(one.logIndex),
          found: String(same.logIndex),
        }),
        ...this.#take(one, same),
      ];
    }
    const own = this.#transfers.find(({ logIndex }) => logIndex === one.logIndex);
    if (own !== undefined && this.#taken.has(own.logIndex) && fits(one, own)) {
      return [finding('log_credited_twice', one, hash, { logIndex: own.logIndex })];
    }
    const near =
      free.find(({ logIndex }) => logIndex === one.logIndex) ??
      free.find(({ asset, payer }) => asset === one.asset && payer === one.payer);
    if (near === undefined) return [finding('settled_without_log', one, hash)];
    return [...differingFields(one, near, hash), ...this.#take(one, near)];
  }

  #take(one: RecordedSettlement, transfer: ShownTransfer): readonly Finding[] {
    this.#taken.add(transfer.logIndex);
    return [...this.#compareBlock(one), ...this.#takeUse(one, transfer)];
  }

  #compareBlock(one: RecordedSettlement): readonly Finding[] {
    const { hash, blockNumber, blockHash } = this.transaction;
    const isSame =
      one.blockNumber === blockNumber &&
      (one.blockHash === undefined || one.blockHash === blockHash);
    if (isSame) return [];
    return [
      finding('block_differs', one, hash, {
        expected: `${one.blockNumber ?? 'none'} ${one.blockHash ?? ''}`.trim(),
        found: `${blockNumber} ${blockHash}`,
      }),
    ];
  }

  #takeUse(one: RecordedSettlement, transfer: ShownTransfer): readonly Finding[] {
    // A claim that the ledger restored does not know its method, so a use of an authorization counts if there is one.
    if (one.method !== undefined && one.method !== 'eip3009') return [];
    const free = this.#uses.filter((use) => isFree(this.#taken, use));
    const use =
      free.find((shown) => isUseOf(shown, transfer, one.nonce)) ??
      free.find((shown) => isUseOf(shown, transfer, undefined));
    if (use !== undefined) this.#taken.add(use.logIndex);
    const isSame = use === undefined ? one.method === undefined : isUseOf(use, transfer, one.nonce);
    if (isSame) return [];
    return [
      finding('authorization_differs', one, this.transaction.hash, {
        expected: one.nonce?.toString(),
        found: use?.nonce.toString() ?? 'none',
      }),
    ];
  }

  #free(): readonly ShownTransfer[] {
    return this.#transfers.filter((one) => isFree(this.#taken, one));
  }
}

function differingFields(
  one: RecordedSettlement,
  shown: ShownTransfer,
  hash: Hex,
): readonly Finding[] {
  const fields = [
    ['asset_differs', one.asset, shown.asset],
    ['payer_differs', one.payer, shown.payer],
    ['payee_differs', one.payTo, shown.payTo],
    ['amount_differs', one.amount, shown.amount],
  ] as const;
  const { logIndex } = shown;
  return fields
    .filter(([, expected, found]) => expected !== undefined && expected !== found)
    .map(([name, expected, found]) =>
      finding(name, one, hash, { logIndex, expected: String(expected), found: String(found) }),
    );
}

function finding(
  name: DifferenceName,
  { id, blockNumber, logIndex }: RecordedSettlement,
  transaction: Hex,
  more: Partial<Finding> = {},
): Finding {
  return { name, settlementId: id, transaction, blockNumber, logIndex, ...more };
}

/** A value that the history does not have is not compared. */
function fits(one: RecordedSettlement, shown: ShownTransfer): boolean {
  return (
    (one.asset ?? shown.asset) === shown.asset &&
    (one.payer ?? shown.payer) === shown.payer &&
    (one.payTo ?? shown.payTo) === shown.payTo &&
    (one.amount ?? shown.amount) === shown.amount
  );
}

function isWhole({ asset, payer, payTo, amount }: RecordedSettlement): boolean {
  return ![asset, payer, payTo, amount].includes(undefined);
}

function isFree(taken: ReadonlySet<number>, { logIndex }: { readonly logIndex: number }): boolean {
  return !taken.has(logIndex);
}

/** @param nonce - `undefined` matches any nonce. */
function isUseOf(use: ShownUse, { asset, payer }: Transfer, nonce: bigint | undefined): boolean {
  return use.asset === asset && use.payer === payer && use.nonce === (nonce ?? use.nonce);
}

const DEPOSITED = { address: CHANNEL_ESCROW, topics: [DEPOSITED_TOPIC] };
const WORD = /^0x[0-9a-f]{64}$/;

/** `undefined` for a log that is not a transfer with an amount. */
function transferOf({ address, topics, data, logIndex }: ReceiptLog): ShownTransfer | undefined {
  const [event, from, to] = topics;
  if (event !== TRANSFER_TOPIC || topics.length !== 3 || !WORD.test(data)) return undefined;
  const payer = addressIn(from);
  const payTo = addressIn(to);
  if (payer === undefined || payTo === undefined) return undefined;
  return { asset: address, payer, payTo, amount: BigInt(data), logIndex };
}

function useOf({ address, topics, logIndex }: ReceiptLog): ShownUse | undefined {
  const [event, by, nonce] = topics;
  const payer = addressIn(by);
  if (event !== AUTHORIZATION_USED_TOPIC || payer === undefined) return undefined;
  if (nonce === undefined || !WORD.test(nonce)) return undefined;
  return { asset: address, payer, nonce: BigInt(nonce), logIndex };
}

function addressIn(topic: Hex | undefined): Address | undefined {
  return topic !== undefined && WORD.test(topic) ? `0x${topic.slice(26)}` : undefined;
}

function topicOf(address: Address): Hex {
  return `0x${address.slice(2).padStart(64, '0')}`;
}

function textOf({ asset, payer, payTo, amount }: Transfer): string {
  return `${amount} of ${asset} from ${payer} to ${payTo}`;
}
