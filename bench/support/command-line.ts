import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

/** What every bench takes: `[number] --rounds N --seed TEXT --json FILE`, and sizes of its own. */
export interface BenchArguments<Size extends string = never> {
  readonly rounds: number;
  /** Makes the same keys and nonces again. */
  readonly seed: string;
  readonly positional: readonly string[];
  readonly sizes: Readonly<Record<Size, number>>;
  /** Writes the raw figures where they were asked for. */
  save(report: unknown): void;
}

/**
 * @param sizes - numbers that this bench takes besides, with what they are when they are not given: `{ rows: 1000 }`
 *   is `--rows`.
 */
export function readArguments<Size extends string = never>(
  defaultRounds: number,
  sizes: Readonly<Record<Size, number>> = {} as Readonly<Record<Size, number>>,
  args: readonly string[] = process.argv.slice(2),
): BenchArguments<Size> {
  const numbers = { rounds: defaultRounds, ...sizes };
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(
        Object.keys(numbers).map((name) => [name, { type: 'string' }] as const),
      ),
      seed: { type: 'string', default: randomBytes(4).toString('hex') },
      json: { type: 'string' },
    },
    allowPositionals: true,
  });
  const given: Readonly<Record<string, unknown>> = values;
  const read = Object.entries<number>(numbers).map(([name, otherwise]) => {
    const number = Number(given[name] ?? otherwise);
    if (!Number.isInteger(number) || number < 1) {
      throw new Error(`--${name} takes a number from 1 up`);
    }
    return [name, number] as const;
  });
  const { rounds, ...own } = Object.fromEntries(read) as Record<Size | 'rounds', number>;
  return {
    rounds,
    seed: values.seed,
    positional: positionals,
    sizes: own as Readonly<Record<Size, number>>,
    save: (report) => {
      if (values.json === undefined) return;
      writeFileSync(values.json, `${JSON.stringify(report, undefined, 1)}\n`);
      console.log(`\nRaw figures: ${values.json}`);
    },
  };
}
