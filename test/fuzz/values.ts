import type { SeededRandom } from '../support/seeded-random.js';

type Schema = Readonly<Record<string, unknown>>;

/** What has broken services before: empty, huge, odd, deep, and things that look like others. */
const HOSTILE: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.1,
  1e308,
  2 ** 53,
  '',
  ' ',
  '0',
  '-1',
  '01',
  '1e18',
  '0x',
  '0xg',
  `0x${'f'.repeat(64)}`,
  '9'.repeat(78),
  '9'.repeat(4000),
  'x'.repeat(20_000),
  '\u0000',
  '\ud800',
  '💥',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  "'; DROP TABLE lanes; --",
  '${jndi:ldap://127.0.0.1/a}',
  '%00%ff%zz',
  '*',
  'x402:*',
  '__proto__',
  'constructor',
  [],
  {},
  [[[[[]]]]],
  { toString: null, valueOf: 1 },
  { $ref: '#' },
];

function hostile(random: SeededRandom): unknown {
  return random.pick(HOSTILE);
}

/** A text for a place that takes text only. */
export function hostileText(random: SeededRandom): string {
  const value = hostile(random);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Makes values from the schemas of an OpenAPI description. */
export class ValueMaker {
  constructor(
    private readonly schemas: Readonly<Record<string, Schema>>,
    private readonly random: SeededRandom,
  ) {}

  /** As described, except for what a pattern cannot say: signatures have no signer. */
  valueOf(schema: Schema): unknown {
    const { random } = this;
    if (typeof schema['$ref'] === 'string') {
      const target = this.schemas[schema['$ref'].split('/').at(-1) ?? ''];
      return this.valueOf(target ?? {});
    }
    const choices = (schema['oneOf'] ?? schema['anyOf']) as readonly Schema[] | undefined;
    if (choices !== undefined) return this.valueOf(random.pick(choices));
    if ('const' in schema) return schema['const'];
    if (Array.isArray(schema['enum'])) return random.pick(schema['enum'] as unknown[]);
    switch (schema['type']) {
      case 'object':
        return this.#objectOf(schema);
      case 'array':
        return Array.from({ length: random.below(3) }, () =>
          this.valueOf((schema['items'] ?? {}) as Schema),
        );
      case 'integer':
        return random.below(1000);
      case 'boolean':
        return random.chance(0.5);
      default:
        return this.#textOf(typeof schema['pattern'] === 'string' ? schema['pattern'] : '');
    }
  }

  #objectOf(schema: Schema): Record<string, unknown> {
    const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
    const required = new Set((schema['required'] ?? []) as readonly string[]);
    return Object.fromEntries(
      Object.entries(properties)
        .filter(([name]) => required.has(name) || this.random.chance(0.7))
        .map(([name, part]) => [name, this.valueOf(part)]),
    );
  }

  #textOf(pattern: string): string {
    const { random } = this;
    if (pattern.includes('{40}')) return random.hex(20);
    if (pattern.includes('{64}')) return random.hex(32);
    if (pattern.startsWith('^0x')) return random.hex(65);
    if (pattern.includes('eip155')) return random.pick(['eip155:31337', 'eip155:1']);
    if (pattern.includes('[0-9]')) return String(random.below(2 ** 32));
    return random.pick(['text', 'exact', 'eip155:31337', '']);
  }

  /** Breaks a value in a few places: other types, fields too many or too few. */
  spoil(value: unknown, times: number): unknown {
    let spoiled = structuredClone(value);
    for (let count = 0; count < times; count += 1) spoiled = this.#spoilOnce(spoiled);
    return spoiled;
  }

  #spoilOnce(value: unknown): unknown {
    const { random } = this;
    if (typeof value !== 'object' || value === null || random.chance(0.1)) return hostile(random);
    const entries = Object.entries(value);
    const [name] = entries.length === 0 ? ['x'] : random.pick(entries);
    const copy = { ...(value as Record<string, unknown>) };
    const way = random.roll();
    if (way < 0.15) Reflect.deleteProperty(copy, name);
    else if (way < 0.3) copy[hostileText(random)] = hostile(random);
    else copy[name] = this.#spoilOnce(copy[name]);
    return copy;
  }
}
