/** Asks the hub, by signatures of the owner's browser wallet where it wants them (docs/hub.md). */

import { Refusal, send, urlOf } from '../components/ask.js';
import {
  ANY_CONTENT,
  base64urlOf,
  DOMAIN_TYPE,
  LINK_TYPE,
  newNonce,
  REQUEST_TYPE,
  sha256Of,
  UPLOAD_TYPE,
} from './hub-messages.js';
import { browserWallet } from './signing.js';

const KEY_WANTED = 'This hub asks for an API key that it knows.';
/** Of a signature over a request, and of one over an upload. */
const SIGNED_SECONDS = 300;

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** What one owner asks of the hub. */
export class HubClient {
  #key;
  #isPublic;
  #address;

  /** @param isPublic - whether the hub answers everybody. */
  constructor(owner, key, isPublic) {
    this.owner = owner;
    this.#key = key;
    this.#isPublic = isPublic;
  }

  #headers(more) {
    return { ...(this.#key !== '' && { 'x-api-key': this.#key }), ...more };
  }

  /** @throws Refusal */
  async #send(method, url, { headers, body } = {}) {
    try {
      return await send(url, { method, headers: this.#headers(headers), body });
    } catch (error) {
      // A signature that is refused is refused with words of the hub's own.
      if (error instanceof Refusal && error.status === 401 && error.message === 'Unauthorized') {
        throw new Error(KEY_WANTED, { cause: error });
      }
      throw error;
    }
  }

  /** Has the owner sign typed data (EIP-712) for this hub. */
  async #signed(primaryType, fields, message) {
    if (this.#address === undefined) {
      const { Name } = await (await this.#send('GET', urlOf('api/info'))).json();
      if (!/^0x[0-9a-fA-F]{40}$/.test(Name))
        throw new Error('This hub has no address to sign for.');
      this.#address = Name;
    }
    const domain = { name: 'x402 file hub', version: '1', verifyingContract: this.#address };
    const types = { EIP712Domain: DOMAIN_TYPE, [primaryType]: fields };
    const params = [this.owner, JSON.stringify({ domain, types, primaryType, message })];
    return browserWallet.request({ method: 'eth_signTypedData_v4', params });
  }

  /** What everybody may ask, of any hub. */
  async open(what, query) {
    return (await this.#send('GET', urlOf(`api/${what}`, query))).json();
  }

  /** Asks about the owner's files; a public hub takes no signature for it. @returns the answer of `fetch`. */
  read(what, query = {}) {
    return this.#isPublic
      ? this.#send('GET', urlOf(`api/${what}`, { owner: this.owner, ...query }))
      : this.asOwner('GET', what, { query });
  }

  /** What only the owner may ask. @returns the answer of `fetch`. */
  async asOwner(method, what, { query = {}, fields } = {}) {
    const url = urlOf(`api/${what}`, { owner: this.owner, ...query });
    const body = fields && JSON.stringify({ owner: this.owner, ...fields });
    const proof = {
      owner: this.owner,
      bodySha256: await sha256Of(body),
      expiry: nowSeconds() + SIGNED_SECONDS,
    };
    const nonce = newNonce();
    const path = url.pathname + url.search;
    const signature = await this.#signed('HubRequest', REQUEST_TYPE, {
      method,
      path,
      ...proof,
      nonce,
    });
    const authorization = `Hub-EIP712 ${base64urlOf({ ...proof, nonce, signature })}`;
    return this.#send(method, url, { headers: { authorization }, body });
  }

  /** Stores a file under a name; it goes as it is, whatever its size. */
  async upload(file, name) {
    const issuedAt = nowSeconds();
    const type = /^[\w.+-]+\/[\w.+-]+$/.test(file.type) ? file.type.toLowerCase() : '';
    const link = {
      owner: this.owner,
      name,
      maxBytes: file.size,
      contentType: type,
      sha256: ANY_CONTENT,
      issuedAt,
      until: issuedAt + SIGNED_SECONDS,
      nonce: newNonce(),
    };
    const signature = await this.#signed('HubUpload', UPLOAD_TYPE, link);
    const url = urlOf('api/incoming', { link: base64urlOf({ ...link, signature }) });
    const headers = type === '' ? {} : { 'content-type': type };
    return (await this.#send('PUT', url, { headers, body: file })).json();
  }

  /** @returns a link that opens whatever stands under a name, as it stands in an address. */
  async share(name, { seconds, once }) {
    const issuedAt = nowSeconds();
    const until = issuedAt + seconds;
    const { owner } = this;
    const link = { owner, name, sha256: ANY_CONTENT, issuedAt, until, once, nonce: newNonce() };
    const signature = await this.#signed('HubLink', LINK_TYPE, link);
    return { link: base64urlOf({ ...link, signature }), until };
  }
}
