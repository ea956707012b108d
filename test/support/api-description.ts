import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Json } from './payments.js';

interface Media {
  readonly schema: object;
  readonly example?: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}

export interface DescribedOperation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, Media>> }>
  >;
}

type Paths = Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;

/** The OpenAPI description of a service, to hold its answers against. */
export class ApiDescription {
  readonly paths: Paths;
  readonly #ajv = new Ajv2020({ allErrors: true, strict: false });
  readonly #validators = new Map<object, ValidateFunction>();

  readonly #schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>>;

  constructor(document: Json) {
    this.paths = document['paths'] as Paths;
    this.#schemas = (document['components'] as { readonly schemas: never }).schemas;
    addFormats.default(this.#ajv);
    this.#ajv.addSchema({ $id: 'api', components: document['components'] });
  }

  /** The problems of an answer, by the description; empty when it is as described. */
  problemsOf(method: string, path: string, status: number, body: unknown): readonly string[] {
    const response = this.#operation(method, path).responses[String(status)];
    if (response === undefined) return [`${status} is not described`];
    const schema = response.content?.['application/json']?.schema;
    return schema === undefined ? ['no JSON is described'] : this.#problems(schema, body);
  }

  requestProblems(method: string, path: string, body: unknown): readonly string[] {
    const content = this.#operation(method, path).requestBody?.content;
    const schema = content?.['application/json']?.schema;
    return schema === undefined ? ['no body is described'] : this.#problems(schema, body);
  }

  /** The problems of parameters, each as the text that is sent. */
  parameterProblems(
    method: string,
    path: string,
    given: Readonly<Record<Parameter['in'], Readonly<Record<string, string>>>>,
  ): readonly string[] {
    return (this.#operation(method, path).parameters ?? []).flatMap(
      ({ name, in: place, required, schema }) => {
        const text = given[place][name];
        if (text === undefined) return required === true ? [`${name} is missing`] : [];
        const { type } = this.resolve(schema);
        const isNumber = type === 'integer' && /^(0|-?[1-9]\d*)$/.test(text);
        const problems = this.#problems(schema, isNumber ? Number(text) : text);
        return problems.map((problem) => `${name}: ${problem}`);
      },
    );
  }

  /** A schema, itself or what it refers to. */
  resolve(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const { $ref } = schema;
    return typeof $ref === 'string'
      ? this.resolve(this.#schemas[$ref.split('/').at(-1) ?? ''] ?? {})
      : schema;
  }

  exampleOf(method: string, path: string, status: number): unknown {
    const { responses } = this.#operation(method, path);
    return responses[String(status)]?.content?.['application/json']?.example;
  }

  #operation(method: string, path: string): DescribedOperation {
    const operation = this.paths[path]?.[method];
    if (operation === undefined) throw new Error(`${method} ${path} is not described`);
    return operation;
  }

  #problems(schema: object, body: unknown): readonly string[] {
    let validate = this.#validators.get(schema);
    if (validate === undefined) {
      const absolute = JSON.stringify(schema).replaceAll('"#/components', '"api#/components');
      validate = this.#ajv.compile(JSON.parse(absolute) as object);
      this.#validators.set(schema, validate);
    }
    if (validate(body)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message }) => `${instancePath} ${message ?? ''}`,
    );
  }
}
