import { caip2Of } from '../../protocol/payment/network.js';
import { differencesIn, type Finding, isNote } from './difference.js';
import type { Reconciliation } from './settlement-history.js';

/** Findings shown to people; the database has all of them. */
const SHOWN_MOST = 100;

/** 0: everything was checked, and there is no difference. */
type ExitCode = 0 | 1 | 2;

/** 0 without differences, 1 with differences, 2 without differences if something could not be checked. */
export function exitCodeOf(runs: readonly Reconciliation[]): ExitCode {
  const sums = runs.map(({ counts }) => ({
    all: differencesIn(counts),
    unchecked: counts.get('not_checked') ?? 0,
  }));
  if (sums.some(({ all, unchecked }) => all > unchecked)) return 1;
  return sums.some(({ unchecked }) => unchecked > 0) ? 2 : 0;
}

/** A run as text. */
export function reportOf(run: Reconciliation): string {
  const { blocks, settlements, transactions, lanes, findings, counts } = run;
  const span = blocks === undefined ? 'no block' : `blocks ${blocks.from} to ${blocks.to}`;
  const lines = [
    `${caip2Of(run.chainId)}: ${span}, ${settlements} settlements, ${transactions} transactions`,
    ...lanes.map(
      ({ lane, transactions: sent, feesWei, receivedWei }) =>
        `  lane ${lane}: ${sent} transactions, ${feesWei} wei of fees, ${receivedWei ?? 'unknown'} wei received`,
    ),
    ...findings.slice(0, SHOWN_MOST).map(lineOf),
  ];
  if (findings.length > SHOWN_MOST) lines.push(`  ... and ${findings.length - SHOWN_MOST} more`);
  return [...lines, `  ${verdictOf(counts)}`, ''].join('\n');
}

function verdictOf(counts: ReadonlyMap<string, number>): string {
  const differences = differencesIn(counts);
  const unchecked = counts.get('not_checked') ?? 0;
  if (differences === 0) return 'no differences';
  const found = `${differences - unchecked} differences`;
  return unchecked === 0 ? found : `${found}, ${unchecked} not checked`;
}

function lineOf(one: Finding): string {
  const { settlementId, transaction, logIndex, blockNumber, lane, expected, found } = one;
  const parts = [
    ['settlement', settlementId],
    ['transaction', transaction],
    ['log', logIndex],
    ['block', blockNumber],
    ['lane', lane],
    ['expected', expected],
    ['found', found],
  ] as const;
  const text = parts.flatMap(([label, value]) => (value === undefined ? [] : `${label} ${value}`));
  return `  ${isNote(one) ? 'note ' : ''}${one.name}: ${text.join(', ')}`;
}
