import { describe, expect, it } from '@jest/globals';
import { hashNamed, LANE } from '../../../test/builders/history/reconciliation/records.js';
import { type Finding, Findings } from './difference.js';
import { exitCodeOf, reportOf } from './report.js';
import { readWindow } from './requested-window.js';
import type { Reconciliation } from './settlement-history.js';

function aRun(...found: readonly Finding[]): Reconciliation {
  const findings = new Findings();
  findings.add(found);
  return {
    chainId: 56,
    startedBy: 'command',
    window: { fromMs: 0, toMs: 1 },
    blocks: { from: 5n, to: 9n, lastHash: hashNamed('9') },
    settlements: 3,
    transactions: 2,
    counts: findings.counts,
    findings: findings.kept,
    lanes: [
      {
        lane: LANE,
        before: undefined,
        after: undefined,
        transactions: 2,
        feesWei: 7n,
        sentWei: 0n,
        receivedWei: undefined,
      },
    ],
    startedAt: new Date(0),
    finishedAt: new Date(1),
  };
}
const wrong: Finding = { name: 'amount_differs', settlementId: 'a', expected: '1', found: '2' };
const unread: Finding = { name: 'not_checked', lane: LANE };
const note: Finding = { name: 'lane_funded', lane: LANE, found: '5 wei' };

describe('the result of a run', () => {
  it.each<[number, readonly Reconciliation[]]>([
    [0, [aRun()]],
    [0, [aRun(note)]],
    [1, [aRun(), aRun(wrong)]],
    [1, [aRun(wrong, unread)]],
    [2, [aRun(unread), aRun(note)]],
  ])('is the exit code %d', (code, runs) => {
    expect(exitCodeOf(runs)).toBe(code);
  });

  it('is a text that names each finding', () => {
    expect(reportOf(aRun(wrong, note))).toBe(
      [
        'eip155:56: blocks 5 to 9, 3 settlements, 2 transactions',
        `  lane ${LANE}: 2 transactions, 7 wei of fees, unknown wei received`,
        '  amount_differs: settlement a, expected 1, found 2',
        `  note lane_funded: lane ${LANE}, found 5 wei`,
        '  1 differences\n',
      ].join('\n'),
    );
    expect(reportOf(aRun())).toContain('  no differences\n');
    expect(reportOf({ ...aRun(unread), blocks: undefined })).toMatch(
      /^eip155:56: no block,.* 0 differences, 1 not checked\n$/s,
    );
  });

  it('counts all it found, and keeps the first of it', () => {
    const many = aRun(...Array.from({ length: 12_000 }, () => wrong));
    expect(many.findings).toHaveLength(10_000);
    expect(many.counts.get('amount_differs')).toBe(12_000);
    expect(reportOf(many)).toContain('  ... and 9900 more\n  12000 differences\n');
  });
});

describe('the window that the command is given', () => {
  const now = Date.UTC(2026, 10, 22, 12);
  const read = (from?: string, to?: string) => readWindow({ from, to }, now);

  it('is the last day by default', () => {
    expect(read()).toEqual({ fromMs: now - 86_400_000, toMs: now });
    const toMs = Date.UTC(2026, 10, 21);
    expect(read(undefined, '2026-11-21')).toEqual({ fromMs: toMs - 86_400_000, toMs });
  });

  it('has days and moments, by UTC unless they say otherwise', () => {
    expect(read('2026-11-21', '2026-11-21T06:30:00Z')).toEqual({
      fromMs: Date.UTC(2026, 10, 21),
      toMs: Date.UTC(2026, 10, 21, 6, 30),
    });
    expect(read('2026-11-21T01:00+01:00')?.fromMs).toBe(Date.UTC(2026, 10, 21));
  });

  it.each([
    ['yesterday', undefined],
    ['2026-11-21T06:30:00', undefined],
    ['2026-13-41', undefined],
    ['2026-11-22', '2026-11-21'],
    ['2026-11-21', '2026-11-21'],
    ['2026-11-21', ''],
  ])('is refused for %s to %s', (from, to) => {
    expect(read(from, to)).toBeUndefined();
  });
});
