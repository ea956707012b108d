import type { Address, Hex } from 'viem';
import type { BlockHeader } from '../../platform/chain/block.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { KnownRefills } from '../../settlement/ledger/queries/known-refills.js';
import type { ChainEvidence } from './chain-evidence.js';
import { compareLane, type LaneAccount, missingNonces } from './compare-lane.js';
import { compareTransaction } from './compare-transaction.js';
import { type Finding, Findings } from './difference.js';
import { gapsOf, LaneTransactions } from './lane-transactions.js';
import {
  blockOf,
  byTransaction,
  type RecordedSettlement,
  type Sight,
  withoutTransaction,
} from './records.js';
import { SecondLooks } from './second-looks.js';
import type {
  Checkpoint,
  Reconciliation,
  SettlementHistory,
  StartedBy,
  TimeSpan,
} from './settlement-history.js';
import { type Blocks, blocksOf, type Ends, endsOf } from './window.js';

export interface ReconcilerParts {
  readonly evidence: Pick<
    ChainEvidence,
    'chainId' | 'finalBlock' | 'header' | 'firstBlockSince' | 'look' | 'laneState' | 'find'
  >;
  readonly books: SettlementHistory;
  /** The lanes the ledger knows; `undefined` where it cannot be asked: then senders are lanes. */
  readonly ledgerLanes: readonly Address[] | undefined;
  /** The most that is sent to a payer for an approval; 0 where approvals are not sponsored. */
  readonly topUpMostWei: bigint;
  /** What treasuries have sent, as the ledger knows: hints, to be read like any other transaction. */
  readonly refills?: KnownRefills | undefined;
  readonly clock: Clock;
  /** The age of the archive's backlog; absent where it is not known. */
  readonly archiveLagMs?: (() => Promise<number>) | undefined;
  readonly signal?: AbortSignal;
}

export interface ReconcilerTask {
  readonly startedBy: StartedBy;
  readonly window: TimeSpan;
  /** Begins where another run ended, whatever the beginning of the window. */
  readonly resume?: Checkpoint | undefined;
}

const PAGE_SETTLEMENTS = 500;
/** Transactions whose settlements are looked for at once. */
const NAMED_AT_ONCE = 100;
/** Account nonces of one lane that are searched for. */
const GAPS_MOST = 2000;
const ASSETS_MOST = 50;

/** One run over one chain: the books of a time against one final block. */
export class Reconciler {
  readonly #findings = new Findings();
  readonly #lanes = new Map<Address, LaneTransactions>();
  readonly #assets = new Set<Address>();
  readonly #startedAt: Date;
  #settlements = 0;
  #transactions = 0;
  readonly #looks: SecondLooks;

  constructor(
    private readonly parts: ReconcilerParts,
    private readonly task: ReconcilerTask,
  ) {
    this.#startedAt = new Date(parts.clock.now());
    this.#looks = new SecondLooks(parts.clock, parts.archiveLagMs);
  }

  /** @throws ArchiveError; whatever the signal was aborted with. */
  async run(): Promise<Reconciliation> {
    const { evidence, books } = this.parts;
    const { window, resume } = this.task;
    const blocks = await this.#unlessUnread('the blocks of the window', () =>
      blocksOf(evidence, window, resume),
    );
    if (blocks === undefined || blocks.first > blocks.last.number) {
      return this.#result(blocks, []);
    }
    const { first, last } = blocks;
    const known = [...(this.parts.ledgerLanes ?? []), ...(await books.lanes(evidence.chainId))];
    const before = await this.#unlessUnread('the block before', () => evidence.header(first - 1n));
    // While the newest states are still there: nodes forget them within minutes.
    const states = new Map<Address, Ends>();
    for (const lane of new Set(known)) {
      this.#lanes.set(lane, new LaneTransactions(lane));
      states.set(lane, await endsOf(evidence, lane, { before, last, resume }));
    }
    await this.#readBlocks(blocks);
    await this.#readClaims(blocks);
    const accounts: LaneAccount[] = [];
    for (const [lane, read] of this.#lanes) {
      const ends = states.get(lane) ?? (await endsOf(evidence, lane, { before, last, resume }));
      accounts.push(await this.#closeLane(read, ends, blocks));
    }
    return this.#result(blocks, accounts);
  }

