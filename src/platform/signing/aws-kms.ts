import type * as KmsSdk from '@aws-sdk/client-kms';
import { codeOf, type KeyService, KeyServiceError, type SignFailure } from './key-service.js';

type Sdk = typeof KmsSdk;

interface AwsKmsOptions {
  /** A key id, a key ARN, an alias (`alias/…`) or an alias ARN. */
  readonly key: string;
  /** Replaces the endpoint of the region. */
  readonly endpoint: string | undefined;
}

const THROTTLED = new Set([
  'ThrottlingException',
  'LimitExceededException',
  'TooManyRequestsException',
]);

/**
 * A key of AWS KMS: key spec `ECC_SECG_P256K1`, usage `SIGN_VERIFY`. The SDK finds the credentials. The region is the
 * one of the ARN, otherwise of the environment. Nothing is retried here.
 * https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html
 */
export class AwsKms implements KeyService {
  #opened: Promise<{ readonly sdk: Sdk; readonly client: KmsSdk.KMSClient }> | undefined;

  constructor(private readonly options: AwsKmsOptions) {}

  async publicKey(abortSignal: AbortSignal): Promise<Uint8Array> {
    return this.#answered(async () => {
      const { sdk, client } = await this.#open();
      const command = new sdk.GetPublicKeyCommand({ KeyId: this.options.key });
      return (await client.send(command, { abortSignal })).PublicKey;
    });
  }

  async sign(digest: Uint8Array, abortSignal: AbortSignal): Promise<Uint8Array> {
    return this.#answered(async () => {
      const { sdk, client } = await this.#open();
      const command = new sdk.SignCommand({
        KeyId: this.options.key,
        Message: digest,
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      });
      return (await client.send(command, { abortSignal })).Signature;
    });
  }

  /** The SDK is loaded on demand. */
  #open(): Promise<{ readonly sdk: Sdk; readonly client: KmsSdk.KMSClient }> {
    this.#opened ??= import('@aws-sdk/client-kms').then((sdk) => ({
      sdk,
      client: new sdk.KMSClient({ ...this.#place(), maxAttempts: 1 }),
    }));
    return this.#opened;
  }

  #place(): { readonly region?: string; readonly endpoint?: string } {
    const { key, endpoint } = this.options;
    const region = key.startsWith('arn:') ? key.split(':')[3] : undefined;
    return {
      ...(region !== undefined && region !== '' && { region }),
      ...(endpoint !== undefined && { endpoint }),
    };
  }

  async #answered(ask: () => Promise<Uint8Array | undefined>): Promise<Uint8Array> {
    let answer: Uint8Array | undefined;
    try {
      answer = await ask();
    } catch (error) {
      throw failureOf(error);
    }
    if (answer === undefined) throw new KeyServiceError('bad_answer', 'empty');
    return answer;
  }
}

/** Errors of the SDK: service exceptions have a name and the status of the answer. */
interface SdkError {
  readonly name?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function failureOf(error: unknown): KeyServiceError {
  const { name, $metadata }: SdkError = error instanceof Error ? error : {};
  const code = codeOf(name);
  return new KeyServiceError(kindOf(code, $metadata?.httpStatusCode), code);
}

function kindOf(code: string, status: number | undefined): SignFailure {
  if (THROTTLED.has(code) || status === 429) return 'throttled';
  // A key that is not ready yet causes this error with a status of 4xx, but it is temporary.
  if (code === 'KeyUnavailableException' || code === 'DependencyTimeoutException')
    return 'unavailable';
  return status !== undefined && status >= 400 && status < 500 ? 'refused' : 'unavailable';
}
