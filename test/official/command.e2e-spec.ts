import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/http.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ROUTE = '/exact/evm/permit2';

interface Results {
  readonly chosen?: number;
  readonly stopped?: string;
  readonly scenarios: readonly Readonly<Record<string, unknown>>[];
}

/** What the command makes of a harness: a program of this spec that prints as the official one does. */
describe('the command for the official harness', () => {
  let harness: string;
  /** Where the command is run, and leaves its results. */
  let folder: string;
  /** Before everything else in PATH: programs that only the official harness needs. */
  let programs: string;

  beforeAll(() => {
    programs = mkdtempSync(join(tmpdir(), 'x402-official-programs-'));
    for (const name of ['pnpm', 'lsof']) program(join(programs, name), 'exit 0');
    program(
      join(programs, 'node'),
      `[ "$*" = --version ] && echo v22.0.0 || exec ${process.execPath} "$@"`,
    );
  });
  beforeEach(() => {
    harness = mkdtempSync(join(tmpdir(), 'x402-official-harness-'));
    folder = mkdtempSync(join(tmpdir(), 'x402-official-results-'));
    for (const [name, config] of [
      ['servers/seller', { language: 'go', x402Version: 2, endpoints: [{ path: ROUTE }] }],
      ['clients/buyer', { language: 'python' }],
    ] as const) {
      mkdirSync(join(harness, name), { recursive: true });
      writeFileSync(join(harness, name, 'test.config.json'), JSON.stringify(config));
    }
    writeFileSync(join(harness, 'test.ts'), '');
    mkdirSync(join(harness, 'node_modules', '.bin'), { recursive: true });
  });

  function program(path: string, script: string): void {
    writeFileSync(path, `#!/bin/bash\n${script}\n`);
    chmodSync(path, 0o755);
  }

  /** @param after - what the stand-in does once it has played two scenarios, the first one in two attempts. */
  function start(after: string): { child: ChildProcess; output: () => string } {
    const say = (line: string): string => `echo '[combo-0 seller+x402-facilitator] ${line}'`;
    const played = [
      "echo '✅ 3 scenarios selected'",
      say(`🧪 Test #1: buyer → seller → ${ROUTE} via x402-facilitator`),
      say('  ❌ Test failed: Payment failed (402): busy'),
      say('  🔁 Test #1 transient failure (attempt 1/3): busy'),
      say(`🧪 Test #1: buyer → seller → ${ROUTE} via x402-facilitator`),
      say('  ✅ Test passed'),
      say(`🧪 Test #2: buyer → seller → ${ROUTE} via x402-facilitator`),
      say('  ❌ Test failed: no answer'),
      'for option; do case $option in --output-json=*) file=${option#*=};; esac; done',
      after,
    ];
    program(join(harness, 'node_modules', '.bin', 'tsx'), played.join('\n'));
    let text = '';
    const child = spawn(
      join(ROOT, 'node_modules', '.bin', 'tsx'),
      [join(ROOT, 'test/official/main.ts'), '--harness', harness, '--min'],
      {
        cwd: folder,
        stdio: 'pipe',
        env: { ...process.env, PATH: `${programs}:${process.env['PATH'] ?? ''}` },
      },
    );
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    return { child, output: () => text };
  }

  function results(): Results {
    return JSON.parse(readFileSync(join(folder, 'official-results.json'), 'utf8')) as Results;
  }

  /** A signal takes a moment, and its parent may not have asked for its exit status yet. */
  function hasEnded(pid: number): boolean {
    try {
      return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    } catch {
      return true;
    }
  }

  const ended = (child: ChildProcess): Promise<number | null> =>
    new Promise((resolve) => child.once('exit', resolve));

  it('keeps what was played when it is stopped, ends what the harness left, and says that it is not whole', async () => {
    const left = join(folder, 'left');
    const { child, output } = start(`sleep 600 & echo $! > ${left}; sleep 600`);
    const code = ended(child);
    await eventually('two were played', () => existsSync(left), 120_000);
    child.kill('SIGINT');
    expect(await code).toBe(1);
    const { chosen, stopped, scenarios } = results();
    expect({ chosen, stopped }).toEqual({ chosen: 3, stopped: 'ended by SIGINT' });
    expect(scenarios).toEqual([
      expect.objectContaining({ number: 1, passed: true, attempts: 2 }),
      expect.objectContaining({ number: 2, passed: false, attempts: 1, error: 'no answer' }),
    ]);
    expect(output()).toContain('--- 2 of 3 played, 1 failed');
    expect(output()).toContain('NOT WHOLE: ended by SIGINT');
    const pid = Number(readFileSync(left, 'utf8'));
    await eventually('the program that was left has ended', () => hasEnded(pid));
    expect(existsSync(join(harness, 'facilitators/external-proxies/x402-facilitator'))).toBe(false);
  }, 180_000);

  it('adds what the harness printed no line for, and counts what passed without a payment', async () => {
    const entry = { client: 'buyer', server: 'seller', endpoint: ROUTE };
    const written = JSON.stringify({
      results: [
        { ...entry, testNumber: 1, passed: true },
        { ...entry, testNumber: 2, passed: false, error: 'no answer' },
        { ...entry, testNumber: 3, passed: false, error: 'Server failed to start' },
        { ...entry, testNumber: 4, passed: true, transaction: '0x01' },
      ],
    });
    const { child, output } = start(`echo '${written}' > "$file"; exit 1`);
    expect(await ended(child)).toBe(1);
    expect(results().stopped).toBeUndefined();
    expect(results().scenarios).toHaveLength(4);
    expect(output()).toContain('| exact, EIP-3009 | 2 of 4 |');
    expect(output()).toContain('| seller (go, http) | 2 of 4 |');
    expect(output()).toContain('#3 buyer, seller, /exact/evm/permit2: Server failed to start');
    expect(output()).toContain('1 passed without a transaction');
    expect(output()).toContain('2 of 4 scenarios passed');
  }, 180_000);

  it('ends a harness that has written its result and does not end', async () => {
    const entry = { client: 'buyer', server: 'seller', endpoint: ROUTE };
    const written = JSON.stringify({
      results: [1, 2].map((testNumber) => ({ ...entry, testNumber, passed: true })),
    });
    const { child, output } = start(`echo '${written}' > "$file"; echo written; sleep 600`);
    expect(await ended(child)).toBe(0);
    expect(results().stopped).toBeUndefined();
    expect(output()).toContain('2 of 2 scenarios passed');
  }, 180_000);
});
