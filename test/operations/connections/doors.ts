import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PrivateKeyAccount } from 'viem/accounts';
import { type SandboxPostgres, startPostgres } from '../../../sandbox/postgres.js';
import { freePort } from '../../../sandbox/processes.js';
import type { Service } from '../../../sandbox/service.js';
import { type GivenHeaders, Hub, HUB_ADDRESS } from '../../support/hub-world.js';
import { eip3009Body, newAccount } from '../../support/payments.js';
import { personalSignature } from '../../support/personal-signature.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { shareLinkOf } from '../../support/share-link.js';
import { uploadLinkOf } from '../../support/upload-link.js';
import { World } from '../../support/world.js';
import { WalletWorld } from '../../wallet/wallet-world.js';
import { aForm, aRequest, chunked, EVERYTHING, KEY_HEADER, someBody } from './requests.js';

const MIB = 1_048_576;
/** More than the buffers of a connection take. */
const FILM_BYTES = 6 * MIB;
const QUOTA_BYTES = 16 * MIB;
const TEXTS = 100;
/** The film, the texts, a note, a form, what comes by links. */
const NAMES = TEXTS + 4;
const PAYMENTS = 10;
const ZEROS = Buffer.alloc(2 * MIB);

/** A door of the service, and something that is asked of it. */
export interface Door {
  /** As the metrics name it. */
  readonly route: string;
  readonly isForOperators?: true;
  readonly ask: (random: SeededRandom) => Buffer;
}

/** A service with all roles, whose every door can be asked. */
export class Doors {
  readonly #owner = newAccount();
  #service: Service | undefined;
  #payer: PrivateKeyAccount | undefined;
  #token = '';
  #shareLink = '';

  private constructor(
    readonly world: World,
    private readonly postgres: SandboxPostgres,
    private readonly dir: string,
  ) {}

  static async open(): Promise<Doors> {
    const [world, postgres] = await Promise.all([World.start({ blockTime: 0.3 }), startPostgres()]);
    const doors = new Doors(world, postgres, mkdtempSync(join(tmpdir(), 'x402-doors-')));
    try {
      await doors.#start();
      return doors;
    } catch (error) {
      await doors.close();
      throw error;
    }
  }

  async #start(): Promise<void> {
    const { world, postgres, dir } = this;
    const port = await freePort();
    // The operator page is there where there are keys.
    const keys = join(dir, 'keys.json');
    writeFileSync(keys, JSON.stringify({ version: 1, keys: [EVERYTHING.record] }));
    const settings = {
      API_KEYS_FILE: keys,
      ...WalletWorld.settingsOf(world, dir),
      ROLES: 'all',
      DATABASE_URL: postgres.url,
      TRUST_PROXY: '1',
      LOG_LEVEL: 'warn',
      NODE_OPTIONS: '--inspect=127.0.0.1:0',
      HUB_DATA_DIR: join(dir, 'hub'),
      HUB_ADDRESS,
      HUB_MODE: 'private',
      HUB_AUTH: 'compatible',
      HUB_QUOTA_BYTES: String(QUOTA_BYTES),
      // With one that is not there yet.
      HUB_MAX_OBJECTS: String(NAMES + 1),
      RATE_LIMIT_HUB: '0',
      WALLET_OAUTH: 'true',
      WALLET_PUBLIC_URL: `http://127.0.0.1:${port}`,
      WALLET_RATE_LIMIT: '100000',
    };
    this.#service = await world.service(settings, port);
    const { agent } = await WalletWorld.around(world, this.#service).fundedWallet();
    this.#token = agent;
    this.#payer = await world.payer();
    this.#shareLink = await shareLinkOf(this.#owner, 'film');
    await this.#fill();
  }

  async close(): Promise<void> {
    await this.world.stop();
    await this.postgres.stop('SIGKILL');
    rmSync(this.dir, { recursive: true, force: true });
  }

