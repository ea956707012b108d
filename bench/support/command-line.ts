import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

/** What every bench takes: `[number] --rounds N --seed TEXT --json FILE`. */
export interface BenchArguments {
  readonly rounds: number;
  /** Makes the same keys and nonces again. */
  readonly seed: string;
  readonly positional: readonly string[];
  /** Writes the raw figures where they were asked for. */
  save(report: unknown): void;
}

export function readArguments(defaultRounds: number): BenchArguments {
  const { values, positionals } = parseArgs({
    options: {
      rounds: { type: 'string', default: String(defaultRounds) },
      seed: { type: 'string', default: randomBytes(4).toString('hex') },
      json: { type: 'string' },
    },
    allowPositionals: true,
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds takes a number from 1 up');
  return {
    rounds,
    seed: values.seed,
    positional: positionals,
    save: (report) => {
      if (values.json === undefined) return;
      writeFileSync(values.json, `${JSON.stringify(report, undefined, 1)}\n`);
      console.log(`\nRaw figures: ${values.json}`);
    },
  };
}
