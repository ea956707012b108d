import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { type Address, getAddress, hashMessage, type Hex } from 'viem';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runScript, script } from '../../platform/redis/redis-scripts.js';
import { readAddress, readBytes } from '../../protocol/payment/wire-values.js';
import type { RecoverSigner } from '../../protocol/schemes/verdict.js';
import type { Assertion } from '../passkeys/passkey.js';
import { PasskeyOwners } from '../passkeys/passkey-owners.js';
import { RecordSeal } from '../seal/record-seal.js';
import { WalletError } from '../wallet-error.js';
import { nonceKey, tagOf } from '../wallet-keys.js';
import {
  RECOVER_WALLET_SIGNER,
  WALLET_CLOCK,
  WALLET_SETTINGS,
  type WalletClock,
} from '../wallet-tokens.js';
import { ContractOwners } from './contract-owners.js';

const NONCE_LIFE_SECONDS = 600;
/** Limit of a contract's signature: the owners of a multi-signature wallet or a passkey's answer, with a wrapper. */
export const SIGNATURE_MAX_BYTES = 8192;
/** The constant message of older clients. One such signature stays valid forever. */
export const LEGACY_MESSAGE = 'Login to Privy Proxy';

/** ARGV: key, the value it must have. */
const TAKE = script(
  'wallet_nonce_take',
  `if redis.call('GET', ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('DEL', ARGV[1])`,
);

export interface SignInMessage {
  readonly nonce: string;
  readonly message: string;
  /** Unix seconds. */
  readonly expiresAt: number;
}

interface SignedIn {
  readonly owner: Address;
  /** Unix seconds. */
  readonly askedAt: number;
}

export interface SignedMessage {
  readonly address: string;
  readonly message: string;
  readonly signature?: string;
  /** The passkey's answer, in place of a signature. */
  readonly assertion?: Assertion;
}

/** A signature, or the answer of a passkey. */
type Proof = Hex | { readonly assertion: Assertion };

/**
 * Proof of owning an address: a message of this service, in the form of EIP-4361, signed by
 * EIP-191. Each can be used once, for the one purpose its text names.
 */
@Injectable()
export class SignIn {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
    @Inject(RECOVER_WALLET_SIGNER) private readonly recoverSigner: RecoverSigner,
    private readonly contracts: ContractOwners,
    private readonly passkeys: PasskeyOwners,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'publicUrl'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /**
   * @param statement - the text that the owner agrees to by signing; one line.
   * @param request - the request it answers. Only the newest message of each request is open, so that many requests
   *   fill no memory.
   */
  async challenge(address: Address, statement: string, request?: string): Promise<SignInMessage> {
    const nonce = randomBytes(16).toString('hex');
    const { redis, seal, contracts, now } = this;
    const { publicUrl } = this.settings;
    const issuedAt = now();
    const expiresAt = issuedAt + NONCE_LIFE_SECONDS;
    const iso = (seconds: number): string => new Date(seconds * 1000).toISOString();
    const message = [
      `${new URL(publicUrl).host} wants you to sign in with your Ethereum account:`,
      getAddress(address),
      '',
      statement,
      '',
      `URI: ${publicUrl}`,
      'Version: 1',
      // The chain of an owner that is a contract; a key is valid on every chain.
      `Chain ID: ${contracts.chainId ?? 1}`,
      `Nonce: ${nonce}`,
      `Issued At: ${iso(issuedAt)}`,
      `Expiration Time: ${iso(expiresAt)}`,
    ].join('\n');
    const key = keyOf(nonce, request);
    const stored = redis.set(key, seal.seal(key, message), 'EX', NONCE_LIFE_SECONDS);
    await redisCall('wallet_nonce', stored);
    return { nonce, message, expiresAt };
  }

  /**
   * The address that signed a challenge of this service, and the time of the challenge. Uses up the challenge.
   *
   * @param statement - the text it must have been signed for.
   * @param request - the request it was made for.
   * @throws WalletError `unauthorized`.
   */
  async accept(signed: SignedMessage, statement: string, request?: string): Promise<SignedIn> {
    const { owner, message, proof } = readSigned(signed);
    const nonce = /^Nonce: ([0-9a-f]{32})$/m.exec(message)?.[1];
    const [, named, , agreedTo] = message.split('\n');
    // The message names the signer, who must be the one who signed.
    if (nonce === undefined || named !== getAddress(owner) || agreedTo !== statement) {
      throw refused();
    }
    const key = keyOf(nonce, request);
    if (!(await this.#isSigned(owner, message, proof, key))) throw refused();
    const { redis, seal, now } = this;
    const sealed = await redisCall('wallet_nonce', redis.get(key));
    const stored = sealed === null ? undefined : seal.open(key, sealed);
    // The message is authenticated and holds its own expiry, so write access to Redis cannot bring it back.
    const [issuedAt, expiresAt] = [
      timeIn(message, 'Issued At'),
      timeIn(message, 'Expiration Time'),
    ];
    if (sealed === null || stored !== message || !(now() < expiresAt)) throw refused();
    // Only one request can take it: a second one finds nothing, or a newer message.
    if ((await runScript(redis, TAKE, [key, sealed])) !== 1) throw refused();
    return { owner, askedAt: issuedAt };
  }

  /** The address whose key has signed a message with any text. Contracts sign no constant message. */
  signerOf(signed: SignedMessage): Address {
    const { owner, message, proof } = readSigned(signed);
    if (typeof proof !== 'string') throw refused();
    if (this.recoverSigner(hashMessage(message), proof) !== owner) throw refused();
    return owner;
  }

  /** By the owner's key, otherwise by its passkey or contract. Only open messages are checked. */
  async #isSigned(owner: Address, message: string, proof: Proof, key: string): Promise<boolean> {
    const { recoverSigner, contracts, passkeys, redis } = this;
    const digest = hashMessage(message);
    if (typeof proof === 'string' && recoverSigner(digest, proof) === owner) return true;
    const isAsked = typeof proof === 'string' ? contracts.chainId !== undefined : passkeys.isOn;
    if (!isAsked) return false;
    if ((await redisCall('wallet_nonce', redis.exists(key))) === 0) return false;
    const isSigned =
      typeof proof === 'string'
        ? contracts.isSignedBy(owner, digest, proof)
        : passkeys.isSignedBy(owner, message, proof.assertion);
    return isSigned;
  }
}

/**
 * The claimed signer, its message and its signature; nothing is verified yet.
 *
 * @throws WalletError `invalid_request`.
 */
export function readSigned({ address, message, signature, assertion }: SignedMessage): {
  readonly owner: Address;
  readonly message: string;
  readonly proof: Proof;
} {
  const owner = readAddress(address);
  const bytes = readBytes(signature, SIGNATURE_MAX_BYTES);
  const proof = assertion === undefined ? bytes : { assertion };
  if (owner === undefined || proof === undefined) {
    throw new WalletError('invalid_request', 'The body must have address, message and signature.');
  }
  return { owner, message, proof };
}

function keyOf(nonce: string, request: string | undefined): string {
  return nonceKey(request === undefined ? nonce : `for:${tagOf(request)}`);
}

/** Unix seconds of one line of a message; NaN where it is missing. */
function timeIn(message: string, name: string): number {
  const line = message.split('\n').find((one) => one.startsWith(`${name}: `));
  return Date.parse(line?.slice(name.length + 2) ?? '') / 1000;
}

function refused(): WalletError {
  return new WalletError(
    'unauthorized',
    'The signature is not by this address, or the signed message is unknown or expired.',
  );
}
