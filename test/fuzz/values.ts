import type { Dice } from '../support/dice.js';

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

export function hostile(dice: Dice): unknown {
  return dice.pick(HOSTILE);
}

/** A text for a place that takes text only. */
export function hostileText(dice: Dice): string {
  const value = hostile(dice);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Makes values from the schemas of an OpenAPI description. */
export class ValueMaker {
  constructor(
    private readonly schemas: Readonly<Record<string, Schema>>,
    private readonly dice: Dice,
  ) {}

  /** As described, but for what a pattern cannot say: signatures are of nobody. */
  valueOf(schema: Schema): unknown {
    const { dice } = this;
    if (typeof schema['$ref'] === 'string') {
      const target = this.schemas[schema['$ref'].split('/').at(-1) ?? ''];
      return this.valueOf(target ?? {});
    }
    const choices = (schema['oneOf'] ?? schema['anyOf']) as readonly Schema[] | undefined;
    if (choices !== undefined) return this.valueOf(dice.pick(choices));
    if ('const' in schema) return schema['const'];
    if (Array.isArray(schema['enum'])) return dice.pick(schema['enum'] as unknown[]);
    switch (schema['type']) {
      case 'object':
        return this.#objectOf(schema);
      case 'array':
        return Array.from({ length: dice.below(3) }, () =>
          this.valueOf((schema['items'] ?? {}) as Schema),
        );
      case 'integer':
        return dice.below(1000);
      case 'boolean':
        return dice.chance(0.5);
      default:
        return this.#textOf(typeof schema['pattern'] === 'string' ? schema['pattern'] : '');
    }
  }

  #objectOf(schema: Schema): Record<string, unknown> {
    const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
    const required = new Set((schema['required'] ?? []) as readonly string[]);
    return Object.fromEntries(
      Object.entries(properties)
        .filter(([name]) => required.has(name) || this.dice.chance(0.7))
        .map(([name, part]) => [name, this.valueOf(part)]),
    );
  }

  #textOf(pattern: string): string {
    const { dice } = this;
    if (pattern.includes('{40}')) return dice.hex(20);
    if (pattern.includes('{64}')) return dice.hex(32);
    if (pattern.startsWith('^0x')) return dice.hex(65);
    if (pattern.includes('eip155')) return dice.pick(['eip155:31337', 'eip155:1']);
    if (pattern.includes('[0-9]')) return String(dice.below(2 ** 32));
    return dice.pick(['text', 'exact', 'eip155:31337', '']);
  }

  /** Breaks a value in a few places: other types, fields too many or too few. */
  spoil(value: unknown, times: number): unknown {
    let spoiled = structuredClone(value);
    for (let count = 0; count < times; count += 1) spoiled = this.#spoilOnce(spoiled);
    return spoiled;
  }

  #spoilOnce(value: unknown): unknown {
    const { dice } = this;
    if (typeof value !== 'object' || value === null || dice.chance(0.1)) return hostile(dice);
    const entries = Object.entries(value);
    const [name] = entries.length === 0 ? ['x'] : dice.pick(entries);
    const copy = { ...(value as Record<string, unknown>) };
    const way = dice.roll();
    if (way < 0.15) Reflect.deleteProperty(copy, name);
    else if (way < 0.3) copy[hostileText(dice)] = hostile(dice);
    else copy[name] = this.#spoilOnce(copy[name]);
    return copy;
  }
}
