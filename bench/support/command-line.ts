import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

/** What every bench takes: `[number] --rounds N --seed TEXT --json FILE`, and sizes and texts of its own. */
export interface BenchArguments<Size extends string = never, Text extends string = never> {
  readonly rounds: number;
  /** Makes the same keys and nonces again. */
  readonly seed: string;
  readonly positional: readonly string[];
  readonly sizes: Readonly<Record<Size, number>>;
  /** As often as each was given. */
  readonly texts: Readonly<Record<Text, readonly string[]>>;
  /** Writes the raw figures where they were asked for. */
  save(report: unknown): void;
}

/**
 * @param sizes - numbers that this bench takes besides, with what they are when they are not given: `{ rows: 1000 }`
 *   is `--rows`.
 * @param texts - names of texts that this bench takes besides, any number of times.
 * @throws Error that names an option which is unknown, or no number.
 */
export function readArguments<Size extends string = never, Text extends string = never>(
  defaultRounds: number,
  sizes: Readonly<Record<Size, number>> = {} as Readonly<Record<Size, number>>,
  args: readonly string[] = process.argv.slice(2),
  texts: readonly Text[] = [],
): BenchArguments<Size, Text> {
  const numbers = { rounds: defaultRounds, ...sizes };
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(
        Object.keys(numbers).map((name) => [name, { type: 'string' }] as const),
      ),
      ...Object.fromEntries(
        texts.map((name) => [name, { type: 'string', multiple: true }] as const),
      ),
      seed: { type: 'string', default: randomBytes(4).toString('hex') },
      json: { type: 'string' },
    },
    allowPositionals: true,
  });
  const given: Readonly<Record<string, unknown>> = values;
  const read = Object.entries<number>(numbers).map(([name, otherwise]) => {
    if (given[name] === undefined) return [name, otherwise] as const;
    const number = Number(given[name]);
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
    texts: Object.fromEntries(
      texts.map((name) => [name, (given[name] ?? []) as readonly string[]]),
    ) as Record<Text, readonly string[]>,
    save: (report) => {
      if (values.json === undefined) return;
      writeFileSync(values.json, `${JSON.stringify(report, undefined, 1)}\n`);
      console.log(`\nRaw figures: ${values.json}`);
    },
  };
}
