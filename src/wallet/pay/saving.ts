import { Inject, Injectable } from '@nestjs/common';
import type { FetchAnswer, FetchRequest, OpenAnswer } from '../../platform/fetch/safe-fetch.js';
import { isUrl } from '../../platform/http/urls.js';
import { readOptionalObject } from '../../protocol/payment/wire-values.js';
import type { WalletHub } from '../hub/wallet-hub.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_HUB } from '../wallet-tokens.js';
import type { Purchase } from './charger.js';
import { type FileSaver, MEDIA_TYPE, type SavedFile } from './file-saver.js';
import type { AcceptedOffer } from './intent.js';
import { Presenter } from './presenter.js';
import type { ExpectedFile } from './resumed-body.js';
import { WalletFetch } from './wallet-fetch.js';

/** A token by which a seller knows who has paid, as the file hub sends it. */
const ACCESS = 'hub-access';
const ACCESS_MAX = 4096;
const NAME_MAX = 128;

/** A paid file that is to be saved. */
interface PaidFile {
  readonly deal: AcceptedOffer;
  /** The seller's access token for the next request; without one, the payment is presented again. */
  readonly access: string | undefined;
}

/** Saves a purchase. It pays nothing: the presented payment was made before. */
@Injectable()
export class Saving {
  constructor(
    private readonly fetcher: WalletFetch,
    private readonly presenter: Presenter,
    @Inject(WALLET_HUB) private readonly hub: WalletHub | undefined,
  ) {}

  /** Before any request. @throws WalletError for a purchase that cannot be saved. */
  assertPossible({ save, method, headers }: Purchase): void {
    if (save === undefined) return;
    if (this.hub === undefined) throw noHub();
    if (method !== 'GET') {
      throw new WalletError('invalid_request', 'Only a GET request can be saved.');
    }
    if (Object.keys(headers).some((name) => /^(range|if-.*)$/i.test(name))) {
      throw new WalletError('invalid_request', 'The whole file is saved: remove the Range header.');
    }
  }

  /** Before the payment. @throws WalletError for an offer above the size limit. */
  assertSize(requirements: AcceptedOffer['requirements']): void {
    this.#saver.assertSize(expectedIn(requirements));
  }

  /** Runs a task that saves. Connections with unread data are closed at its end. */
  async during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController();
    const late = AbortSignal.timeout(this.#saver.timeoutMs);
    try {
      return await work(AbortSignal.any([ended.signal, late]));
    } finally {
      ended.abort();
    }
  }

  /**
   * @param first - the answer with the file; without it the seller is asked again.
   * @throws WalletError where it is not saved; a repeated call may save it.
   */
  async savePaid(
    session: Session,
    wanted: Purchase,
    { deal, access }: PaidFile,
    { signal, first }: { readonly signal: AbortSignal; readonly first?: OpenAnswer },
  ): Promise<SavedFile> {
    const { fetcher, presenter } = this;
    const shown =
      access === undefined
        ? Object.fromEntries([await presenter.headerOf(session, deal)])
        : { [ACCESS]: access };
    const request = requestOf(wanted, deal.url);
    const again = (headers: Readonly<Record<string, string>>): Promise<OpenAnswer> =>
      fetcher.open(request, { ...headers, ...shown }, signal);
    const expected = expectedIn(deal.requirements);
    const answer = first ?? (await again({}));
    return this.#save(session, wanted, { first: answer, again, expected, signal });
  }

  /**
   * Requests a resource that may be free. A free one is saved at once, because a seller may not give it twice.
   *
   * @returns the answer, without its body where it was saved.
   * @throws WalletError
   */
  async ask(
    session: Session,
    wanted: Purchase,
  ): Promise<{ readonly answer: FetchAnswer; readonly file?: SavedFile }> {
    return this.during((signal) => this.#ask(session, wanted, signal));
  }

  async #ask(
    session: Session,
    wanted: Purchase,
    signal: AbortSignal,
  ): Promise<{ readonly answer: FetchAnswer; readonly file?: SavedFile }> {
    const { fetcher } = this;
    let first = await fetcher.open(requestOf(wanted, wanted.url), {}, signal);
    if (first.status >= 300 && first.status < 400) {
      await first.start();
      const { url } = await fetcher.fetch(wanted, signal);
      first = await fetcher.open(requestOf(wanted, url), {}, signal);
    }
    if (first.status !== 200) return { answer: { ...first, ...(await first.start()) } };
    const { url } = first;
    const again = (headers: Readonly<Record<string, string>>): Promise<OpenAnswer> =>
      fetcher.open(requestOf(wanted, url), headers, signal);
    const file = await this.#save(session, wanted, { first, again, expected: {}, signal });
    return { answer: withoutBody(first), file };
  }

  async #save(
    session: Session,
    { save }: Purchase,
    source: Parameters<FileSaver['save']>[2],
  ): Promise<SavedFile> {
    const { status, headers } = source.first;
    if (status !== 200) {
      await source.first.start().catch(() => undefined);
      throw new WalletError('fetch_failed', `The seller did not send the file: status ${status}.`);
    }
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
      await source.first.start().catch(() => undefined);
      throw new WalletError(
        'fetch_failed',
        'The seller compressed the file, although this wallet accepts no compression.',
      );
    }
    return this.#saver.save(session, save?.name ?? '', source);
  }

  get #saver(): FileSaver {
    if (this.hub !== undefined) return this.hub.saver;
    throw noHub();
  }
}

function noHub(): WalletError {
  return new WalletError(
    'not_found',
    'This wallet has no file hub to save to. Its operator can set WALLET_HUB_URL.',
  );
}

/** An answer whose body is stored elsewhere. */
export function withoutBody(answer: OpenAnswer): FetchAnswer {
  return { ...answer, body: Buffer.alloc(0), isCutOff: false };
}

/** Reads the seller's access token. */
export function accessIn({ headers }: Pick<OpenAnswer, 'headers'>): string | undefined {
  const access = headers[ACCESS];
  return access !== undefined && access.length <= ACCESS_MAX ? access : undefined;
}

/** The seller's offer, as the file hub writes it. Other values are used unverified. */
function expectedIn(requirements: AcceptedOffer['requirements']): ExpectedFile {
  const { sha256, size, contentType } = readOptionalObject(requirements['extra']) ?? {};
  return {
    ...(typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256) && { sha256 }),
    ...(typeof size === 'number' && Number.isSafeInteger(size) && size > 0 && { size }),
    ...(typeof contentType === 'string' && MEDIA_TYPE.test(contentType) && { contentType }),
  };
}

/** The last part of a path as a file name, as far as possible. */
export function nameFor(url: string): string {
  const last = isUrl(url) ? (new URL(url).pathname.split('/').at(-1) ?? '') : '';
  const name = decoded(last)
    .replaceAll(/[\p{Cc}\p{Cs}/\\"]/gu, '-')
    .slice(0, NAME_MAX);
  return /^\.{0,2}$/.test(name) || /\p{Cs}/u.test(name) ? 'file' : name;
}

/** The agent's headers go to the same server only. */
function requestOf({ url: asked, headers, method }: Purchase, url: string): FetchRequest {
  const isSameOrigin = new URL(url).origin === new URL(asked).origin;
  return { url, method, headers: isSameOrigin ? headers : {}, body: undefined };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The seller's result is then unknown, so the payment is pending. */
export function brokenOff(error: unknown): undefined {
  if (!(error instanceof WalletError) || error.code !== 'fetch_failed') throw error;
}