  get service(): Service {
    if (this.#service === undefined) throw new Error('it has not started');
    return this.#service;
  }

  /** By which anybody may read a long file. */
  get shareLink(): string {
    return this.#shareLink;
  }

  get port(): number {
    return Number(new URL(this.service.url).port);
  }

  get opsPort(): number {
    return Number(new URL(this.service.opsUrl).port);
  }

  get spool(): string {
    return join(this.dir, 'hub', 'spool');
  }

  /** What the hub knows the owner of its files by. */
  signature(): Promise<GivenHeaders> {
    return personalSignature(this.#owner);
  }

  /** By which one file may be stored, once. */
  uploadLink(): Promise<string> {
    return uploadLinkOf(this.#owner, 'incoming', { maxBytes: 4 * MIB });
  }

  async payment(): Promise<Buffer> {
    const { chainId, usd: token } = this.world;
    const payer = this.#payer;
    if (payer === undefined) throw new Error('it has not started');
    const body = await eip3009Body({ payer, chainId, token, payTo: newAccount().address });
    return Buffer.from(JSON.stringify(body));
  }

  /**
   * All doors, as they are asked by a crowd.
   *
   * @param uploadLink - that several of it show.
   * @param idler - an owner whose uploads never end.
   */
  async all(uploadLink: string, idler: PrivateKeyAccount): Promise<readonly Door[]> {
    const owner = this.#owner;
    const payments = await Promise.all(Array.from({ length: PAYMENTS }, () => this.payment()));
    const [signed, idle] = await Promise.all([owner, idler].map((one) => personalSignature(one)));
    const bearer = { Authorization: `Bearer ${this.#token}` };
    const query = (name: string): string => `owner=${owner.address}&name=${name}`;
    const get = (path: string, headers: GivenHeaders = {}) => ({
      ask: () => aRequest(`GET ${path}`, headers),
    });
    const json = (path: string, good: object, headers: GivenHeaders = {}) => ({
      ask: (random: SeededRandom) => {
        const { headers: own, bytes } = someBody(random, Buffer.from(JSON.stringify(good)));
        return aRequest(`POST ${path}`, { ...headers, ...own }, bytes);
      },
    });
    const paid = (path: string) => ({
      ask: (random: SeededRandom) => {
        const { headers, bytes } = someBody(random, random.pick(payments));
        return aRequest(`POST ${path}`, headers, bytes);
      },
    });
    const form = (isEnded: boolean, headers: GivenHeaders | undefined, account = owner) => ({
      ask: (random: SeededRandom) => {
        const file = isEnded ? Buffer.from('a form') : ZEROS.subarray(random.below(ZEROS.length));
        const sent = aForm({ owner: account.address, name: 'form' }, file, isEnded);
        return aRequest('POST /api/uploadData', { ...headers, ...sent.headers }, sent.bytes);
      },
    });
    const incoming = {
      ask: (random: SeededRandom) => {
        const { headers, bytes } = chunked(ZEROS.subarray(random.below(ZEROS.length)), false, {});
        return aRequest(`PUT /api/incoming?link=${uploadLink}`, headers, bytes);
      },
    };
    const note = { owner: owner.address, id: 'note', message: 'a note' };
    const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const both = { ...bearer, Accept: 'application/json, text/event-stream' };
    const client = { redirect_uris: ['http://127.0.0.1:7/callback'] };
    return [
      { route: '/verify', ...paid('/verify') },
      { route: '/settle', ...paid('/settle') },
      { route: '/v2/settlements/:id', ...get(`/v2/settlements/${'A'.repeat(43)}?wait=5`) },
      { route: '/openapi.json', ...get('/openapi.json') },
      { route: '/discovery/resources', ...get('/discovery/resources') },
      { route: '/api/upload', ...json('/api/upload', note, signed) },
      { route: '/api/uploadData', ...form(true, signed) },
      { route: '/api/uploadData', ...form(false, idle, idler) },
      { route: '/api/incoming', ...incoming },
      { route: '/api/shared', ...get(`/api/shared?link=${this.shareLink}`) },
      { route: '/api/download', ...get(`/api/download?${query('film')}`, signed) },
      { route: '/api/conversation', ...get(`/api/conversation?${query('talk')}`, signed) },
      { route: '/mcp', ...json('/mcp', listing, both) },
      { route: '/oauth/register', ...json('/oauth/register', client) },
      { route: '/oauth/token', ...json('/oauth/token', {}) },
      { route: '/v1/login/nonce', ...json('/v1/login/nonce', { address: owner.address }) },
      { route: '/v1/wallets/me', ...get('/v1/wallets/me', bearer) },
      { route: '/v1/wallets/me/rpc', ...json('/v1/wallets/me/rpc', {}, bearer) },
      { route: '/metrics', isForOperators: true, ...get('/metrics') },
      { route: '/health', isForOperators: true, ...get('/health') },
      { route: '/admin', isForOperators: true, ...get('/admin') },
      { route: '/admin/api/overview', isForOperators: true, ...get('/admin/api/overview') },
    ];
  }

  /** Stores as much as an owner may who has stored nothing, under a name that is not there yet. */
  async storeAll(account: PrivateKeyAccount): Promise<number> {
    return this.#sendFile(account, 'all of it', new Uint8Array(QUOTA_BYTES));
  }

  /** Whether a link for one upload is good for it. */
  async useUploadLink(link: string): Promise<number> {
    const { status } = await new Hub(this.service).ask(`/api/incoming?link=${link}`, {
      method: 'PUT',
      body: 'what was meant to come',
    });
    return status;
  }

  async #fill(): Promise<void> {
    const owner = this.#owner;
    const headers = { ...KEY_HEADER, ...(await personalSignature(owner)) };
    const store = async (id: string, message: string): Promise<void> => {
      const body = JSON.stringify({ owner: owner.address, id, message });
      const { status, text } = await new Hub(this.service).post('/api/upload', body, headers);
      if (status !== 200) throw new Error(`${id}: ${status} ${text}`);
    };
    for (let number = 0; number < TEXTS; number += 1) {
      await store(`talk_${number}`, `${number} `.padEnd(30_000, 'text '));
    }
    await store('note', 'a note');
    await this.#sendFile(owner, 'form', Buffer.from('a form'));
    await this.#sendFile(owner, 'film', new Uint8Array(FILM_BYTES).fill(7));
    await this.useUploadLink(await this.uploadLink());
  }

  async #sendFile(
    account: PrivateKeyAccount,
    name: string,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<number> {
    const form = new FormData();
    form.set('owner', account.address);
    form.set('file', new Blob([bytes]), name);
    const headers = { ...KEY_HEADER, ...(await personalSignature(account)) };
    return (await new Hub(this.service).post('/api/uploadData', form, headers)).status;
  }
}
