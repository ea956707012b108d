import {
  createHash,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import type { Assertion, Attestation } from '../../src/wallet/passkeys/passkey.js';

/** The user is present and verified. */
const [IS_VERIFIED, HAS_CREDENTIAL] = [0x05, 0x40] as const;

/** Makes passkeys and signs with them, as an authenticator and its browser do together, and says of them what it likes. */
export class TestAuthenticator {
  readonly #key: KeyObject;
  readonly #cose: Buffer;
  readonly #origin: string;
  readonly #rpIdHash: Buffer;

  /** @param id - of the credential, base64url. */
  constructor(
    site: string,
    readonly id = randomBytes(16).toString('base64url'),
  ) {
    const { hostname, origin } = new URL(site);
    this.#origin = origin;
    this.#rpIdHash = createHash('sha256').update(hostname).digest();
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    this.#key = privateKey;
    this.#cose = Buffer.concat([
      // {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}
      Buffer.from('a5010203262001215820', 'hex'),
      Buffer.from(x, 'base64url'),
      Buffer.from('225820', 'hex'),
      Buffer.from(y, 'base64url'),
    ]);
  }

  /** @param options - of the site. @param id - that is said to be the credential's. */
  make({ challenge }: Readonly<Record<string, unknown>>, id = this.id): Attestation {
    const raw = Buffer.from(id, 'base64url');
    const authData = Buffer.concat([
      this.#dataOf(IS_VERIFIED | HAS_CREDENTIAL),
      Buffer.alloc(16),
      Buffer.from([raw.length >> 8, raw.length & 0xff]),
      raw,
      this.#cose,
    ]);
    const attestation = Buffer.concat([
      // {"fmt": "none", "attStmt": {}, "authData": bytes}
      Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746159', 'hex'),
      Buffer.from([authData.length >> 8, authData.length & 0xff]),
      authData,
    ]);
    return {
      id,
      attestationObject: attestation.toString('base64url'),
      clientDataJSON: this.#clientData('webauthn.create', String(challenge)).toString('base64url'),
    };
  }

  /** @param message - that the page shows. */
  sign(message: string): Assertion {
    const challenge = createHash('sha256').update(message).digest('base64url');
    const clientData = this.#clientData('webauthn.get', challenge);
    const data = this.#dataOf(IS_VERIFIED);
    const hash = createHash('sha256').update(clientData).digest();
    const signature = createSign('sha256').update(data).update(hash).sign(this.#key);
    return {
      id: this.id,
      authenticatorData: data.toString('base64url'),
      clientDataJSON: clientData.toString('base64url'),
      signature: signature.toString('base64url'),
    };
  }

  /** It does not count how often it was used: 0. */
  #dataOf(flags: number): Buffer {
    return Buffer.concat([this.#rpIdHash, Buffer.from([flags]), Buffer.alloc(4)]);
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(
      JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false }),
    );
  }
}
