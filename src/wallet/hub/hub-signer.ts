import { createHash, randomBytes } from 'node:crypto';
import type { Address, Hex } from 'viem';
import { STRICT_SCHEME } from '../../protocol/hub/hub-messages.js';
import type { TypedData } from '../rules/spending.js';
import { withDigest } from '../rules/typed-data-digest.js';
import type { Session } from '../session.js';
import type { Authorizer } from '../signing/authorizer.js';
import type { WalletSigner } from '../signing/signer.js';
import { tagOf } from '../wallet-keys.js';
import { requestMessage, shareMessage, uploadMessage } from './hub-message.js';
import { tokenFamily } from './link-family.js';

/** A request is sent at once, but the clocks of two machines may differ. */
const REQUEST_SECONDS = 120;

export interface HubRequest {
  readonly method: 'GET' | 'HEAD' | 'DELETE';
  /** With the query, as sent. */
  readonly path: string;
  /** Whether it only revokes rights of others: a stopped wallet signs that too. */
  readonly isEnding?: boolean;
}

/** The rights and the lifetime of a link. */
interface Wanted {
  readonly name: string;
  /** Hex without `0x`; absent for any content. */
  readonly sha256?: string | undefined;
  readonly seconds: number;
}

interface WantedShare extends Wanted {
  readonly once: boolean;
}

interface WantedUpload extends Wanted {
  readonly maxBytes: number;
  /** A media type without parameters; empty for any. */
  readonly contentType: string;
}

/** The signed part of a link's URL. */
interface SignedLink {
  readonly text: string;
  /** Unix seconds. */
  readonly until: number;
}

/**
 * Signs for the owner of the files, which is the wallet's own address. This class makes every message, in a domain that
 * moves no money; callers choose no text of it.
 */
export class HubSigner {
  constructor(
    private readonly authorizer: Pick<Authorizer, 'admit'>,
    private readonly signer: Pick<WalletSigner, 'signAuthorized'>,
    /** The address of the hub. */
    private readonly hub: Address,
    /** Unix seconds. */
    private readonly now: () => number,
  ) {}

  /**
   * The value of `Authorization` for one request without a body.
   *
   * @throws WalletError `policy_violation` for a deletion, if the owner has stopped the wallet.
   */
  async request(session: Session, { method, path, isEnding = false }: HubRequest): Promise<string> {
    const owner = session.wallet.address;
    const bodySha256 = SHA256_OF_NOTHING;
    const [expiry, nonce] = [this.now() + REQUEST_SECONDS, newNonce()];
    const terms = { owner, method, path, bodySha256, expiry, nonce };
    const message = requestMessage(this.hub, terms);
    const signature = await this.#sign(
      session,
      message,
      'hub_request',
      method !== 'DELETE' || isEnding,
    );
    return `${STRICT_SCHEME} ${base64url({ owner, bodySha256, expiry, nonce, signature })}`;
  }

  /** @throws WalletError `policy_violation` if the owner has stopped the wallet. */
  share(session: Session, { once, ...wanted }: WantedShare): Promise<SignedLink> {
    const terms = { ...this.#termsOf(session, wanted), once };
    return this.#link(session, terms, shareMessage(this.hub, terms));
  }

  /** @throws WalletError `policy_violation` if the owner has stopped the wallet. */
  upload(session: Session, wanted: WantedUpload): Promise<SignedLink> {
    const { maxBytes, contentType } = wanted;
    const terms = { ...this.#termsOf(session, wanted), maxBytes, contentType };
    return this.#link(session, terms, uploadMessage(this.hub, terms));
  }

  #termsOf(session: Session, { name, sha256, seconds }: Wanted) {
    const owner = session.wallet.address;
    const issuedAt = this.now();
    const content: Hex = `0x${sha256 ?? '00'.repeat(32)}`;
    const until = issuedAt + seconds;
    const nonce: Hex = `${tokenFamily(session)}${randomBytes(16).toString('hex')}`;
    return { owner, name, sha256: content, issuedAt, until, nonce };
  }

  async #link(
    session: Session,
    terms: { readonly until: number },
    message: TypedData,
  ): Promise<SignedLink> {
    const signature = await this.#sign(session, message, 'hub_link', false);
    return { text: base64url({ ...terms, signature }), until: terms.until };
  }

  async #sign(
    session: Session,
    message: TypedData,
    what: 'hub_request' | 'hub_link',
    isReading: boolean,
  ): Promise<Hex> {
    const typedData = withDigest(message);
    const digest = typedData.digest ?? '0x';
    await this.authorizer.admit(session, { what, digest, isReading });
    return this.signer.signAuthorized(session, typedData, tagOf(digest));
  }
}

const SHA256_OF_NOTHING: Hex = `0x${createHash('sha256').digest('hex')}`;

function newNonce(): Hex {
  return `0x${randomBytes(32).toString('hex')}`;
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