  // ---------------------------------------------------------------- settlements

  async #readBlocks({ first, last }: Blocks): Promise<void> {
    const { books, evidence } = this.parts;
    for (let from = first; from <= last.number;) {
      const read = (to: bigint) => books.ofBlocks(evidence.chainId, { from, to }, PAGE_SETTLEMENTS);
      const page = await read(last.number);
      await this.#check(page.settlements, last, async () => (await read(page.to)).settlements);
      from = page.to + 1n;
    }
  }

  async #readClaims({ first, last }: Blocks): Promise<void> {
    const { books, evidence } = this.parts;
    const { window, resume } = this.task;
    const claimed = { fromMs: resume?.toMs ?? window.fromMs, toMs: window.toMs };
    let after: Parameters<SettlementHistory['withoutBlock']>[3];
    do {
      const place = after;
      const read = () => books.withoutBlock(evidence.chainId, claimed, first, place);
      const page = await read();
      await this.#check(page.settlements, last, async () => (await read()).settlements);
      after = page.next;
    } while (after !== undefined);
  }

  /** @param again - reads the same settlements again. */
  async #check(
    settlements: readonly RecordedSettlement[],
    last: BlockHeader,
    again: () => Promise<readonly RecordedSettlement[]>,
  ): Promise<void> {
    const sights = new Map<Hex, Sight>();
    let rows = settlements;
    for (;;) {
      this.parts.signal?.throwIfAborted();
      const findings = await this.#compare(rows, sights, last);
      const isWrong = findings.some(({ name }) => name !== 'not_checked');
      if (!isWrong || !(await this.#looks.wait(last))) {
        this.#settlements += rows.length;
        this.#transactions += sights.size;
        this.#findings.add(findings);
        return;
      }
      rows = await again();
    }
  }

  async #compare(
    rows: readonly RecordedSettlement[],
    sights: Map<Hex, Sight>,
    last: BlockHeader,
  ): Promise<readonly Finding[]> {
    for (const { asset } of rows) {
      if (asset !== undefined && this.#assets.size < ASSETS_MOST) this.#assets.add(asset);
    }
    const byHash = byTransaction(rows);
    const wanted = [...byHash]
      .filter(([hash]) => !sights.has(hash))
      .map(([hash, named]) => ({ hash, blockNumber: blockOf(hash, named) }));
    for (const [hash, sight] of await this.parts.evidence.look(wanted)) sights.set(hash, sight);
    for (const [hash, sight] of sights) this.#note(sight, byHash.get(hash) ?? [], last);
    const lanes = new Set(this.#lanes.keys());
    const compare = (hash: Hex, settlements: readonly RecordedSettlement[]) =>
      compareTransaction(
        { hash, settlements, sight: sights.get(hash) ?? { kind: 'unread' } },
        lanes,
      );
    const doubtful = [...byHash].flatMap(([hash, named]) =>
      compare(hash, named).length === 0 ? [] : [hash],
    );
    return [
      ...rows.flatMap(withoutTransaction),
      ...(await this.#named(doubtful, rows)).flatMap(([hash, named]) => compare(hash, named)),
    ];
  }

  /**
   * All settlements that name these transactions, with those that were read. Who shares a transaction may have been
   * claimed in another time, or be in another block by the books: a transaction is never judged by some of them.
   */
  async #named(
    hashes: readonly Hex[],
    read: readonly RecordedSettlement[],
  ): Promise<readonly (readonly [Hex, readonly RecordedSettlement[]])[]> {
    if (hashes.length === 0) return [];
    const { books, evidence } = this.parts;
    const more: RecordedSettlement[] = [];
    for (let at = 0; at < hashes.length; at += NAMED_AT_ONCE) {
      const some = hashes.slice(at, at + NAMED_AT_ONCE);
      more.push(...(await books.ofTransactions(evidence.chainId, some)));
    }
    const all = new Map([...read, ...more].map((one) => [one.id, one]));
    const byHash = byTransaction([...all.values()]);
    return hashes.map((hash) => [hash, byHash.get(hash) ?? []] as const);
  }

  /** Keeps what a transaction means for its lane. */
  #note(sight: Sight, named: readonly RecordedSettlement[], last: BlockHeader): void {
    if (sight.kind !== 'seen' || sight.transaction.blockNumber > last.number) return;
    const { from } = sight.transaction;
    const isClaimed = named.some(({ isPaid, state }) => isPaid && state !== 'foreign');
    if (this.parts.ledgerLanes === undefined && isClaimed && !this.#lanes.has(from)) {
      this.#lanes.set(from, new LaneTransactions(from));
    }
    this.#lanes.get(from)?.add(sight.transaction);
  }

  // ---------------------------------------------------------------- lanes

  async #closeLane(read: LaneTransactions, ends: Ends, blocks: Blocks): Promise<LaneAccount> {
    const { topUpMostWei, evidence } = this.parts;
    const { first, last } = blocks;
    const span = { from: first, to: last.number };
    const missing = () => missingNonces({ ...ends, transactions: read.within(span) });
    const refills = this.parts.refills?.get(read.lane);
    const sent = refills && missing().flatMap((nonce) => refills.get(nonce) ?? []);
    if (sent !== undefined) await this.#checkFound(sent, read, last);
    const gaps = gapsOf(missing().slice(0, GAPS_MOST), read.within(span), span);
    if (gaps.length > 0) {
      const found = await evidence.find({ lane: read.lane, gaps, assets: [...this.#assets] });
      await this.#checkFound([...found.values()], read, last);
    }
    const { lane } = read;
    const { account, findings } = compareLane({
      lane,
      ...ends,
      topUpMostWei,
      lanes: new Set(this.#lanes.keys()),
      transactions: read.within(span),
    });
    this.#findings.add(findings);
    return account;
  }

  /** Transactions that no settlement led to, beside the settlements of their blocks. */
  async #checkFound(
    hashes: readonly Hex[],
    read: LaneTransactions,
    last: BlockHeader,
  ): Promise<void> {
    const { evidence, books } = this.parts;
    const wanted = hashes.map((hash) => ({ hash, blockNumber: undefined }));
    for (const [hash, sight] of await evidence.look(wanted)) {
      this.parts.signal?.throwIfAborted();
      if (sight.kind !== 'seen' || sight.transaction.from !== read.lane) continue;
      const { blockNumber: at } = sight.transaction;
      if (at > last.number) continue;
      read.add(sight.transaction);
      this.#transactions += 1;
      for (;;) {
        const { settlements } = await books.ofBlocks(evidence.chainId, { from: at, to: at }, 1);
        const [[, named] = [hash, []]] = await this.#named([hash], settlements);
        const findings = compareTransaction(
          { hash, sight, settlements: named },
          new Set([read.lane]),
        );
        if (findings.length === 0 || !(await this.#looks.wait(last))) {
          this.#findings.add(findings);
          break;
        }
      }
    }
  }

  // ---------------------------------------------------------------- the result

  /** A transaction that cannot be read is a finding. */
  async #unlessUnread<T>(expected: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      this.#findings.add([{ name: 'not_checked', expected }]);
      return undefined;
    }
  }

  #result(blocks: Blocks | undefined, lanes: readonly LaneAccount[]): Reconciliation {
    const { evidence, clock } = this.parts;
    const { startedBy, window } = this.task;
    return {
      chainId: evidence.chainId,
      startedBy,
      window,
      lanes,
      blocks: blocks && { from: blocks.first, to: blocks.last.number, lastHash: blocks.last.hash },
      settlements: this.#settlements,
      transactions: this.#transactions,
      counts: this.#findings.counts,
      findings: this.#findings.kept,
      startedAt: this.#startedAt,
      finishedAt: new Date(clock.now()),
    };
  }
}
