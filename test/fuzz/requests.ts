import type { Body } from '../support/payments.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { hostileText, ValueMaker } from './values.js';

type Schema = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'header' | 'path';
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { schema: Schema } } };
}

export interface Api {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** A request to send, and the place in the description that it is for. */
export interface GeneratedRequest {
  readonly template: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

const OTHER_METHODS = ['put', 'delete', 'patch', 'head', 'options'];
const ENCODINGS = ['gzip', 'br', 'deflate', 'identity', 'zstd', 'gzip, gzip'];

/** Makes requests for every endpoint of a description: some right, most wrong in some way. */
export class RequestMaker {
  readonly #values: ValueMaker;
  readonly #operations: readonly (readonly [string, string, Operation])[];

  constructor(
    api: Api,
    private readonly random: SeededRandom,
    private readonly apiKeys: readonly string[],
    /** Payments that could be settled, to be spoiled. */
    private readonly payments: readonly Body[],
  ) {
    this.#values = new ValueMaker(api.components.schemas, random);
    this.#operations = Object.entries(api.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [path, method, operation] as const),
    );
  }

  next(): GeneratedRequest {
    const { random } = this;
    const [template, described, operation] = random.pick(this.#operations);
    const method = random.chance(0.05) ? random.pick(OTHER_METHODS) : described;
    const parameters = operation.parameters ?? [];
    const path = template.replaceAll(/\{\w+\}/g, () =>
      encodeURIComponent(this.#wellFormed(this.#parameter())),
    );
    const query = this.#query(parameters.filter((parameter) => parameter.in === 'query'));
    const named = parameters.filter((parameter) => parameter.in === 'header');
    return {
      template,
      method,
      path: path + query,
      headers: this.#headers(named),
      body: method === 'post' ? this.#body(operation) : undefined,
    };
  }

  #parameter(): string {
    const { random } = this;
    const makers = [
      () => hostileText(random).slice(0, 2000),
      () => random.hex(32),
      () => random.hex(20),
      () => `31337:${random.hex(20)}`,
      () => 'eip155:31337',
      () => String(random.below(1e9)),
      () =>
        Buffer.from(JSON.stringify(random.pick(this.payments).paymentPayload)).toString(
          'base64url',
        ),
      () =>
        Buffer.from(JSON.stringify(random.pick(this.payments).paymentRequirements)).toString(
          'base64url',
        ),
    ];
    return random.pick(makers)();
  }

  /** A URL cannot hold half a surrogate pair. */
  #wellFormed(text: string): string {
    return text.replaceAll(/[\ud800-\udfff]/gu, '?') || 'x';
  }

  #query(parameters: readonly Parameter[]): string {
    const { random } = this;
    const pairs = parameters
      .filter(() => random.chance(0.7))
      .map(({ name }) => `${name}=${encodeURIComponent(this.#wellFormed(this.#parameter()))}`);
    if (random.chance(0.1))
      pairs.push(random.pick(['a[b]=c', '__proto__[x]=1', '%', '%ff', '&&&', 'a=1&a=2']));
    return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
  }

  #headers(named: readonly Parameter[]): Record<string, string> {
    const { random } = this;
    const headers: Record<string, string> = {};
    const set = (name: string, likelihood: number, value: () => string): void => {
      if (random.chance(likelihood)) headers[name] = value();
    };
    const text = (): string =>
      hostileText(random)
        .slice(0, 4000)

        .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?')
        .trim();
    set('x-api-key', 0.7, () => (random.chance(0.85) ? random.pick(this.apiKeys) : text()));
    set(
      'authorization',
      0.2,
      () => `Bearer ${random.chance(0.5) ? random.pick(this.apiKeys) : text()}`,
    );
    set('content-type', 0.5, () => random.pick(['application/json', 'text/plain', text()]));
    set('content-encoding', 0.05, () => random.pick(ENCODINGS));
    set('x-request-id', 0.1, text);
    set('x-forwarded-for', 0.2, text);
    set('accept', 0.1, text);
    set('origin', 0.1, text);
    for (const { name } of named) {
      set(name, 0.3, () =>
        random.pick([text(), 'respond-async', 'finalized', 'included', 'order-1']),
      );
    }
    return headers;
  }

  #body({ requestBody }: Operation): Buffer | undefined {
    const { random } = this;
    if (random.chance(0.05)) return undefined;
    if (random.chance(0.05)) return Buffer.from(hostileText(random));
    const schema = requestBody?.content['application/json'].schema ?? {};
    const value = random.chance(0.3) ? random.pick(this.payments) : this.#values.valueOf(schema);
    const spoiled = this.#values.spoil(value, random.below(4));
    const bytes = Buffer.from(JSON.stringify(spoiled));
    if (random.chance(0.05)) return bytes.subarray(0, random.below(bytes.length + 1));
    if (random.chance(0.05)) bytes[random.below(bytes.length)] = random.below(256);
    return bytes;
  }
}
