import type { ApiDescription, DescribedOperation } from '../support/api-description.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { PatternText } from './pattern-text.js';
import type { GeneratedRequest } from './requests.js';

type Schema = Readonly<Record<string, unknown>>;
type Fields = Record<string, unknown>;

/** A request, and whether the description allows its shape. */
export interface DescribedRequest extends GeneratedRequest {
  readonly operationId: string;
  /** What the description says against it; nothing where it allows it. */
  readonly problems: readonly string[];
}

const NUMBERS = [0, -1, 1.5, 1e21, 2 ** 53];
const TEXTS = ['', ' ', 'x', '0', '-1', '0x', 'null', 'ä', 'a\nb', '../x', '%', 'x'.repeat(600)];
const ANY: readonly unknown[] = [null, true, 7, 'text', [], {}, [1], { a: 1 }, ...TEXTS];

/** Draws requests from a description: as it has them, and with one thing that may be wrong. */
export class DescribedRequestMaker {
  readonly #operations: readonly (readonly [string, string, DescribedOperation])[];

  constructor(
    private readonly api: ApiDescription,
    private readonly random: SeededRandom,
    /** Who asks: of each operation one of those that may. */
    private readonly headersOf: (path: string) => Readonly<Record<string, string>>,
    /** Values that are known to the service, by the name of a parameter or field. */
    private readonly known: Readonly<Record<string, readonly string[]>>,
    isAsked: (operation: DescribedOperation) => boolean,
  ) {
    this.#operations = Object.entries(api.paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, operation]) =>
        isAsked(operation) ? [[path, method, operation] as const] : [],
      ),
    );
  }

  get count(): number {
    return this.#operations.length;
  }

  /** @param turn - every operation has its turn, one after the other. */
  next(turn: number): DescribedRequest {
    const { random, api } = this;
    const chosen = this.#operations[turn % this.#operations.length];
    if (chosen === undefined) throw new RangeError('there are no operations');
    const [template, method, operation] = chosen;
    const parameters = operation.parameters ?? [];
    const given: { in: string; name: string; value: string }[] = [];
    for (const { name, in: place, required, schema } of parameters) {
      if (required !== true && random.chance(0.5)) continue;
      const drawn = wireText(this.#valueOf(schema, name));
      given.push({ in: place, name, value: place === 'header' ? headerText(drawn) : drawn });
    }
    let body = this.#bodyOf(operation);
    if (random.chance(0.6)) {
      const isOfBody = body !== undefined && (given.length === 0 || random.chance(0.7));
      if (isOfBody) body = this.#spoil(body);
      else this.#spoilParameter(given);
    }
    const valuesOf = (place: string) =>
      Object.fromEntries(given.flatMap((one) => (one.in === place ? [[one.name, one.value]] : [])));
    const [path, query, headers] = [valuesOf('path'), valuesOf('query'), valuesOf('header')];
    const queryText = new URLSearchParams(query).toString();
    return {
      operationId: operation.operationId,
      template,
      method,
      path:
        template.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
          encodeURIComponent(path[name] ?? 'x'),
        ) + (queryText === '' ? '' : `?${queryText}`),
      headers: {
        ...this.headersOf(template),
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
      problems: [
        ...api.parameterProblems(method, template, { path, query, header: headers }),
        ...(body === undefined ? [] : api.requestProblems(method, template, body)),
      ],
    };
  }

  #bodyOf({ requestBody }: DescribedOperation): unknown {
    const schema = requestBody?.content['application/json']?.schema;
    return schema === undefined ? undefined : this.#valueOf(schema as Schema, '');
  }

  /** As described, as far as that can be drawn: what was drawn is compared with the description afterwards. */
  #valueOf(given: Schema, name: string): unknown {
    const { random } = this;
    const schema = this.api.resolve(given);
    const known = this.known[name];
    if (known !== undefined && random.chance(0.6)) return random.pick(known);
    if ('const' in schema) return schema['const'];
    if (Array.isArray(schema['enum'])) return random.pick(schema['enum'] as unknown[]);
    const [type] = [schema['type']].flat();
    const choices = (schema['anyOf'] ?? schema['oneOf']) as readonly Schema[] | undefined;
    if (type === undefined && choices !== undefined) {
      return this.#valueOf(random.pick(choices), name);
    }
    switch (type) {
      case 'object':
        return this.#objectOf(schema, choices);
      case 'array':
        return this.#arrayOf(schema, name);
      case 'integer':
      case 'number':
        return this.#numberOf(schema);
      case 'boolean':
        return random.chance(0.5);
      case undefined:
        return random.pick(ANY);
      default:
        return this.#textOf(schema);
    }
  }

  #objectOf(schema: Schema, choices: readonly Schema[] | undefined): Fields {
    const { random } = this;
    const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
    const needed = choices === undefined ? {} : random.pick(choices);
    const required = new Set([...namesIn(schema['required']), ...namesIn(needed['required'])]);
    return Object.fromEntries(
      Object.entries(properties)
        .filter(([name]) => required.has(name) || random.chance(0.4))
        .map(([name, part]) => [name, this.#valueOf(part, name)]),
    );
  }

  #arrayOf(schema: Schema, name: string): unknown[] {
    const least = Number(schema['minItems'] ?? 0);
    const most = Math.min(Number(schema['maxItems'] ?? 3), least + 2);
    const items = (schema['items'] ?? {}) as Schema;
    return Array.from({ length: this.random.between(least, most) }, () =>
      this.#valueOf(items, name),
    );
  }

  #numberOf(schema: Schema): number {
    const least = Number(schema['minimum'] ?? 0);
    const most = Number(schema['maximum'] ?? least + 1000);
    return this.random.pick([least, most, this.random.between(least, Math.min(most, least + 100))]);
  }

  #textOf(schema: Schema): string {
    const { random } = this;
    if (typeof schema['pattern'] === 'string') {
      return new PatternText(schema['pattern'], random).make();
    }
    if (schema['format'] === 'uri')
      return random.pick(['https://a.example/b', 'https://a.example']);
    if (schema['format'] === 'date-time') return '2026-11-22T08:00:00Z';
    const least = Number(schema['minLength'] ?? 0);
    const most = Number(schema['maxLength'] ?? 700);
    const examples = [schema['example'], schema['examples']].flat().filter(isText);
    if (examples.length > 0 && random.chance(0.5)) return random.pick(examples);
    const length = random.pick([least, Math.min(most, 20_000), Math.min(most, least + 5)]);
    return random.chance(0.3)
      ? random.pick(TEXTS).slice(0, most).padEnd(least, 'x')
      : 'x'.repeat(length);
  }

  /** One field more, less or other. */
  #spoil(value: unknown): unknown {
    const { random } = this;
    if (typeof value !== 'object' || value === null || random.chance(0.05)) {
      if (typeof value === 'number') return random.pick([...NUMBERS, String(value), null]);
      if (typeof value === 'string') {
        return random.pick([...TEXTS, ` ${value}`, `${value}x`, value.slice(1), null, 7]);
      }
      return random.pick(ANY);
    }
    if (Array.isArray(value)) {
      const items = value as unknown[];
      if (items.length === 0 || random.chance(0.3)) return [...items, random.pick(ANY)];
      const index = random.below(items.length);
      return items.map((item, at) => (at === index ? this.#spoil(item) : item));
    }
    const copy: Fields = { ...value };
    const names = Object.keys(copy);
    const way = random.roll();
    if (names.length === 0 || way < 0.1) {
      copy['more'] = random.pick(ANY);
      return copy;
    }
    const name = random.pick(names);
    if (way < 0.3) Reflect.deleteProperty(copy, name);
    else copy[name] = this.#spoil(copy[name]);
    return copy;
  }

  #spoilParameter(given: { in: string; name: string; value: string }[]): void {
    const { random } = this;
    const spoilable = given.filter((one) => one.in !== 'path');
    if (spoilable.length === 0) return;
    const one = random.pick(spoilable);
    if (random.chance(0.2)) {
      given.splice(given.indexOf(one), 1);
      return;
    }
    const spoilt = wireText(random.pick([...TEXTS, ` ${one.value}`, `${one.value}x`]));
    one.value = one.in === 'header' ? headerText(spoilt) : spoilt;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function namesIn(required: unknown): readonly string[] {
  return Array.isArray(required) ? required.filter(isText) : [];
}

function wireText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A header has one line, and no blanks around it. */
function headerText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').trim();
}
