import type { IncomingHttpHeaders } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { FacilitatorError } from '../../protocol/errors.js';
import { HubRefusal } from './hub-refusal.js';

/** The one file of a form, as it comes in. */
export interface FilePart {
  readonly filename: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** All fields, when the whole form has come in as it should. */
  readonly fields: Promise<ReadonlyMap<string, string>>;
}

const LIMITS = { fields: 32, fieldSize: 4096, fieldNameSize: 100, files: 8, headerPairs: 50 };

/**
 * Reads a multipart form with at most one file, named `file`. The file is handed on while it arrives;
 * fields may come before it or after it.
 *
 * @param take - gets the file. What it throws ends the form and is thrown on.
 * @returns what it made of the file; `undefined` when the form had none.
 * @throws HubRefusal when it is no form, or not a whole one.
 */
export async function readMultipart<T>(
  headers: IncomingHttpHeaders,
  body: AsyncIterable<Uint8Array>,
  take: (file: FilePart) => Promise<T>,
): Promise<T | undefined> {
  const parser = newParser(headers);
  const fields = new Map<string, string>();
  const stop = new AbortController();
  let incoming: PassThrough | undefined;
  let taking: Promise<T> | undefined;
  const whole = outcome<ReadonlyMap<string, string>>();
  const fail = (error: unknown): void => {
    stop.abort(error);
  };
  parser.on('field', (name, value, _isNameCut, isValueCut) => {
    if (isValueCut) fail(HubRefusal.malformed('a field of the form is too long'));
    fields.set(name.toLowerCase(), value);
  });
  parser.on('fieldsLimit', () => {
    fail(HubRefusal.malformed('the form has too many fields'));
  });
  parser.on('file', (name, stream, filename) => {
    stream.on('error', fail);
    if (name.toLowerCase() !== 'file' || incoming !== undefined) {
      stream.resume();
      return;
    }
    const bytes = new PassThrough();
    incoming = bytes;
    stream.pipe(bytes);
    // Older clients leave the file's name out; it has none then.
    const given = (filename as string | undefined) ?? '';
    taking = take({ filename: given, bytes, fields: whole.promise });
    taking.catch(fail);
  });
  try {
    await pipeline(Readable.from(body, { objectMode: false }), parser, { signal: stop.signal });
  } catch (error) {
    const reason: unknown = stop.signal.aborted ? stop.signal.reason : error;
    whole.reject(reason);
    incoming?.destroy(reason instanceof Error ? reason : new Error('the form ended early'));
    await taking?.catch(() => undefined);
    throw reason instanceof FacilitatorError || reason instanceof HubRefusal
      ? reason
      : HubRefusal.malformed('multipart: NextPart: EOF');
  }
  whole.resolve(fields);
  return taking;
}

interface Outcome<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** A promise that is settled from outside; nobody has to listen when it fails. */
function outcome<T>(): Outcome<T> {
  let resolve: Outcome<T>['resolve'] = () => undefined;
  let reject: Outcome<T>['reject'] = () => undefined;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

function newParser(headers: IncomingHttpHeaders): BusboyInstance {
  const contentType = headers['content-type'];
  try {
    if (contentType?.toLowerCase().startsWith('multipart/') !== true) throw new Error('no form');
    return new Busboy({
      headers: { ...headers, 'content-type': contentType } satisfies BusboyHeaders,
      limits: LIMITS,
    });
  } catch {
    throw HubRefusal.malformed("request Content-Type isn't multipart/form-data");
  }
}
