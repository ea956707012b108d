import type { Body } from '../support/payments.js';
import type { Dice } from '../support/dice.js';
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
    private readonly dice: Dice,
    private readonly apiKeys: readonly string[],
    /** Payments that could be settled, to be spoiled. */
    private readonly payments: readonly Body[],
  ) {
    this.#values = new ValueMaker(api.components.schemas, dice);
    this.#operations = Object.entries(api.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [path, method, operation] as const),
    );
  }

  next(): GeneratedRequest {
    const { dice } = this;
    const [template, described, operation] = dice.pick(this.#operations);
    const method = dice.chance(0.05) ? dice.pick(OTHER_METHODS) : described;
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
    const { dice } = this;
    const makers = [
      () => hostileText(dice).slice(0, 2000),
      () => dice.hex(32),
      () => dice.hex(20),
      () => `31337:${dice.hex(20)}`,
      () => 'eip155:31337',
      () => String(dice.below(1e9)),
      () =>
        Buffer.from(JSON.stringify(dice.pick(this.payments).paymentPayload)).toString('base64url'),
      () =>
        Buffer.from(JSON.stringify(dice.pick(this.payments).paymentRequirements)).toString(
          'base64url',
        ),
    ];
    return dice.pick(makers)();
  }

  /** A URL cannot hold half a surrogate pair. */
  #wellFormed(text: string): string {
    return text.replaceAll(/[\ud800-\udfff]/gu, '?') || 'x';
  }

  #query(parameters: readonly Parameter[]): string {
    const { dice } = this;
    const pairs = parameters
      .filter(() => dice.chance(0.7))
      .map(({ name }) => `${name}=${encodeURIComponent(this.#wellFormed(this.#parameter()))}`);
    if (dice.chance(0.1))
      pairs.push(dice.pick(['a[b]=c', '__proto__[x]=1', '%', '%ff', '&&&', 'a=1&a=2']));
    return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
  }

  #headers(named: readonly Parameter[]): Record<string, string> {
    const { dice } = this;
    const headers: Record<string, string> = {};
    const set = (name: string, likelihood: number, value: () => string): void => {
      if (dice.chance(likelihood)) headers[name] = value();
    };
    const text = (): string =>
      hostileText(dice)
        .slice(0, 4000)

        .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?')
        .trim();
    set('x-api-key', 0.7, () => (dice.chance(0.85) ? dice.pick(this.apiKeys) : text()));
    set(
      'authorization',
      0.2,
      () => `Bearer ${dice.chance(0.5) ? dice.pick(this.apiKeys) : text()}`,
    );
    set('content-type', 0.5, () => dice.pick(['application/json', 'text/plain', text()]));
    set('content-encoding', 0.05, () => dice.pick(ENCODINGS));
    set('x-request-id', 0.1, text);
    set('x-forwarded-for', 0.2, text);
    set('accept', 0.1, text);
    set('origin', 0.1, text);
    for (const { name } of named) {
      set(name, 0.3, () =>
        dice.pick([text(), 'respond-async', 'finalized', 'included', 'order-1']),
      );
    }
    return headers;
  }

  #body({ requestBody }: Operation): Buffer | undefined {
    const { dice } = this;
    if (dice.chance(0.05)) return undefined;
    if (dice.chance(0.05)) return Buffer.from(hostileText(dice));
    const schema = requestBody?.content['application/json'].schema ?? {};
    const value = dice.chance(0.3) ? dice.pick(this.payments) : this.#values.valueOf(schema);
    const spoiled = this.#values.spoil(value, dice.below(4));
    const bytes = Buffer.from(JSON.stringify(spoiled));
    if (dice.chance(0.05)) return bytes.subarray(0, dice.below(bytes.length + 1));
    if (dice.chance(0.05)) bytes[dice.below(bytes.length)] = dice.below(256);
    return bytes;
  }
}
