import type { IncomingHttpHeaders } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { FacilitatorError } from '../../protocol/errors.js';
import { HubRefusal } from './hub-refusal.js';

/** A file of a form, as it comes in. */
export interface FilePart {
  readonly filename: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** All fields, when the whole form has come in as it should. */
  readonly fields: Promise<ReadonlyMap<string, string>>;
  /**
   * To be called when nothing speaks against this file: resolves when that holds for every file of the form.
   *
   * @throws what one of the files was refused with.
   */
  readonly agreed: () => Promise<void>;
}

/** Most files of one form. */
export const FILES_MOST = 32;
const LIMITS = {
  fields: 32,
  fieldSize: 4096,
  fieldNameSize: 100,
  files: FILES_MOST,
  headerPairs: 50,
};

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
  let isTaken = false;
  const [made] = await readFiles(headers, body, take, (name) => {
    const isFile = name === 'file' && !isTaken;
    isTaken ||= isFile;
    return isFile;
  });
  return made;
}

/**
 * Reads a form with several files, all named `files`. An empty file, or two files of one name, end it.
 *
 * @param take - gets each file. Its `fields` resolve when the whole form has arrived.
 */
export function readMultipartFiles<T>(
  headers: IncomingHttpHeaders,
  body: AsyncIterable<Uint8Array>,
  take: (file: FilePart) => Promise<T>,
): Promise<readonly T[]> {
  const names = new Set<string>();
  return readFiles(headers, body, take, (name, filename, stream) => {
    if (name !== 'files') return false;
    if (filename === '') throw HubRefusal.malformed('a file of the form has no name');
    if (names.has(filename))
      throw HubRefusal.malformed(`the form has this file twice: ${filename}`);
    names.add(filename);
    let isEmpty = true;
    stream.once('data', () => {
      isEmpty = false;
    });
    stream.once('end', () => {
      if (isEmpty) stream.emit('error', HubRefusal.malformed(`empty file: ${filename}`));
    });
    return true;
  });
}

/** @param isWanted - decides on a part of the form. An error it throws ends the form. */
async function readFiles<T>(
  headers: IncomingHttpHeaders,
  body: AsyncIterable<Uint8Array>,
  take: (file: FilePart) => Promise<T>,
  isWanted: (name: string, filename: string, stream: Readable) => boolean,
): Promise<readonly T[]> {
  const parser = newParser(headers);
  const fields = new Map<string, string>();
  const stop = new AbortController();
  const incoming: PassThrough[] = [];
  const taking: Promise<T>[] = [];
  const whole = outcome<ReadonlyMap<string, string>>();
  const all = outcome<undefined>();
  let agreed = 0;
  const agree = async (): Promise<void> => {
    agreed += 1;
    await whole.promise;
    if (agreed === taking.length) all.resolve(undefined);
    await all.promise;
  };
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
    // Older clients leave the file's name out; it has none then.
    const given = (filename as string | undefined) ?? '';
    try {
      if (!isWanted(name.toLowerCase(), given, stream)) {
        stream.resume();
        return;
      }
    } catch (error) {
      stream.resume();
      fail(error);
      return;
    }
    const bytes = new PassThrough();
    incoming.push(bytes);
    stream.pipe(bytes);
    const made = take({ filename: given, bytes, fields: whole.promise, agreed: agree });
    taking.push(made);
    made.catch((error: unknown) => {
      fail(error);
      all.reject(error);
    });
  });
  parser.on('filesLimit', () => {
    fail(HubRefusal.malformed(`the form has more than ${FILES_MOST} files`));
  });
  try {
    await pipeline(Readable.from(body, { objectMode: false }), parser, { signal: stop.signal });
  } catch (error) {
    const reason: unknown = stop.signal.aborted ? stop.signal.reason : error;
    whole.reject(reason);
    const end = reason instanceof Error ? reason : new Error('the form ended early');
    for (const bytes of incoming) bytes.destroy(end);
    await Promise.allSettled(taking);
    throw reason instanceof FacilitatorError || reason instanceof HubRefusal
      ? reason
      : HubRefusal.malformed('multipart: NextPart: EOF');
  }
  whole.resolve(fields);
  // One refusal must not leave the other files under way behind the answer.
  await Promise.allSettled(taking);
  return Promise.all(taking);
}

interface Outcome<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** A promise that is settled from outside; its failure needs no listener. */
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
