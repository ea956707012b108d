import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { secp256k1 } from '@noble/curves/secp256k1';
import type { Address, Hex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';

/**
 * The behaviour in place of an answer. `hangs`: nothing, ever. `lies`: the signature of another
 * key.
 */
type KeyServiceMood = 'well' | 'throttles' | 'fails' | 'refuses' | 'hangs' | 'lies';

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const SPKI_HEAD = '3056301006072a8648ce3d020106052b8104000a034200';
const OTHER_KEY = '33'.repeat(32);

/**
 * As much of AWS KMS (JSON 1.1: `TrentService.Sign`, `TrentService.GetPublicKey`) and of Google Cloud KMS
 * (REST: `asymmetricSign`, `publicKey`) as lanes use, written from their documentation. It keeps keys by
 * name, gives either half of `s`, and never the same signature twice. It checks no credentials, and is no
 * proof of how a real service behaves.
 */
export class KeyServiceFixture {
  readonly #keys = new Map<string, Hex>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  mood: KeyServiceMood = 'well';
  /** How many of a hundred signatures are throttled while it is well. */
  throttledPercent = 0;
  /** Milliseconds from a signature until it is answered. */
  latencyMs = 0;
  signatures = 0;
  throttled = 0;
  #asked = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<KeyServiceFixture> {
    const server = createServer((request, response) => void fixture.#serve(request, response));
    const fixture = new KeyServiceFixture(server);
    server.on('connection', (socket) => {
      fixture.#sockets.add(socket);
      socket.once('close', () => fixture.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return fixture;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Takes a key in under a name. @returns the address of its account. */
  keep(name: string, key: Hex): Address {
    this.#keys.set(name, key);
    return privateKeyToAddress(key);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    if (this.mood === 'hangs') return;
    const target = request.headers['x-amz-target'];
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const { status, body: answer } =
      target === undefined
        ? this.#gcp(request.url ?? '', body)
        : this.#aws(target.toString(), body);
    if (this.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, this.latencyMs));
    response.writeHead(status, {
      'content-type': target === undefined ? 'application/json' : 'application/x-amz-json-1.1',
    });
    response.end(JSON.stringify(answer));
  }

  /** Its present fault, for a signature. */
  get #trouble(): Exclude<KeyServiceMood, 'well' | 'hangs' | 'lies'> | undefined {
    this.#asked += 1;
    const { mood } = this;
    if (mood === 'throttles' || (this.#asked * 37) % 100 < this.throttledPercent) {
      this.throttled += 1;
      return 'throttles';
    }
    return mood === 'fails' || mood === 'refuses' ? mood : undefined;
  }

  #signatureBy(key: Hex, digest: Buffer): string {
    this.signatures += 1;
    const by = this.mood === 'lies' ? OTHER_KEY : key.slice(2);
    const extraEntropy = true;
    const signature = secp256k1.sign(digest, by, { lowS: false, extraEntropy });
    return Buffer.from(signature.toDERRawBytes()).toString('base64');
  }

  #spkiOf(key: Hex): Buffer {
    const point = secp256k1.getPublicKey(key.slice(2), false);
    return Buffer.concat([Buffer.from(SPKI_HEAD, 'hex'), point]);
  }

  #aws(target: string, body: Record<string, unknown>): Answer {
    const fault = (status: number, type: string): Answer => ({ status, body: { __type: type } });
    const key = this.#keys.get(String(body['KeyId']));
    if (key === undefined) return fault(400, 'NotFoundException');
    if (target === 'TrentService.GetPublicKey') {
      const PublicKey = this.#spkiOf(key).toString('base64');
      return { status: 200, body: { KeySpec: 'ECC_SECG_P256K1', PublicKey } };
    }
    const digest = Buffer.from(String(body['Message']), 'base64');
    const isAsked =
      target === 'TrentService.Sign' &&
      body['MessageType'] === 'DIGEST' &&
      body['SigningAlgorithm'] === 'ECDSA_SHA_256' &&
      digest.length === 32;
    if (!isAsked) return fault(400, 'ValidationException');
    const trouble = this.#trouble;
    if (trouble === 'throttles') return fault(400, 'ThrottlingException');
    if (trouble === 'fails') return fault(500, 'KMSInternalException');
    if (trouble === 'refuses') return fault(400, 'AccessDeniedException');
    return { status: 200, body: { Signature: this.#signatureBy(key, digest) } };
  }

  #gcp(url: string, body: Record<string, unknown>): Answer {
    const fault = (status: number, name: string): Answer => ({
      status,
      body: { error: { code: status, status: name, message: 'not told' } },
    });
    const path = decodeURIComponent(url.split('?')[0] ?? '').replace(/^\/v1\//, '');
    const [, name = '', what = ''] = /^(.+?)(\/publicKey|:asymmetricSign)$/.exec(path) ?? [];
    const key = this.#keys.get(name);
    if (key === undefined) return fault(404, 'NOT_FOUND');
    if (what === '/publicKey') {
      const lines =
        this.#spkiOf(key)
          .toString('base64')
          .match(/.{1,64}/g) ?? [];
      const pem = ['-----BEGIN PUBLIC KEY-----', ...lines, '-----END PUBLIC KEY-----', ''];
      return { status: 200, body: { name: path, pem: pem.join('\n') } };
    }
    const { sha256 } = (body['digest'] ?? {}) as { readonly sha256?: string };
    const digest = Buffer.from(sha256 ?? '', 'base64');
    if (digest.length !== 32) return fault(400, 'INVALID_ARGUMENT');
    const trouble = this.#trouble;
    if (trouble === 'throttles') return fault(429, 'RESOURCE_EXHAUSTED');
    if (trouble === 'fails') return fault(503, 'UNAVAILABLE');
    if (trouble === 'refuses') return fault(403, 'PERMISSION_DENIED');
    return { status: 200, body: { name, signature: this.#signatureBy(key, digest) } };
  }
}
