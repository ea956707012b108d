import { isWithinBounds, type JsonBounds } from '../payment/json-bounds.js';
import { isJsonObject, type JsonObject, readOptionalObject } from '../payment/wire-values.js';
import type { Fault, ListingNote, ListingType } from './listing.js';
import { nameSeen, plainJson, plainObject, plainText } from './seller-words.js';

/** Maximum characters of JSON. */
const INFO_MAX = 16_384;
const SCHEMA_MAX = 16_384;
const EXAMPLE_MAX = 4096;
const BOUNDS: JsonBounds = { maxDepth: 16, maxValues: 2000 };

const QUERY_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);
const BODY_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const BODY_TYPES: ReadonlySet<unknown> = new Set(['json', 'form-data', 'text']);
const TRANSPORTS: ReadonlySet<unknown> = new Set(['streamable-http', 'sse']);
/** Keywords with expressions that a reader might execute. */
const NOT_REPEATED: ReadonlySet<string> = new Set(['pattern', 'patternProperties']);
const TOOL_NAME_MAX = 128;

/** The call of a listed resource, in its public form. */
interface DeclaredInfo {
  readonly type: ListingType;
  readonly method?: string;
  readonly toolName?: string;
  readonly info: JsonObject;
}

/** `info` of the extension, parsed into its public form. */
export function readInfo(
  declared: unknown,
  path: string,
  notes: Set<ListingNote>,
): DeclaredInfo | Fault {
  const at = `${path}.input`;
  const info = readOptionalObject(declared);
  const input = readOptionalObject(info?.['input']);
  if (info === undefined || input === undefined) {
    return { code: 'info_missing', path: at, expected: 'what the caller sends' };
  }
  const output = readOutput(info['output'], notes);
  if (!isWithinBounds(input, BOUNDS)) return tooLarge(at);
  const read = input['type'] === 'mcp' ? readTool(input, at) : readRequest(input, at, notes);
  if ('code' in read) return read;
  const whole = { ...read, info: { input: read.info, ...(output && { output }) } };
  return sizeOf(whole.info) > INFO_MAX ? tooLarge(at) : whole;
}

function readRequest(
  input: JsonObject,
  path: string,
  notes: Set<ListingNote>,
): DeclaredInfo | Fault {
  if (input['type'] !== 'http') {
    return { code: 'input_type', path: `${path}.type`, expected: 'http or mcp' };
  }
  const { bodyType } = input;
  const hasBody = bodyType !== undefined;
  // The server middleware has not added the method of the route to this declaration.
  const method: unknown = input['method'] ?? (hasBody ? 'POST' : 'GET');
  if (input['method'] === undefined) notes.add('method_assumed');
  const isKnown = typeof method === 'string';
  if (!isKnown || (!QUERY_METHODS.has(method) && !BODY_METHODS.has(method))) {
    const expected = 'GET, HEAD, DELETE, POST, PUT or PATCH';
    return { code: 'input_method', path: `${path}.method`, expected };
  }
  const takesBody = BODY_METHODS.has(method);
  if (hasBody && (!takesBody || !BODY_TYPES.has(bodyType))) {
    const expected = takesBody ? 'json, form-data or text' : 'nothing: this method has no body';
    return { code: 'input_body_type', path: `${path}.bodyType`, expected };
  }
  const objects = ['queryParams', 'pathParams', 'headers'].flatMap((field) => {
    const value = readOptionalObject(input[field]);
    return value === undefined ? [] : [[field, plainObject(value)] as const];
  });
  const { body } = input;
  return {
    type: 'http',
    method,
    info: {
      type: 'http',
      method,
      ...(takesBody && { bodyType: bodyType ?? 'json' }),
      ...(takesBody && body !== undefined && { body: plainJson(body) }),
      ...Object.fromEntries(objects),
    },
  };
}

function readTool(input: JsonObject, path: string): DeclaredInfo | Fault {
  const { transport, inputSchema, example } = input;
  const declared = input['toolName'];
  const { text: toolName, isCut } = plainText(declared, TOOL_NAME_MAX);
  // Invisible or cut characters make two names look alike.
  if (toolName === undefined || isCut) {
    const expected = `a name of at most ${TOOL_NAME_MAX} characters`;
    return { code: 'tool_name', path: `${path}.toolName`, expected };
  }
  if (!isJsonObject(inputSchema)) {
    return { code: 'tool_schema', path: `${path}.inputSchema`, expected: 'a JSON schema' };
  }
  if (transport !== undefined && !TRANSPORTS.has(transport)) {
    const expected = 'streamable-http or sse';
    return { code: 'tool_transport', path: `${path}.transport`, expected };
  }
  const { text: description } = plainText(input['description']);
  return {
    type: 'mcp',
    toolName,
    info: {
      type: 'mcp',
      toolName,
      ...(description !== undefined && { description }),
      ...(transport !== undefined && { transport }),
      inputSchema: plainObject(inputSchema, NOT_REPEATED),
      ...(isJsonObject(example) && { example: plainObject(example) }),
    },
  };
}

function readOutput(declared: unknown, notes: Set<ListingNote>): JsonObject | undefined {
  const output = readOptionalObject(declared);
  if (output === undefined) return undefined;
  const { example } = output;
  const [type, format] = ['type', 'format'].map((name) => plainText(output[name], 32).text);
  const isKept =
    example !== undefined && isWithinBounds(example, BOUNDS) && sizeOf(example) <= EXAMPLE_MAX;
  if (example !== undefined && !isKept) notes.add('example_left_out');
  return {
    ...(type !== undefined && { type }),
    ...(format !== undefined && { format }),
    ...(isKept && { example: plainJson(example) }),
  };
}

/**
 * The schema for readers of the catalogue. Its regular expressions come from a seller, so they are neither executed
 * nor repeated.
 */
export function readSchema(declared: unknown, notes: Set<ListingNote>): JsonObject | undefined {
  const schema = readOptionalObject(declared);
  if (schema === undefined) return undefined;
  if (!isReadableSchema(schema)) {
    notes.add('schema_left_out');
    return undefined;
  }
  return plainObject(schema, NOT_REPEATED);
}

/** Whether a schema is small and has no external references. */
export function isReadableSchema(schema: JsonObject): boolean {
  return isWithinBounds(schema, BOUNDS) && sizeOf(schema) <= SCHEMA_MAX && !namesOthers(schema);
}

/** Whether `info` is small, including its examples. */
export function isReadableInfo(info: JsonObject): boolean {
  return isWithinBounds(info, BOUNDS) && sizeOf(info) <= INFO_MAX + EXAMPLE_MAX;
}

/** Whether a schema refers to another document, which a reader of the catalogue might fetch. */
function namesOthers(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(namesOthers);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([declared, one]) => {
    const name = nameSeen(declared);
    const isReference = name === '$ref' || name === '$id' || name === '$dynamicRef';
    return isReference && typeof one === 'string' ? !one.startsWith('#') : namesOthers(one);
  });
}

const sizeOf = (value: unknown): number => JSON.stringify(value).length;

function tooLarge(path: string): Fault {
  return { code: 'info_too_large', path, expected: `at most ${INFO_MAX} characters of JSON` };
}
