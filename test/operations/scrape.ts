/** What a scrape holds: the value of each series by its name and labels as written, without order. */
export class Scrape {
  readonly #samples: readonly Sample[];

  constructor(readonly text: string) {
    this.#samples = text.split('\n').flatMap((line) => readSample(line) ?? []);
  }

  /** Names of the samples: those of a histogram end in `_bucket`, `_sum` and `_count`. */
  get names(): ReadonlySet<string> {
    return new Set(this.#samples.map(({ name }) => name));
  }

  /** The sum over all series of this name that have these labels; `undefined` without any. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const matching = this.#samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    return matching.length === 0
      ? undefined
      : matching.reduce((sum, sample) => sum + sample.value, 0);
  }

  /** Every value that a label has anywhere. */
  labelValues(label: string): ReadonlySet<string> {
    return new Set(this.#samples.flatMap(({ labels }) => labels[label] ?? []));
  }
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/i;

function readSample(line: string): Sample | undefined {
  const match = SAMPLE.exec(line);
  if (match === null) return undefined;
  const [, name = '', labels = '', value = ''] = match;
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label = '', text = '']) => [label, text])),
    value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value),
  };
}

/** @param url - of the operators' port. */
export async function scrape(url: string): Promise<Scrape> {
  const response = await fetch(`${url}/metrics`);
  return new Scrape(await response.text());
}
