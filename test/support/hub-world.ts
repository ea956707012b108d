import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { type Service, startService } from '../../sandbox/service.js';

/** The hub's address in the test vectors; volume numbers depend on it. */
export const HUB_ADDRESS = '0x6370eF2f4Db3611D657b90667De398a2Cc2a370C';

/** A Redis and a folder of their own, and as many hubs on them as a test wants. */
export class HubWorld {
  readonly #services: Service[] = [];

  private constructor(
    readonly redis: SandboxRedis,
    readonly dir: string,
  ) {}

  static async start(): Promise<HubWorld> {
    const redis = await startRedis(await freePort());
    // Within a folder of its own: a test sees what a hub writes beside its own.
    const dir = join(mkdtempSync(join(tmpdir(), 'x402-hub-')), 'data');
    mkdirSync(dir);
    return new HubWorld(redis, dir);
  }

  async hub(
    more: Readonly<Record<string, string>> = {},
    nodeOptions: readonly string[] = [],
  ): Promise<Hub> {
    const settings = {
      ROLES: 'hub',
      REDIS_URL: this.redis.url,
      HUB_DATA_DIR: this.dir,
      HUB_ADDRESS,
      // Tests are one busy address.
      RATE_LIMIT_HUB: '0',
      LOG_LEVEL: 'info',
      ...more,
    };
    const service = await startService(await freePort(), settings, nodeOptions);
    this.#services.push(service);
    return new Hub(service);
  }

  /** Every hub dies at once. */
  async killAll(): Promise<void> {
    await Promise.all(this.#services.splice(0).map((service) => service.stop('SIGKILL')));
  }

  /** Redis loses all it has. */
  async forgetIndex(): Promise<void> {
    const redis = new Redis(this.redis.url);
    await redis.flushall();
    redis.disconnect();
  }

  async stop(): Promise<void> {
    await this.killAll();
    await this.redis.stop('SIGKILL');
    rmSync(dirname(this.dir), { recursive: true, force: true });
  }
}

export interface Stored {
  readonly File: string;
  readonly Start: number;
  readonly Size: number;
}

export interface HubAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
  readonly bytes: Buffer;
  readonly headers: Headers;
}

export type GivenHeaders = Readonly<Record<string, string>>;

/** A hub as its clients see it. */
export class Hub {
  constructor(readonly service: Service) {}

  get url(): string {
    return this.service.url;
  }

  /** A POST of this text; `curl -d` names it a form, whatever it is. */
  post(
    path: string,
    body: string | FormData | Uint8Array<ArrayBuffer>,
    headers: GivenHeaders = {},
  ): Promise<HubAnswer> {
    const type =
      typeof body === 'string' ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
    return this.ask(path, { method: 'POST', body, headers: { ...type, ...headers } });
  }

  get(path: string, headers: GivenHeaders = {}): Promise<HubAnswer> {
    return this.ask(path, { headers });
  }

  async ask(path: string, request: RequestInit): Promise<HubAnswer> {
    const response = await fetch(this.url + path, request);
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes.toString('utf8');
    return { status: response.status, text, json: parsed(text), bytes, headers: response.headers };
  }

  upload(
    fields: Readonly<Record<string, unknown>>,
    headers: GivenHeaders = {},
  ): Promise<HubAnswer> {
    return this.post('/api/upload', JSON.stringify(fields), headers);
  }

  /** Uploads and insists that it was stored. */
  async store(owner: string, id: string, message: string): Promise<Stored> {
    const answer = await this.upload({ owner, id, message });
    if (answer.status !== 200) throw new Error(`not stored: ${answer.status} ${answer.text}`);
    return answer.json as Stored;
  }

  download(owner: string, name: string, headers: GivenHeaders = {}): Promise<HubAnswer> {
    return this.get(`/api/download?${new URLSearchParams({ name, owner }).toString()}`, headers);
  }

  async sendFile(owner: string, name: string, bytes: Uint8Array<ArrayBuffer>): Promise<HubAnswer> {
    const form = new FormData();
    form.set('owner', owner);
    form.set('file', new Blob([bytes], { type: 'application/octet-stream' }), name);
    return this.post('/api/uploadData', form);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
