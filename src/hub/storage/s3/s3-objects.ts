import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { S3Config } from '../../../platform/config/hub-settings.js';
import { StorageUnavailableError } from '../../errors.js';

const CONNECT_TIMEOUT_MS = 2000;
const REQUEST_TIMEOUT_MS = 30_000;
/** The least S3 takes for a part that is not the last. */
export const PART_BYTES = 5 * 1_048_576;

/** A listed name: an object, or what several begin with. */
interface Listed {
  readonly keys: readonly string[];
  readonly prefixes: readonly string[];
}

/**
 * The operations used of S3, on keys below the configured prefix. Everything that fails is a
 * {@link StorageUnavailableError}, without a word of what the service said.
 */
export class S3Objects {
  readonly #client: S3Client;

  constructor(
    private readonly config: S3Config,
    /** Marks what this process has written. */
    private readonly writer: string,
  ) {
    const { region, endpoint, forcePathStyle, credentials } = config;
    this.#client = new S3Client({
      region,
      forcePathStyle,
      ...(endpoint !== undefined && { endpoint }),
      ...(credentials !== undefined && { credentials: credentials.reveal() }),
      // Newer checksums are more than many S3-compatible services know; payloads have their own.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
      },
    });
  }

  /**
   * Makes an object that was not there.
   *
   * @returns whether it was made. An own earlier attempt whose answer was lost counts as made.
   */
  async create(key: string, body: Uint8Array | string): Promise<boolean> {
    try {
      await this.#client.send(
        new PutObjectCommand({
          ...this.#at(key),
          Body: body,
          IfNoneMatch: '*',
          Metadata: { writer: this.writer },
        }),
      );
      return true;
    } catch (error) {
      if (statusOf(error) !== PRECONDITION_FAILED) throw new StorageUnavailableError('put', error);
    }
    return (await this.#writerOf(key)) === this.writer;
  }

  /**
   * Asks the service to make one object twice, each time only if it is not there.
   *
   * @param key - of an object that is of no use to anybody.
   * @returns whether the second request was refused.
   */
  async honoursConditions(key: string): Promise<boolean> {
    await this.create(key, 'first');
    try {
      const second = { ...this.#at(key), Body: 'second', IfNoneMatch: '*' };
      await this.#client.send(new PutObjectCommand(second));
      return false;
    } catch (error) {
      if (statusOf(error) === PRECONDITION_FAILED) return true;
      throw new StorageUnavailableError('put', error);
    } finally {
      // If it cannot be removed it stays: it is never read.
      await this.remove(key).catch(() => undefined);
    }
  }

  /** Makes or replaces an object. */
  async put(key: string, body: string): Promise<void> {
    await this.#sent(
      'put',
      this.#client.send(new PutObjectCommand({ ...this.#at(key), Body: body })),
    );
  }

  /** @returns `undefined` where there is nothing. */
  async text(key: string): Promise<string | undefined> {
    try {
      const { Body: body } = await this.#client.send(new GetObjectCommand(this.#at(key)));
      return await body?.transformToString();
    } catch (error) {
      if (statusOf(error) === NOT_FOUND) return undefined;
      throw new StorageUnavailableError('get', error);
    }
  }

  async *bytes(key: string, from: number, length: number): AsyncGenerator<Uint8Array> {
    const range = `bytes=${from}-${from + length - 1}`;
    try {
      const { Body: body } = await this.#client.send(
        new GetObjectCommand({ ...this.#at(key), Range: range }),
      );
      if (body !== undefined) yield* body as AsyncIterable<Uint8Array>;
    } catch (error) {
      throw new StorageUnavailableError('get', error);
    }
  }

  /** @param startAfter - only what comes behind this key. */
  async *list(
    prefix: string,
    { delimiter, startAfter }: { readonly delimiter?: string; readonly startAfter?: string } = {},
  ): AsyncGenerator<Listed> {
    let token: string | undefined;
    do {
      const input: ListObjectsV2CommandInput = {
        Bucket: this.config.bucket,
        Prefix: this.config.prefix + prefix,
        Delimiter: delimiter,
        StartAfter: startAfter === undefined ? undefined : this.config.prefix + startAfter,
        ContinuationToken: token,
      };
      const page = await this.#sent('list', this.#client.send(new ListObjectsV2Command(input)));
      yield {
        keys: (page.Contents ?? []).flatMap(({ Key: key }) => this.#below(key)),
        prefixes: (page.CommonPrefixes ?? []).flatMap(({ Prefix: one }) => this.#below(one)),
      };
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  /** Moves an object inside the bucket. */
  async move(from: string, to: string): Promise<void> {
    const source = encodeURI(`${this.config.bucket}/${this.config.prefix}${from}`);
    await this.#sent(
      'copy',
      this.#client.send(new CopyObjectCommand({ ...this.#at(to), CopySource: source })),
    );
    await this.remove(from);
  }

  async remove(key: string): Promise<void> {
    await this.#sent('delete', this.#client.send(new DeleteObjectCommand(this.#at(key))));
  }

  /**
   * An object of unknown length, in parts of {@link PART_BYTES}. Leaves nothing behind when the pieces
   * throw, and throws what they threw.
   */
  async upload(key: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const at = this.#at(key);
    const { UploadId: uploadId } = await this.#sent(
      'begin',
      this.#client.send(new CreateMultipartUploadCommand(at)),
    );
    const parts: { readonly ETag: string | undefined; readonly PartNumber: number }[] = [];
    try {
      for await (const part of inParts(pieces)) {
        const number = { UploadId: uploadId, PartNumber: parts.length + 1 };
        const { ETag } = await this.#sent(
          'part',
          this.#client.send(new UploadPartCommand({ ...at, ...number, Body: part })),
        );
        parts.push({ ETag, PartNumber: number.PartNumber });
      }
      await this.#sent(
        'complete',
        this.#client.send(
          new CompleteMultipartUploadCommand({
            ...at,
            UploadId: uploadId,
            MultipartUpload: { Parts: parts },
          }),
        ),
      );
    } catch (error) {
      await this.#abort(key, uploadId);
      throw error;
    }
  }

  close(): void {
    this.#client.destroy();
  }

  async #abort(key: string, uploadId: string | undefined): Promise<void> {
    try {
      await this.#client.send(
        new AbortMultipartUploadCommand({ ...this.#at(key), UploadId: uploadId }),
      );
    } catch {
      // The bucket's own rule for unfinished uploads removes it; the first error is the one to
      // report.
    }
  }

  async #writerOf(key: string): Promise<string | undefined> {
    const head = await this.#sent('head', this.#client.send(new HeadObjectCommand(this.#at(key))));
    return head.Metadata?.['writer'];
  }

  #at(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.config.bucket, Key: this.config.prefix + key };
  }

  #below(key: string | undefined): string[] {
    return key === undefined ? [] : [key.slice(this.config.prefix.length)];
  }

  async #sent<T>(operation: string, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw new StorageUnavailableError(operation, error);
    }
  }
}

const NOT_FOUND = 404;
const PRECONDITION_FAILED = 412;

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

async function* inParts(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    gathered.push(piece);
    size += piece.length;
    if (size < PART_BYTES) continue;
    yield Buffer.concat(gathered);
    gathered = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(gathered);
}
