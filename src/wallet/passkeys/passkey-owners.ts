import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { FacilitatorError } from '../../protocol/errors.js';
import { Journal } from '../audit/journal.js';
import { WalletRestorer } from '../budget/rebuild.js';
import { RecordSeal } from '../seal/record-seal.js';
import { WalletError } from '../wallet-error.js';
import { nonceKey } from '../wallet-keys.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import type { WalletPasskeyOptions } from './dto/passkey.response.js';
import { type Assertion, type Attestation, ownerOfPoint, type StoredPasskey } from './passkey.js';
import { type KnownPasskey, PasskeyStore } from './passkey-store.js';

const REGISTRATION_SECONDS = 600;
/** How long a new passkey may wait for its first use. */
const UNUSED_SECONDS = 3600;
/** ES256: ECDSA on P-256 with SHA-256 (RFC 9053). Every platform has it. */
const ES256 = -7;

/**
 * Owners without a browser wallet: a passkey (WebAuthn) made for this site is an owner. It signs the same messages as a
 * key on secp256k1, with the SHA-256 of the message as its challenge.
 *
 * The library is loaded only where it is used.
 */
@Injectable()
export class PasskeyOwners {
  /** Whether owners may be passkeys. */
  readonly isOn: boolean;
  readonly #rpId: string;
  readonly #origin: string;

  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
    private readonly store: PasskeyStore,
    @Inject(Journal) private readonly journal: Pick<Journal, 'append'>,
    @Inject(WalletRestorer) private readonly restorer: Pick<WalletRestorer, 'restoreAll'>,
    @Inject(WALLET_SETTINGS)
    { publicUrl, hasPasskeys }: Pick<WalletConfig, 'publicUrl' | 'hasPasskeys'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {
    const { hostname, origin } = new URL(publicUrl);
    this.isOn = hasPasskeys;
    this.#rpId = hostname;
    this.#origin = origin;
  }

  /**
   * The options of `navigator.credentials.create`, as JSON. Nothing in them identifies the caller.
   */
  async options(): Promise<WalletPasskeyOptions & Readonly<Record<string, unknown>>> {
    const challenge = randomBytes(32).toString('base64url');
    const key = registrationKey(challenge);
    const record = this.seal.seal(key, String(this.now() + REGISTRATION_SECONDS));
    const stored = this.redis.set(key, record, 'EX', REGISTRATION_SECONDS);
    await redisCall('wallet_nonce', stored);
    return {
      challenge,
      rp: { id: this.#rpId, name: `x402 wallet at ${this.#rpId}` },
      user: {
        id: randomBytes(16).toString('base64url'),
        name: 'wallet owner',
        displayName: 'Wallet owner',
      },
      pubKeyCredParams: [{ type: 'public-key', alg: ES256 }],
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    };
  }

  /**
   * Accepts a new passkey; a known one stays unchanged. Anybody can make passkeys, so the journal records one only
   * after its first signature. A credential belongs to one owner, as section 7.1 of WebAuthn requires, and an owner has
   * one credential; a conflicting one is refused while the person is present to make another.
   *
   * @returns its owner.
   * @throws WalletError `unauthorized`; `conflict` for a credential or a key that belongs to another owner.
   */
  async register(made: Attestation): Promise<Address> {
    const { owner, passkey } = await this.#read(made);
    const known = await this.#find(owner);
    const isOwn =
      known === undefined
        ? await this.store.propose(owner, passkey, UNUSED_SECONDS)
        : known.passkey.id === passkey.id;
    if (!isOwn) throw taken();
    return owner;
  }

  /** The owner of a passkey that a browser has found. @throws WalletError `not_found`. */
  async ownerOf(credentialId: string): Promise<Address> {
    const { store, restorer } = this;
    const known = await store.ownerOf(credentialId);
    if (known !== undefined) return known;
    if (!(await store.isRestored())) await restorer.restoreAll();
    const restored = await store.ownerOf(credentialId);
    if (restored !== undefined) return restored;
    throw new WalletError('not_found', 'This passkey is not registered here.');
  }

  /** Whether the owner's passkey has signed this message, on this site, with user verification. */
  async isSignedBy(owner: Address, message: string, answered: Assertion): Promise<boolean> {
    const { id, ...response } = answered;
    const known = await this.#find(owner);
    const passkey = known?.passkey ?? (await this.store.proposed(owner, id));
    if (passkey?.id !== id) return false;
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const publicKey = bytesOf(passkey.publicKey);
    // The key determines its owner, wherever the record was found.
    if ((await ownerOfKey(publicKey)) !== owner) return false;
    try {
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: {
          id,
          rawId: id,
          type: 'public-key',
          response,
          clientExtensionResults: {},
        },
        expectedChallenge: challengeOf(message),
        expectedOrigin: this.#origin,
        expectedRPID: this.#rpId,
        // The signature counter is compared in Redis, in one step.
        credential: { id, publicKey, counter: 0 },
        requireUserVerification: true,
      });
      if (!verified) return false;
      if (known?.isJournaled !== true && !(await this.#keep(owner, passkey))) return false;
      return await this.store.count(owner, authenticationInfo.newCounter);
    } catch (error) {
      // The library throws other errors where it could not read a stranger's data.
      if (error instanceof FacilitatorError) throw error;
      return false;
    }
  }

  /**
   * Stores it permanently after its first signature. Redis has it first, marked as missing in the journal: if the
   * process ends between the two steps, the passkey is valid, and its next use writes it to the journal.
   *
   * @returns false where the credential belongs to another owner now; the journal then does not record it.
   */
  async #keep(owner: Address, passkey: StoredPasskey): Promise<boolean> {
    const { journal, store, now } = this;
    if (!(await store.keep(owner, passkey))) return false;
    await journal.append({ event: 'passkey_added', at: now(), owner, passkey });
    await store.noteJournaled(owner);
    return true;
  }

