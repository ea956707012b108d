import { createHash, createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const S3_KEYS = { accessKeyId: 'fixture', secretAccessKey: 'a secret of no value' };

interface S3Object {
  readonly body: Buffer;
  readonly metadata: Readonly<Record<string, string>>;
}

interface S3Request {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

interface S3Answer {
  readonly status: number;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

const BUCKET = 'files';
/** Small, so that lists have several pages. */
const PAGE = 10;

/**
 * As much of S3 as the hub uses, written from its documentation: it checks every signature (Signature
 * Version 4) and the hash of every body, serves ranges, and honours `If-None-Match: *` unless told not to.
 * It is no proof of how a real service behaves.
 */
export class S3Fixture {
  readonly objects = new Map<string, S3Object>();
  readonly #uploads = new Map<string, Map<number, Buffer>>();
  /** Keys whose next creation happens, but whose answer is lost. */
  readonly lostAnswers = new Set<RegExp>();
  /** Requests whose signature was not good. */
  refused = 0;
  /** Whether it writes over what is there, as services do that do not know `If-None-Match` on PUT. */
  ignoresConditions = false;
  #port = 0;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<S3Fixture> {
    const server = createServer();
    const fixture = new S3Fixture(server);
    server.on('request', (request, response) => void fixture.#serve(request, response));
    await fixture.comeBack();
    return fixture;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Refuses connections until it comes back, at the same port and with the same objects. */
  async goAway(): Promise<void> {
    await this.stop();
  }

  async comeBack(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (this.server.address() as AddressInfo).port;
  }

  /** Settings of a hub that keeps its files here. */
  get settings(): Record<string, string> {
    return {
      HUB_STORAGE: 's3',
      HUB_S3_BUCKET: BUCKET,
      HUB_S3_PREFIX: 'a-hub',
      HUB_S3_ENDPOINT: this.url,
      HUB_S3_FORCE_PATH_STYLE: 'true',
      HUB_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
      HUB_S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
    };
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => {
      this.server.close(() => {
        resolve();
      });
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    const url = new URL(request.url ?? '/', 'http://s3');
    const [, bucket, ...rest] = url.pathname.split('/');
    const key = decodeURIComponent(rest.join('/'));
    const { method = 'GET', headers } = request;
    const isGood = isSigned(request, url, body);
    if (!isGood) this.refused += 1;
    const answer = isGood
      ? this.#answerOf(bucket, { method, key, query: url.searchParams, headers, body })
      : error(403, 'SignatureDoesNotMatch');
    const lost = [...this.lostAnswers].find((pattern) => method === 'PUT' && pattern.test(key));
    if (lost !== undefined && answer.status === 200) {
      this.lostAnswers.delete(lost);
      response.destroy();
      return;
    }
    response.writeHead(answer.status, { 'x-amz-request-id': randomUUID(), ...answer.headers });
    response.end(method === 'HEAD' ? undefined : answer.body);
  }

  #answerOf(bucket: string | undefined, request: S3Request): S3Answer {
    if (bucket !== BUCKET) return error(404, 'NoSuchBucket');
    const { method, key, query } = request;
    if (method === 'GET' && key === '') return this.#list(query);
    if (query.has('uploads') || query.has('uploadId')) return this.#multipart(request);
    switch (method) {
      case 'PUT':
        return this.#put(request);
      case 'GET':
      case 'HEAD':
        return this.#get(request);
      case 'DELETE':
        this.objects.delete(key);
        return { status: 204 };
      default:
        return error(405, 'MethodNotAllowed');
    }
  }

  #put({ key, headers, body }: S3Request): S3Answer {
    const isConditional = headers['if-none-match'] === '*' && !this.ignoresConditions;
    if (isConditional && this.objects.has(key)) {
      return error(412, 'PreconditionFailed');
    }
    const source = headers['x-amz-copy-source'];
    if (typeof source === 'string') {
      const from = this.objects.get(decodeURI(source).replace(/^\/?[^/]+\//, ''));
      if (from === undefined) return error(404, 'NoSuchKey');
      this.objects.set(key, from);
      return { status: 200, body: `<CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>` };
    }
    const metadata = Object.entries(headers).filter(([name]) => name.startsWith('x-amz-meta-'));
    this.objects.set(key, { body, metadata: Object.fromEntries(metadata.map(asText)) });
    return { status: 200, headers: { etag: '"e"' } };
  }

  #get({ key, headers }: S3Request): S3Answer {
    const object = this.objects.get(key);
    if (object === undefined) return error(404, 'NoSuchKey');
    const { body, metadata } = object;
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    if (first === undefined || last === undefined) {
      const length = { 'content-length': String(body.length) };
      return { status: 200, body, headers: { ...metadata, ...length } };
    }
    const part = body.subarray(Number(first), Number(last) + 1);
    const range = `bytes ${first}-${Number(first) + part.length - 1}/${body.length}`;
    return { status: 206, body: part, headers: { ...metadata, 'content-range': range } };
  }

  #list(query: URLSearchParams): S3Answer {
    const prefix = query.get('prefix') ?? '';
    const delimiter = query.get('delimiter') ?? '';
    const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
    const names = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => {
        const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
        return end === -1 ? key : key.slice(0, end + 1);
      });
    const all = [...new Set(names)].filter((name) => name > after).sort();
    const page = all.slice(0, PAGE);
    const isPrefix = (name: string): boolean => delimiter !== '' && name.endsWith(delimiter);
    const body = [
      '<?xml version="1.0"?><ListBucketResult>',
      ...page.map((name) =>
        isPrefix(name)
          ? `<CommonPrefixes><Prefix>${name}</Prefix></CommonPrefixes>`
          : `<Contents><Key>${name}</Key></Contents>`,
      ),
      all.length > PAGE
        ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${page.at(-1) ?? ''}</NextContinuationToken>`
        : '<IsTruncated>false</IsTruncated>',
      '</ListBucketResult>',
    ].join('');
    return { status: 200, body, headers: { 'content-type': 'application/xml' } };
  }

  #multipart({ method, key, query, body }: S3Request): S3Answer {
    const id = query.get('uploadId') ?? '';
    if (method === 'POST' && query.has('uploads')) {
      const uploadId = randomUUID();
      this.#uploads.set(uploadId, new Map());
      const tag = `<UploadId>${uploadId}</UploadId>`;
      const xml = `<InitiateMultipartUploadResult>${tag}</InitiateMultipartUploadResult>`;
      return { status: 200, body: xml };
    }
    const parts = this.#uploads.get(id);
    if (parts === undefined) return error(404, 'NoSuchUpload');
    if (method === 'PUT') {
      parts.set(Number(query.get('partNumber')), body);
      return { status: 200, headers: { etag: '"p"' } };
    }
    this.#uploads.delete(id);
    if (method === 'DELETE') return { status: 204 };
    const numbers = [...parts.keys()].sort((a, b) => a - b);
    const isSmall = numbers.slice(0, -1).some((one) => (parts.get(one)?.length ?? 0) < 5_242_880);
    if (isSmall) return error(400, 'EntityTooSmall');
    const whole = Buffer.concat(numbers.map((one) => parts.get(one) ?? Buffer.alloc(0)));
    this.objects.set(key, { body: whole, metadata: {} });
    return { status: 200, body: '<CompleteMultipartUploadResult/>' };
  }

  /** Uploads in parts that were neither completed nor aborted. */
  get openUploads(): number {
    return this.#uploads.size;
  }
}

function asText([name, value]: [string, string | string[] | undefined]): [string, string] {
  return [name, String(value)];
}

function error(status: number, code: string): S3Answer {
  return { status, body: `<?xml version="1.0"?><Error><Code>${code}</Code></Error>` };
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string): Buffer =>
  createHmac('sha256', key).update(data).digest();

/** AWS Signature Version 4, in the Authorization header. */
function isSigned(request: IncomingMessage, url: URL, body: Buffer): boolean {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    );
  const [, keyId, day = '', region = '', signedHeaders = '', signature] = match ?? [];
  const hash = String(request.headers['x-amz-content-sha256']);
  if (keyId !== S3_KEYS.accessKeyId || hash !== sha256(body)) return false;
  const names = signedHeaders.split(';');
  if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => names.includes(name))) {
    return false;
  }
  const encode = (text: string): string =>
    encodeURIComponent(text).replaceAll(
      /[!'()*]/g,
      (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const headers = names.map(
    (name) => `${name}:${String(request.headers[name]).trim().replaceAll(/ +/g, ' ')}\n`,
  );
  const path = url.pathname;
  const canonical = [request.method, path, query, headers.join(''), signedHeaders, hash].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const date = String(request.headers['x-amz-date']);
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
  const dayKey = hmac(`AWS4${S3_KEYS.secretAccessKey}`, day);
  const key = hmac(hmac(hmac(dayKey, region), 's3'), 'aws4_request');
  return hmac(key, toSign).toString('hex') === signature;
}
