import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { type Address, getAddress, hashMessage } from 'viem';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { readAddress, readBytes } from '../../protocol/payment/wire-values.js';
import type { RecoverSigner } from '../../protocol/schemes/verdict.js';
import type { RecordSeal } from '../seal/record-seal.js';
import { WalletError } from '../wallet-error.js';
import { nonceKey } from '../wallet-keys.js';

const NONCE_LIFE_SECONDS = 600;
/** The constant message of older clients: whoever has seen one such signature has it for good. */
export const LEGACY_MESSAGE = 'Login to Privy Proxy';

export interface SignInMessage {
  readonly nonce: string;
  readonly message: string;
  /** Unix seconds. */
  readonly expiresAt: number;
}

export interface SignedIn {
  readonly owner: Address;
  /** Unix seconds. */
  readonly askedAt: number;
}

export interface SignedMessage {
  readonly address: unknown;
  readonly message: unknown;
  readonly signature: unknown;
}

/**
 * Proof of owning an address: a message of ours, in the form of EIP-4361, signed by EIP-191. Each can
 * be used once, for the one purpose its text names.
 */
export class SignIn {
  constructor(
    private readonly redis: Redis,
    private readonly seal: RecordSeal,
    private readonly recoverSigner: RecoverSigner,
    private readonly publicUrl: string,
    private readonly now: () => number,
  ) {}

  /** @param statement - what the owner agrees to by signing; one line. */
  async challenge(address: Address, statement: string): Promise<SignInMessage> {
    const nonce = randomBytes(16).toString('hex');
    const issuedAt = this.now();
    const expiresAt = issuedAt + NONCE_LIFE_SECONDS;
    const iso = (seconds: number): string => new Date(seconds * 1000).toISOString();
    const message = [
      `${new URL(this.publicUrl).host} wants you to sign in with your Ethereum account:`,
      getAddress(address),
      '',
      statement,
      '',
      `URI: ${this.publicUrl}`,
      'Version: 1',
      'Chain ID: 1',
      `Nonce: ${nonce}`,
      `Issued At: ${iso(issuedAt)}`,
      `Expiration Time: ${iso(expiresAt)}`,
    ].join('\n');
    const sealed = this.seal.seal(nonceKey(nonce), message);
    const stored = this.redis.set(nonceKey(nonce), sealed, 'EX', NONCE_LIFE_SECONDS);
    await redisCall('wallet_nonce', stored);
    return { nonce, message, expiresAt };
  }

  /**
   * The address that signed a challenge of ours, which is used up by that, and when it asked for it.
   *
   * @param statement - what it must have been signed for.
   * @throws WalletError `unauthorized`.
   */
  async accept(signed: SignedMessage, statement: string): Promise<SignedIn> {
    const address = this.signerOf(signed);
    const message = String(signed.message);
    const nonce = /^Nonce: ([0-9a-f]{32})$/m.exec(message)?.[1];
    const [, named, , agreedTo] = message.split('\n');
    // The message says who signs in: it must be whoever signed.
    if (nonce === undefined || named !== getAddress(address) || agreedTo !== statement) {
      throw refused();
    }
    // Taken and gone in one step: a second use finds nothing.
    const sealed = await redisCall('wallet_nonce', this.redis.getdel(nonceKey(nonce)));
    const stored = sealed === null ? undefined : this.seal.open(nonceKey(nonce), sealed);
    // The message is ours, and says itself until when: who can write to Redis cannot bring it back.
    const [issuedAt, expiresAt] = [
      timeIn(message, 'Issued At'),
      timeIn(message, 'Expiration Time'),
    ];
    if (stored !== message || !(this.now() < expiresAt)) throw refused();
    return { owner: address, askedAt: issuedAt };
  }

  /** The address of a signed message, whatever its text is. */
  signerOf({ address, message, signature }: SignedMessage): Address {
    const claimed = readAddress(address);
    const bytes = readBytes(signature);
    if (claimed === undefined || bytes === undefined || typeof message !== 'string') {
      throw new WalletError('invalid_request', 'address, message and signature are expected.');
    }
    if (this.recoverSigner(hashMessage(message), bytes) !== claimed) throw refused();
    return claimed;
  }
}

/** Unix seconds of one line of a message; not a number where there is none. */
function timeIn(message: string, name: string): number {
  const line = message.split('\n').find((one) => one.startsWith(`${name}: `));
  return Date.parse(line?.slice(name.length + 2) ?? '') / 1000;
}

function refused(): WalletError {
  return new WalletError(
    'unauthorized',
    'The signature is not of this address and a message that is open.',
  );
}
