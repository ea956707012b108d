import type { KeyManagementServiceClient } from '@google-cloud/kms';
import { codeOf, type KeyService, KeyServiceError, type SignFailure } from './key-service.js';

interface GcpKmsOptions {
  /** `projects/…/locations/…/keyRings/…/cryptoKeys/…/cryptoKeyVersions/…` */
  readonly version: string;
  /** Replaces cloudkms.googleapis.com. An http endpoint gets no credentials. */
  readonly endpoint: string | undefined;
  /** Milliseconds per request. */
  readonly timeoutMs: number;
}

/** Options of the SDK. */
type Place = NonNullable<ConstructorParameters<typeof KeyManagementServiceClient>[0]>;

/** Turns off the retries of the SDK. */
const ONCE = { retry: null };

/** A PEM of one public key has about 240 characters. */
const PEM_MOST = 2000;

/** Error codes of the API are those of `google.rpc.Code`; errors of the connection have HTTP statuses. */
const REFUSED = new Set([3, 5, 7, 9, 12, 16]);
const RESOURCE_EXHAUSTED = 8;

/**
 * A key version of Google Cloud KMS with the algorithm `EC_SIGN_SECP256K1_SHA256`, which signs any digest of 32
 * bytes. The SDK finds the credentials. It uses HTTP and JSON, because one signature per transaction needs no stream.
 * Nothing is retried here.
 * https://cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys.cryptoKeyVersions/asymmetricSign
 */
export class GcpKms implements KeyService {
  #opened: Promise<KeyManagementServiceClient> | undefined;

  constructor(private readonly options: GcpKmsOptions) {}

  async publicKey(): Promise<Uint8Array> {
    const pem = await this.#answered(async (client) => {
      const [{ pem: text }] = await client.getPublicKey({ name: this.options.version }, ONCE);
      return text;
    });
    return derOf(pem);
  }

  async sign(digest: Uint8Array): Promise<Uint8Array> {
    const signature = await this.#answered(async (client) => {
      const [{ signature: bytes }] = await client.asymmetricSign(
        { name: this.options.version, digest: { sha256: digest } },
        ONCE,
      );
      return bytes;
    });
    return typeof signature === 'string' ? Buffer.from(signature, 'base64') : signature;
  }

  /** The SDK is loaded on demand. */
  #open(): Promise<KeyManagementServiceClient> {
    this.#opened ??= this.#made().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /**
   * Credentials are read first, because a failure inside the SDK is an unhandled rejection, and the SDK never tries
   * again.
   */
  async #made(): Promise<KeyManagementServiceClient> {
    const { KeyManagementServiceClient: Client } = await import('@google-cloud/kms');
    const place = this.#place();
    if (place.auth !== undefined) return new Client({ fallback: true, ...place });
    const { GoogleAuth } = await import('google-auth-library');
    const clientOptions = { transporterOptions: { timeout: this.options.timeoutMs } };
    const auth = new GoogleAuth({ scopes: [...Client.scopes], clientOptions });
    await auth.getClient();
    return new Client({ fallback: true, ...place, auth });
  }

  /** The SDK takes no abort signal, and its own time limits do not work over HTTP, so requests get a limit here. */
  #place(): Place {
    const { endpoint, timeoutMs } = this.options;
    const clientOptions = { transporterOptions: { timeout: timeoutMs } };
    if (endpoint === undefined) return { clientOptions };
    const { protocol, hostname, port } = new URL(endpoint);
    const isPlain = protocol === 'http:';
    return {
      apiEndpoint: hostname,
      port: port === '' ? (isPlain ? 80 : 443) : Number(port),
      protocol: protocol.slice(0, -1),
      ...(isPlain ? { auth: withoutCredentials(timeoutMs) } : { clientOptions }),
    };
  }

  async #answered<T>(
    ask: (client: KeyManagementServiceClient) => Promise<T | null | undefined>,
  ): Promise<T> {
    let answer: T | null | undefined;
    try {
      answer = await ask(await this.#open());
    } catch (error) {
      throw failureOf(error);
    }
    if (answer === null || answer === undefined) throw new KeyServiceError('bad_answer', 'empty');
    return answer;
  }
}

/** Credentials without content, so that requests are sent unsigned. */
function withoutCredentials(timeoutMs: number): NonNullable<Place['auth']> {
  const send = (url: string, init: RequestInit): Promise<Response> =>
    fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });
  const auth: object = { getClient: () => Promise.resolve({ fetch: send }), fetch: send };
  return auth as NonNullable<Place['auth']>;
}

function derOf(pem: string): Uint8Array {
  const body = /^-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/.exec(
    pem.slice(0, PEM_MOST),
  )?.[1];
  if (body === undefined) throw new KeyServiceError('bad_answer', 'pem');
  return Buffer.from(body, 'base64');
}

function failureOf(error: unknown): KeyServiceError {
  const details = (error instanceof Error ? error : {}) as { code?: unknown; status?: unknown };
  const code = [details.code, details.status].map(Number).find((one) => !Number.isNaN(one));
  return new KeyServiceError(kindOf(code ?? Number.NaN), codeOf(code ?? details.code));
}

function kindOf(code: number): SignFailure {
  if (code === RESOURCE_EXHAUSTED || code === 429) return 'throttled';
  return REFUSED.has(code) || (code >= 400 && code < 500) ? 'refused' : 'unavailable';
}