  async #find(owner: Address): Promise<KnownPasskey | undefined> {
    const { store, restorer } = this;
    const known = await store.of(owner);
    if (known !== undefined || (await store.isRestored())) return known;
    await restorer.restoreAll();
    return store.of(owner);
  }

  async #read(
    made: Attestation,
  ): Promise<{ readonly owner: Address; readonly passkey: StoredPasskey }> {
    const [{ verifyRegistrationResponse }, { decodeAttestationObject }] = await Promise.all([
      import('@simplewebauthn/server'),
      import('@simplewebauthn/server/helpers'),
    ]);
    const { id, ...response } = made;
    try {
      // Certificates of makers prove nothing here, so none is read.
      const statement = decodeAttestationObject(bytesOf(made.attestationObject)).get('attStmt');
      if (statement.get('x5c') !== undefined) throw refused();
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response: {
          id,
          rawId: id,
          type: 'public-key',
          response,
          clientExtensionResults: {},
        },
        expectedChallenge: (challenge) => this.#takeChallenge(challenge),
        expectedOrigin: this.#origin,
        expectedRPID: this.#rpId,
        requireUserVerification: true,
        supportedAlgorithmIDs: [ES256],
      });
      if (!verified) throw refused();
      const { credential } = registrationInfo;
      const owner = await ownerOfKey(credential.publicKey);
      if (owner === undefined) throw refused();
      const publicKey = Buffer.from(credential.publicKey).toString('base64url');
      return { owner, passkey: { id: credential.id, publicKey, counter: credential.counter } };
    } catch (error) {
      throw error instanceof FacilitatorError ? error : refused();
    }
  }

  /** Each challenge is valid once. */
  async #takeChallenge(challenge: string): Promise<boolean> {
    if (!/^[\w-]{43}$/.test(challenge)) return false;
    const key = registrationKey(challenge);
    const sealed = await redisCall('wallet_nonce', this.redis.getdel(key));
    const until = sealed === null ? undefined : this.seal.open(key, sealed);
    return until !== undefined && Number(until) > this.now();
  }
}

/** `undefined` for a key that is not on P-256. */
async function ownerOfKey(cose: Uint8Array<ArrayBuffer>): Promise<Address | undefined> {
  const { decodeCredentialPublicKey, cose: names } = await import('@simplewebauthn/server/helpers');
  const key = decodeCredentialPublicKey(cose);
  if (!names.isCOSEPublicKeyEC2(key) || key.get(names.COSEKEYS.crv) !== names.COSECRV.P256) {
    return undefined;
  }
  const [x, y] = [key.get(names.COSEKEYS.x), key.get(names.COSEKEYS.y)];
  return x === undefined || y === undefined ? undefined : ownerOfPoint(x, y);
}

/**
 * The challenge that a passkey signs for a message: its SHA-256, base64url. The page computes it from the text that it
 * shows.
 */
function challengeOf(message: string): string {
  return createHash('sha256').update(message).digest('base64url');
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, 'base64url'));
}

function registrationKey(challenge: string): string {
  return nonceKey(`passkey:${challenge}`);
}

function refused(): WalletError {
  return new WalletError(
    'unauthorized',
    'The passkey was not made for this request and this site.',
  );
}

function taken(): WalletError {
  return new WalletError(
    'conflict',
    'This passkey is registered with another key. Make a new passkey.',
  );
}
