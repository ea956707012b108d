import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { accessFact, type AccessReport, accessTable } from './support/access-report.js';
import {
  besideTable,
  catalogueFacts,
  type CatalogueReport,
  catalogueTable,
} from './support/catalogue-report.js';
import { channelGasTable, type ChannelsReport, exactFact } from './support/channels-report.js';
import { chartOf } from './support/chart.js';
import { readArguments } from './support/command-line.js';
import { costFacts, type CostReport, costTable } from './support/cost-report.js';
import type { ProfileReport } from './support/cpu-profile.js';
import {
  exportTable,
  historyFacts,
  type HistoryReport,
  indexTable,
  readTable,
} from './support/history-report.js';
import { ledgerFacts, type LedgerReport } from './support/ledger-report.js';
import { type Machine, machineLine, versionsLine } from './support/machine.js';
import {
  memoryChart,
  memoryFacts,
  type MemoryReport,
  memoryTable,
} from './support/memory-report.js';
import { gasTable, settleFacts, type SettleReport, settleTable } from './support/settle-report.js';
import { soakFacts, type SoakReport } from './support/soak-report.js';
import { figure, markdownTable } from './support/text-table.js';
import {
  baselineTable,
  busynessLine,
  cellTable,
  rangeOf,
  ratioTable,
  type VerifyReport,
} from './support/verify-report.js';

/**
 * `npm run bench:report -- FILE...`: writes the figures of `--json` files into bench/results/latest.md,
 * each between its own markers, and the pictures into docs/images. What no file is given for stays as it is.
 */
type Report =
  | AccessReport
  | VerifyReport
  | SettleReport
  | SoakReport
  | LedgerReport
  | ProfileReport
  | CostReport
  | CatalogueReport
  | ChannelsReport
  | HistoryReport
  | MemoryReport;

const PAGE = fileURLToPath(new URL('results/latest.md', import.meta.url));
const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url));
/** Shares of the profile that the page explains. */
const LARGEST_SHARES = 7;

function bodyOf(report: Report): string {
  switch (report.name) {
    case 'verify':
      return verifyBody(report);
    case 'access':
      return [markdownTable(...accessTable(report)), `${accessFact(report)}.`].join('\n\n');
    case 'settle':
      return settleBody(report);
    case 'channels':
      return [
        ...[cellTable(report.cells), ratioTable(report.ratios), channelGasTable(report)].map(
          (table) => markdownTable(...table),
        ),
        `${exactFact(report)}.`,
      ].join('\n\n');
    case 'soak':
      return list(soakFacts(report));
    case 'ledger':
      return list(ledgerFacts(report));
    case 'cost':
      return [markdownTable(...costTable(report)), list(costFacts(report))].join('\n\n');
    case 'history':
      return [
        list(historyFacts(report)),
        ...[readTable(report), exportTable(report), indexTable(report)].map((table) =>
          markdownTable(...table),
        ),
      ].join('\n\n');
    case 'discovery':
      return [
        list(catalogueFacts(report)),
        ...[catalogueTable(report), besideTable(report)].map((table) => markdownTable(...table)),
      ].join('\n\n');
    case 'memory':
      return [list(memoryFacts(report)), markdownTable(...memoryTable(report))].join('\n\n');
    case 'profile':
      return markdownTable(
        ['part of the service', 'of its busy time'],
        report.shares
          .slice(0, LARGEST_SHARES)
          .map(({ name, share }) => [name, `${(share * 100).toFixed(1)} %`]),
      );
  }
}

function verifyBody({
  cells,
  busyness,
  baselines,
  scaling,
  ratios,
  machine,
}: VerifyReport): string {
  return [
    markdownTable(...cellTable(cells)),
    markdownTable(...ratioTable(ratios)),
    `Cores busy with EIP-3009 at 32: ${busynessLine(busyness)} of ${machine.cores}.`,
    markdownTable(...baselineTable(baselines)),
    `Behind one port, EIP-3009 at 32: one process ${figure(scaling.one.median)} a second, two ${figure(scaling.two.median)}: ` +
      `${figure(scaling.factor.median)} times (${rangeOf(scaling.factor)}). Cores busy with two: ${busynessLine(scaling.busyness)} of ${machine.cores}.`,
  ].join('\n\n');
}

function settleBody(report: SettleReport): string {
  return [
    markdownTable(...settleTable(report)),
    markdownTable(...ratioTable(report.ratios)),
    list(settleFacts(report)),
    markdownTable(...gasTable(report.gas)),
  ].join('\n\n');
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}.`).join('\n');
}

function source({ at, seed, machine }: { at: string; seed: string; machine: Machine }): string {
  return `*${at.slice(0, 10)}; ${machineLine(machine)}; ${versionsLine(machine)}; seed ${seed}.*`;
}

/** @throws Error when the page has no place for it. */
function placed(page: string, report: Report): string {
  const [begin, end] = [`<!-- ${report.name}: begin -->`, `<!-- ${report.name}: end -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`bench/results/latest.md has no ${begin}`);
  const wrong = report.name === 'profile' ? [] : report.problems.map((one) => `- WRONG: ${one}`);
  const body = [source(report), bodyOf(report), ...wrong].join('\n\n');
  return `${page.slice(0, from)}${begin}\n\n${body}\n\n${page.slice(to)}`;
}

const { positional } = readArguments(1);
if (positional.length === 0) throw new Error('bench:report takes files written by --json');
mkdirSync(IMAGES, { recursive: true });
let page = readFileSync(PAGE, 'utf8');
for (const file of positional) {
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  page = placed(page, report);
  if (report.name === 'verify' || report.name === 'settle') {
    const cells = report.cells.filter(({ kind }) => kind === 'eip3009');
    const title = report.name === 'verify' ? 'Verify, EIP-3009' : 'Settle, EIP-3009, one signer';
    writeFileSync(`${IMAGES}${report.name}.svg`, chartOf(title, cells));
  }
  if (report.name === 'memory') writeFileSync(`${IMAGES}memory.svg`, memoryChart(report));
  console.log(`${report.name}: ${file}`);
}
writeFileSync(PAGE, page);
