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
import { Rechecks } from './rechecks.js';
import {
  blockOf,
  byTransaction,
  type ReadTransaction,
  type RecordedSettlement,
  withoutTransaction,
} from './records.js';
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
  readonly history: SettlementHistory;
  /** The lanes in the ledger; `undefined` without the ledger: then every sender counts as a lane. */
  readonly ledgerLanes: readonly Address[] | undefined;
  /** Maximum top-up of a payer for an approval; 0 without sponsored approvals. */
  readonly topUpMostWei: bigint;
  /** Transfers of treasuries from the ledger. They are hints, to be read like other transactions. */
  readonly refills?: KnownRefills | undefined;
  readonly clock: Clock;
  /** Age of the backlog of the archive; absent if not known. */
  readonly archiveLagMs?: (() => Promise<number>) | undefined;
  readonly signal?: AbortSignal;
}

export interface ReconcilerTask {
  readonly startedBy: StartedBy;
  readonly window: TimeSpan;
  /** Start after the end of this run, whatever the window says. */
  readonly resume?: Checkpoint | undefined;
}

const PAGE_SETTLEMENTS = 500;
/** Transactions per query for their settlements. */
const NAMED_AT_ONCE = 100;
/** Maximum account nonces of one lane that are searched. */
const GAPS_MOST = 2000;
const ASSETS_MOST = 50;

/** One run for one chain: compares the history of a window with the chain up to a final block. */
export class Reconciler {
  readonly #findings = new Findings();
  readonly #lanes = new Map<Address, LaneTransactions>();
  readonly #assets = new Set<Address>();
  readonly #startedAt: Date;
  #settlements = 0;
  #transactions = 0;
  readonly #looks: Rechecks;

  constructor(
    private readonly parts: ReconcilerParts,
    private readonly task: ReconcilerTask,
  ) {
    this.#startedAt = new Date(parts.clock.now());
    this.#looks = new Rechecks(parts.clock, parts.archiveLagMs);
  }

  /** @throws ArchiveError, or the reason of an aborted signal. */
  async run(): Promise<Reconciliation> {
    const { evidence, history } = this.parts;
    const { window, resume } = this.task;
    const blocks = await this.#unlessUnread('the blocks of the window', () =>
      blocksOf(evidence, window, resume),
    );
    if (blocks === undefined || blocks.first > blocks.last.number) {
      return this.#result(blocks, []);
    }
    const { first, last } = blocks;
    const known = [...(this.parts.ledgerLanes ?? []), ...(await history.lanes(evidence.chainId))];
    const before = await this.#unlessUnread('the block before', () => evidence.header(first - 1n));
    // Read first, because nodes delete recent states within minutes.
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
    const { history, evidence } = this.parts;
    for (let from = first; from <= last.number;) {
      const read = (to: bigint) =>
        history.ofBlocks(evidence.chainId, { from, to }, PAGE_SETTLEMENTS);
      const page = await read(last.number);
      await this.#check(page.settlements, last, async () => (await read(page.to)).settlements);
      from = page.to + 1n;
    }
  }

  async #readClaims({ first, last }: Blocks): Promise<void> {
    const { history, evidence } = this.parts;
    const { window, resume } = this.task;
    const claimed = { fromMs: resume?.toMs ?? window.fromMs, toMs: window.toMs };
    let after: Parameters<SettlementHistory['withoutBlock']>[3];
    do {
      const place = after;
      const read = () => history.withoutBlock(evidence.chainId, claimed, first, place);
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
    const results = new Map<Hex, ReadTransaction>();
    let rows = settlements;
    for (;;) {
      this.parts.signal?.throwIfAborted();
      const findings = await this.#compare(rows, results, last);
      const isWrong = findings.some(({ name }) => name !== 'not_checked');
      if (!isWrong || !(await this.#looks.wait(last))) {
        this.#settlements += rows.length;
        this.#transactions += results.size;
        this.#findings.add(findings);
        return;
      }
      rows = await again();
    }
  }

  async #compare(
    rows: readonly RecordedSettlement[],
    results: Map<Hex, ReadTransaction>,
    last: BlockHeader,
  ): Promise<readonly Finding[]> {
    for (const { asset } of rows) {
      if (asset !== undefined && this.#assets.size < ASSETS_MOST) this.#assets.add(asset);
    }
    const byHash = byTransaction(rows);
    const wanted = [...byHash]
      .filter(([hash]) => !results.has(hash))
      .map(([hash, named]) => ({ hash, blockNumber: blockOf(hash, named) }));
    for (const [hash, result] of await this.parts.evidence.look(wanted)) results.set(hash, result);
    for (const [hash, result] of results) this.#note(result, byHash.get(hash) ?? [], last);
    const lanes = new Set(this.#lanes.keys());
    const compare = (hash: Hex, settlements: readonly RecordedSettlement[]) =>
      compareTransaction(
        { hash, settlements, result: results.get(hash) ?? { kind: 'unread' } },
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
   * All settlements that name these transactions, with the ones already read. A transaction is compared with all its
   * settlements or none, and some may have been claimed at another time, or be in another block by the history.
   */
  async #named(
    hashes: readonly Hex[],
    read: readonly RecordedSettlement[],
  ): Promise<readonly (readonly [Hex, readonly RecordedSettlement[]])[]> {
    if (hashes.length === 0) return [];
    const { history, evidence } = this.parts;
    const more: RecordedSettlement[] = [];
    for (let at = 0; at < hashes.length; at += NAMED_AT_ONCE) {
      const some = hashes.slice(at, at + NAMED_AT_ONCE);
      more.push(...(await history.ofTransactions(evidence.chainId, some)));
    }
    const all = new Map([...read, ...more].map((one) => [one.id, one]));
    const byHash = byTransaction([...all.values()]);
    return hashes.map((hash) => [hash, byHash.get(hash) ?? []] as const);
  }

  /** Records how a transaction changes its lane. */
  #note(result: ReadTransaction, named: readonly RecordedSettlement[], last: BlockHeader): void {
    if (result.kind !== 'seen' || result.transaction.blockNumber > last.number) return;
    const { from } = result.transaction;
    const isClaimed = named.some(({ isPaid, state }) => isPaid && state !== 'foreign');
    if (this.parts.ledgerLanes === undefined && isClaimed && !this.#lanes.has(from)) {
      this.#lanes.set(from, new LaneTransactions(from));
    }
    this.#lanes.get(from)?.add(result.transaction);
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

  /** Compares transactions without a settlement, together with the settlements of their blocks. */
  async #checkFound(
    hashes: readonly Hex[],
    read: LaneTransactions,
    last: BlockHeader,
  ): Promise<void> {
    const { evidence, history } = this.parts;
    const wanted = hashes.map((hash) => ({ hash, blockNumber: undefined }));
    for (const [hash, result] of await evidence.look(wanted)) {
      this.parts.signal?.throwIfAborted();
      if (result.kind !== 'seen' || result.transaction.from !== read.lane) continue;
      const { blockNumber: at } = result.transaction;
      if (at > last.number) continue;
      read.add(result.transaction);
      this.#transactions += 1;
      for (;;) {
        const { settlements } = await history.ofBlocks(evidence.chainId, { from: at, to: at }, 1);
        const [[, named] = [hash, []]] = await this.#named([hash], settlements);
        const findings = compareTransaction(
          { hash, result, settlements: named },
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

  /** A transaction that cannot be read becomes a finding. */
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
