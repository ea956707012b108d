import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A scenario of the harness as far as it was played. */
export interface Scenario {
  readonly number: number;
  readonly client: string;
  readonly server: string;
  readonly endpoint: string;
  /** The harness plays a payment with Permit2 up to three times; 0 is a scenario whose preparation failed. */
  readonly attempts: number;
  /** Absent while it is played. */
  readonly passed?: boolean;
  readonly error?: string;
  /** The last one of the scenario; known only after a whole run. */
  readonly transaction?: string;
}

/** An entry of the file that the harness writes at its end. */
export interface Entry {
  readonly testNumber: number;
  readonly client: string;
  readonly server: string;
  readonly endpoint: string;
  readonly passed: boolean;
  readonly error?: string;
  readonly transaction?: string;
}

/** Reads what the harness prints: its own file comes only at the end of a whole run, and does not tell what was repeated. */
export class PrintedScenarios {
  /** How many scenarios it has chosen; absent until it has said so. */
  chosen?: number;
  readonly #scenarios = new Map<number, Scenario>();
  /** The scenario that each of its lanes plays now. */
  readonly #current = new Map<string, number>();

  /** @returns whether the line ends a scenario. */
  read(line: string): boolean {
    const chosen = /^✅ (\d+) scenarios selected|^Selected scenarios: (\d+)/u.exec(line);
    if (chosen !== null) this.chosen = Number(chosen[1] ?? chosen[2]);
    const [, lane, said] = /^\[(combo-\d+) [^\]]*\]\s*(.*)$/u.exec(line) ?? [];
    if (lane === undefined || said === undefined) return false;
    const begun = /Test #(\d+): (\S+) → (\S+) → (\S+)/u.exec(said);
    if (begun !== null) this.#begin(lane, begun);
    const ended = /^✅ Test passed|^❌ Test failed[^:]*: (.*)$/u.exec(said);
    const number = this.#current.get(lane);
    const scenario = number === undefined ? undefined : this.#scenarios.get(number);
    if (ended === null || scenario === undefined) return false;
    const error = ended[1];
    const { error: _before, ...played } = scenario;
    this.#scenarios.set(scenario.number, {
      ...played,
      passed: error === undefined,
      ...(error === undefined ? {} : { error }),
    });
    return true;
  }

  #begin(lane: string, [, digits, client = '', server = '', endpoint = '']: RegExpExecArray): void {
    const number = Number(digits);
    const { attempts = 0 } = this.#scenarios.get(number) ?? {};
    this.#current.set(lane, number);
    this.#scenarios.set(number, { number, client, server, endpoint, attempts: attempts + 1 });
  }

  /** Adds what it prints no line for: scenarios whose server did not start or whose preparation failed. */
  add(entries: readonly Entry[]): void {
    for (const { testNumber: number, client, server, endpoint, ...outcome } of entries) {
      const { attempts = 0 } = this.#scenarios.get(number) ?? {};
      const { passed, error, transaction } = outcome;
      this.#scenarios.set(number, {
        number,
        client,
        server,
        endpoint,
        attempts,
        passed,
        ...(error === undefined ? {} : { error }),
        ...(transaction === undefined ? {} : { transaction }),
      });
    }
  }

  all(): readonly Scenario[] {
    return [...this.#scenarios.values()].sort((one, other) => one.number - other.number);
  }
}

interface Endpoint {
  readonly path: string;
  readonly scheme?: string;
  readonly assetTransferMethod?: string;
  readonly schemeOptions?: { readonly permit2Direct?: boolean };
  readonly extensions?: readonly string[];
}

interface Program {
  readonly language: string;
  readonly transport?: string;
  readonly x402Version?: number;
  readonly endpoints?: readonly Endpoint[];
}

