import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import type { Service } from '../../sandbox/service.js';
import { Secret } from '../../src/platform/config/secret.js';
import { Keystore } from '../../src/wallet/provider/local/keystore.js';
import { type Answer, post } from '../support/http.js';
import { newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

export const ADMIN_KEY = 'an-operator-key-of-at-least-32-characters';

type Settings = Readonly<Record<string, string>>;

/** A service with the wallet switched on, and owners that sign in to it. */
export class WalletWorld {
  private constructor(
    readonly world: World,
    private current: Service,
    /** Keystore and journal live here. */
    readonly dir: string,
    private readonly settings: Readonly<Record<string, string>>,
  ) {}

  /**
   * @param more - settings, or what makes them once Redis and chain are there.
   * @param port - for a service that has to be where its settings say.
   */
  static async start(
    more: Settings | ((world: World) => Promise<Settings>) = {},
    chainId?: number,
    port?: number,
  ): Promise<WalletWorld> {
    const world = await World.start({ blockTime: 0.3, ...(chainId !== undefined && { chainId }) });
    const dir = await mkdtemp(join(tmpdir(), 'wallet-'));
    const settings = {
      ROLES: 'api,worker,wallet',
      ...WalletWorld.settingsOf(world, dir),
      ...(typeof more === 'function' ? await more(world) : more),
    };
    const service = await world.service(settings, port);
    return new WalletWorld(world, service, dir, settings);
  }

  /** Around a service that has the wallet among other things, and ends with its own world. */
  static around(world: World, service: Service): WalletWorld {
    return new WalletWorld(world, service, '', {});
  }

  /** The settings of a wallet in a world, its folders in `dir`. */
  static settingsOf(world: World, dir: string): Record<string, string> {
    return {
      WALLET_PROVIDER: 'local',
      WALLET_PUBLIC_URL: 'http://wallet.example',
      WALLET_TOKEN_SECRET: 'a-token-secret-of-at-least-32-characters',
      WALLET_SEAL_SECRET: 'a-seal-secret-of-at-least-32-characters-',
      WALLET_KEYSTORE_SECRET: 'a-keystore-secret-of-at-least-32-characters',
      WALLET_ADMIN_KEYS: ADMIN_KEY,
      WALLET_KEYSTORE_DIR: join(dir, 'keys'),
      WALLET_AUDIT_DIR: join(dir, 'audit'),
      WALLET_ASSETS: [
        `eip155:${world.chainId}/${world.usd}=SUSD:18:${USD_NAME}:${USD_VERSION}`,
        `eip155:${world.chainId}/${world.coin}=SCOIN:18`,
      ].join(','),
      WALLET_FETCH_ALLOW: '127.0.0.1',
      WALLET_RATE_LIMIT: '10000',
    };
  }

  /** The private key of an owner's wallet, for tests that look for it where it must not be. */
  async keyOf(owner: Address): Promise<string> {
    const secret = this.settings['WALLET_KEYSTORE_SECRET'] ?? '';
    const current = new Secret(secret);
    const keystore = new Keystore(join(this.dir, 'keys'), { current, previous: undefined });
    const unlocked = await keystore.unlock(`owner:${owner.toLowerCase()}`);
    if (unlocked === undefined) throw new Error('this owner has no wallet');
    return unlocked.key.reveal();
  }

  /** Redis loses everything it has. */
  async flush(): Promise<void> {
    const redis = new Redis(this.world.redis.url);
    await redis.flushall();
    redis.disconnect();
  }

  /** Whether a text is in what the wallet keeps in Redis: in a name, or in a value that is one text. */
  async holdsInRedis(text: string): Promise<boolean> {
    const redis = new Redis(this.world.redis.url);
    const keys = await redis.keys('x402:wl:*');
    const values = await Promise.all(keys.map((key) => redis.get(key).catch(() => '')));
    redis.disconnect();
    return [...keys, ...values].some((one) => one?.includes(text));
  }

  /** Takes the journal away, as a lost disk would; gives what brings it back. */
  async hideJournal(): Promise<() => Promise<void>> {
    const [audit, hidden] = [join(this.dir, 'audit'), join(this.dir, 'hidden')];
    await rename(audit, hidden);
    await mkdir(audit);
    return async () => {
      await rm(audit, { recursive: true });
      await rename(hidden, audit);
    };
  }

  get url(): string {
    return this.service.url;
  }

  get opsUrl(): string {
    return this.service.opsUrl;
  }

  get service(): Service {
    return this.current;
  }

  /** Another process in the place of the one that has ended. */
  async restart(): Promise<void> {
    this.current = await this.another();
  }

  /** The service of the same settings, started again beside or after the first. */
  another(more: Readonly<Record<string, string>> = {}): Promise<Service> {
    return this.world.service({ ...this.settings, ...more });
  }

  async stop(): Promise<void> {
    await this.world.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  post(path: string, body: unknown, token?: string, key?: string): Promise<Answer> {
    return post(`${this.url}${path}`, body, {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(key !== undefined && { 'idempotency-key': key }),
    });
  }

  async send(method: string, path: string, token?: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answered = (await response.json()) as Answer['body'];
    return { status: response.status, body: answered, headers: response.headers };
  }

  /** The owner's own token. */
  async signIn(owner: PrivateKeyAccount): Promise<string> {
    const { body } = await this.post('/v1/login', await this.signedLogin(owner));
    return String(body['token']);
  }

  async signedLogin(owner: PrivateKeyAccount): Promise<Record<string, string>> {
    const asked = await this.post('/v1/login/nonce', { address: owner.address });
    return signed(owner, String(asked.body['message']));
  }

  /** A token for an agent, the way the page gets it: code, rules, signature, approval. */
  async agentOf(owner: PrivateKeyAccount): Promise<string> {
    const { body } = await this.post('/v1/init', 'true');
    await this.approve(String(body['user_code']), owner);
    const status = await this.send('GET', `/v1/status?code=${String(body['code'])}`);
    return String(status.body['token']);
  }

  /** @param code - the user code. */
  async approve(code: string, owner: PrivateKeyAccount): Promise<Answer> {
    const asked = await this.post('/v1/approve/nonce', { code, address: owner.address });
    const message = String(asked.body['message']);
    return this.post('/v1/approve', { code, ...(await signed(owner, message)) });
  }

  /** A new owner with a funded wallet. */
  async fundedWallet(balance = 10n ** 24n): Promise<{
    readonly owner: PrivateKeyAccount;
    readonly ownerToken: string;
    readonly agent: string;
    readonly address: Address;
  }> {
    const owner = newAccount();
    const [ownerToken, agent] = [await this.signIn(owner), await this.agentOf(owner)];
    const { body } = await this.send('GET', '/v1/wallets/me', agent);
    const address = body['ethereum'] as Address;
    await this.world.fund(address, balance);
    return { owner, ownerToken, agent, address };
  }

  /** Rules as an owner writes them; limits in whole tokens of the sandbox dollar. */
  rules(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    const asset = `eip155:${this.world.chainId}/${this.world.usd}`;
    const limit = { asset, perPayment: `${10n ** 18n}`, budget: `${10n * 10n ** 18n}` };
    return { limits: [limit], ...more };
  }
}

export async function signed(
  owner: PrivateKeyAccount,
  message: string,
): Promise<Record<string, string>> {
  return { address: owner.address, message, signature: await owner.signMessage({ message }) };
}
