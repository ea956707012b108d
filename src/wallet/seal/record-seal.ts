import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { KeyRing, subkeyOf } from './key-ring.js';

const FORMAT = '1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals records that leave the process: reading, making or moving one requires the key. Format `1.<key id>.<base64url
 * of iv, ciphertext and tag>`; AES-256-GCM with a key for each context.
 *
 * A seal does not show whether a record is old. A record that must not be replaced by an older one
 * has a version in its text.
 */
@Injectable()
export class RecordSeal {
  readonly #keys: KeyRing;

  constructor(@Inject(WALLET_SETTINGS) { sealSecret }: Pick<WalletConfig, 'sealSecret'>) {
    this.#keys = new KeyRing(sealSecret, 'redis-records');
  }

  /** @param context - the kind and the owner of the record, which opens only in its own context. */
  seal(context: string, text: string): string {
    const { newest } = this.#keys;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', subkeyOf(newest, context), iv);
    const body = Buffer.concat([
      iv,
      cipher.update(text, 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return `${FORMAT}.${newest.id}.${body.toString('base64url')}`;
  }

  /** `undefined` for a text that was not sealed for this context by a known key. */
  open(context: string, sealed: string): string | undefined {
    const [format, id = '', text = '', ...rest] = sealed.split('.');
    const key = this.#keys.find(id);
    const body = Buffer.from(text, 'base64url');
    if (format !== FORMAT || rest.length > 0 || key === undefined) return undefined;
    if (body.length < IV_BYTES + TAG_BYTES) return undefined;
    const options = { authTagLength: TAG_BYTES };
    const iv = body.subarray(0, IV_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', subkeyOf(key, context), iv, options);
    decipher.setAuthTag(body.subarray(-TAG_BYTES));
    try {
      const opened = [decipher.update(body.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()];
      return Buffer.concat(opened).toString('utf8');
    } catch {
      return undefined;
    }
  }

  /** The same record under the newest key; unchanged if it has that key already, or cannot be opened. */
  renew(context: string, sealed: string): string {
    if (sealed.startsWith(`${FORMAT}.${this.#keys.newest.id}.`)) return sealed;
    const text = this.open(context, sealed);
    return text === undefined ? sealed : this.seal(context, text);
  }
}
