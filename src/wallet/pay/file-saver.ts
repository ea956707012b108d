import type { OpenAnswer } from '../../platform/fetch/safe-fetch.js';
import type { HubClient } from '../hub/hub-client.js';
import type { HubSigner } from '../hub/hub-signer.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { type BodySource, type ExpectedFile, ResumedBody } from './resumed-body.js';

/** The type of a file of unknown type. */
const ANY_TYPE = '';
export const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/;

/** A file of the wallet at the hub. */
export interface SavedFile {
  readonly name: string;
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
}

/** Uploads a server's answer to the hub while it arrives, so that only a few pieces of a file are in memory. */
export class FileSaver {
  constructor(
    private readonly client: HubClient,
    private readonly signer: HubSigner,
    /** Limit for one file. */
    private readonly maxBytes: number,
    /** Time for saving one file. */
    readonly timeoutMs: number,
  ) {}

  /** Before the payment. @throws WalletError for a file above the limit. */
  assertSize({ size = 0 }: ExpectedFile): void {
    if (size <= this.maxBytes) return;
    throw new WalletError(
      'invalid_request',
      `The file has ${size} bytes, and at most ${this.maxBytes} are saved (WALLET_SAVE_MAX_BYTES).`,
    );
  }

  /**
   * @throws WalletError; the file is then not stored, or it is stored and the answer was lost. A repeated call is safe.
   */
  async save(
    session: Session,
    name: string,
    source: Omit<BodySource, 'maxBytes'>,
  ): Promise<SavedFile> {
    const { client, signer, maxBytes, timeoutMs } = this;
    const body = new ResumedBody({ ...source, maxBytes });
    this.assertSize({ size: body.size });
    const contentType = source.expected.contentType ?? typeOf(source.first);
    const { sha256 } = source.expected;
    const seconds = Math.ceil(timeoutMs / 1000) + 60;
    const wanted = { name, sha256, contentType, seconds, maxBytes: body.size ?? maxBytes };
    const { text } = await signer.upload(session, wanted);
    const stored = await client
      .put(text, contentType, body, source.signal)
      .catch((error: unknown) => {
        throw body.problem ?? error;
      });
    if (stored.sha256 === body.sha256()) return { name, ...stored };
    throw new WalletError('fetch_failed', 'The file hub stored other bytes than the wallet sent.');
  }
}

/** The server's type, if it is a valid one. */
function typeOf({ headers }: OpenAnswer): string {
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1);
  const plain = type.trim().toLowerCase();
  return MEDIA_TYPE.test(plain) ? plain : ANY_TYPE;
}