/** The servers or clients of the harness, by the names that it prints. */
function programsOf(harness: string, kind: 'servers' | 'clients'): ReadonlyMap<string, Program> {
  const programs = new Map<string, Program>();
  for (const [prefix, folder] of [
    ['', join(harness, kind)],
    ['legacy-', join(harness, 'legacy', kind)],
  ] as const) {
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      const file = join(folder, name, 'test.config.json');
      if (!existsSync(file)) continue;
      programs.set(prefix + name, JSON.parse(readFileSync(file, 'utf8')) as Program);
    }
  }
  return programs;
}

function wayOf({ scheme = 'exact', assetTransferMethod, ...endpoint }: Endpoint): string {
  const method = assetTransferMethod ?? (scheme === 'upto' ? 'permit2' : 'eip3009');
  if (method === 'eip3009') return `${scheme}, EIP-3009`;
  if (endpoint.schemeOptions?.permit2Direct === true) return `${scheme}, Permit2`;
  const isApproval = endpoint.extensions?.includes('erc20ApprovalGasSponsoring') === true;
  return `${scheme}, Permit2 with ${isApproval ? 'a sponsored approval' : 'an EIP-2612 permit'}`;
}

/** Rows of numbers: `passed of all` by two properties of the scenarios. */
function table(
  scenarios: readonly Scenario[],
  head: string,
  rowOf: (one: Scenario) => string,
  columnOf: (one: Scenario) => string,
): string {
  const columns = [...new Set(scenarios.map(columnOf))].sort();
  const rows = [...new Set(scenarios.map(rowOf))].sort();
  const cell = (row: string, column: string): string => {
    const these = scenarios.filter((one) => rowOf(one) === row && columnOf(one) === column);
    if (these.length === 0) return '-';
    return `${these.filter(({ passed }) => passed === true).length} of ${these.length}`;
  };
  return [
    `| ${[head, ...columns].join(' | ')} |`,
    `|${'---|'.repeat(columns.length + 1)}`,
    ...rows.map((row) => `| ${[row, ...columns.map((column) => cell(row, column))].join(' | ')} |`),
  ].join('\n');
}

/** The result as the page of the conformance has it. */
export function describeResult(harness: string, scenarios: readonly Scenario[]): string {
  const servers = programsOf(harness, 'servers');
  const clients = programsOf(harness, 'clients');
  const ended = scenarios.filter(({ passed }) => passed !== undefined);
  const passed = ended.filter((one) => one.passed === true);
  const endpointOf = ({ server, endpoint }: Scenario): Endpoint =>
    servers.get(server)?.endpoints?.find(({ path }) => path === endpoint) ?? { path: endpoint };
  const versionOf = ({ server }: Scenario): string => `V${servers.get(server)?.x402Version ?? '?'}`;
  const languageOf = ({ client }: Scenario): string => clients.get(client)?.language ?? '?';
  const placeOf = ({ server }: Scenario): string => {
    const { language = '?', transport = 'http' } = servers.get(server) ?? {};
    return `${server} (${language}, ${transport})`;
  };
  const list = (
    these: readonly Scenario[],
    what: string,
    detail: (one: Scenario) => string | number,
  ): readonly string[] => [
    `${these.length} ${what}`,
    ...these.map((one) => {
      const { number, client, server, endpoint } = one;
      return `  #${number} ${client}, ${server}, ${endpoint}: ${detail(one)}`;
    }),
  ];
  return [
    table(ended, 'scheme and way to pay', (one) => wayOf(endpointOf(one)), versionOf),
    table(ended, 'server', placeOf, (one) => `clients in ${languageOf(one)}`),
    ...list(
      ended.filter((one) => one.passed === false),
      'failed',
      ({ error = 'no reason' }) => error,
    ),
    // The harness passes an answer that has no receipt, also one with the status 500.
    ...list(
      passed.filter(({ transaction }) => transaction === undefined),
      'passed without a transaction that the harness has named',
      ({ attempts }) => `${attempts} attempts`,
    ),
    ...list(
      ended.filter(({ attempts }) => attempts > 1),
      'were repeated by the harness',
      ({ attempts }) => `${attempts} attempts`,
    ),
    `${passed.length} of ${ended.length} scenarios passed`,
  ].join('\n');
}
