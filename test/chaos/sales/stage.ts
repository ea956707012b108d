import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { x402Client, x402HTTPClient } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import type { PrivateKeyAccount } from 'viem/accounts';
import { USD_NAME, USD_VERSION } from '../../../sandbox/deploy.js';
import { freePort } from '../../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../../sandbox/redis.js';
import { type GivenHeaders, HUB_ADDRESS } from '../../support/hub-world.js';
import { newAccount } from '../../support/payments.js';
import { strictHeaders } from '../../support/strict-signature.js';
import { World } from '../../support/world.js';
import { RedisTripwire } from '../../wallet/tripwire.js';
import { Slot } from '../wallet/stage.js';

/** What payers begin with. */
const FUNDS = 10n ** 24n;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** A hub with a Redis of its own, a facilitator in another process, and a chain that mines. */
export class SalesStage {
  /** Who sells everything. */
  readonly owner = newAccount();

  private constructor(
    readonly world: World,
    private readonly redis: SandboxRedis,
    readonly hub: Slot,
    readonly facilitator: Slot,
    private readonly dir: string,
  ) {}

  static async build(): Promise<SalesStage> {
    const world = await World.start({ blockTime: 0.3 });
    const redis = await startRedis(await freePort());
    const dir = await mkdtemp(join(tmpdir(), 'sales-chaos-'));
    const wires = [
      await RedisTripwire.start(world.redis.port),
      await RedisTripwire.start(redis.port),
    ];
    const [ledger, files] = wires as [RedisTripwire, RedisTripwire];
    const settles = world.settings({ ROLES: 'api,worker', REDIS_URL: ledger.url });
    const facilitator = new Slot(ledger, await freePort(), settles);
    const hub = new Slot(files, await freePort(), {
      ROLES: 'hub',
      REDIS_URL: files.url,
      HUB_DATA_DIR: dir,
      HUB_ADDRESS,
      LOG_LEVEL: 'info',
      HUB_SALES: 'true',
      HUB_SALES_SECRET: 'a secret of at least thirty-two characters',
      HUB_PUBLIC_URL: 'https://files.example/api',
      HUB_FACILITATOR_URL: facilitator.url,
      RATE_LIMIT_HUB: '0',
    });
    await Promise.all([facilitator.start(), hub.start()]);
    return new SalesStage(world, redis, hub, facilitator, dir);
  }

  /** Stores a text and puts a price on it, as long as it takes. */
  async sell(name: string, text: string, amount: bigint): Promise<void> {
    const upload = JSON.stringify({ owner: this.owner.address, id: name, message: text });
    await this.#insist('POST', '/api/upload', upload);
    const price = JSON.stringify({
      file: name,
      network: `eip155:${this.world.chainId}`,
      asset: this.world.usd,
      amount: amount.toString(),
      accessSeconds: 3600,
      extra: { name: USD_NAME, version: USD_VERSION },
    });
    await this.#insist('PUT', '/api/price', price);
  }

  /** `undefined` where there was no whole answer. */
  async read(name: string, headers: GivenHeaders = {}): Promise<Answer | undefined> {
    const query = new URLSearchParams({ owner: this.owner.address, name });
    return this.#ask(`/api/download?${query.toString()}`, { headers });
  }

  /** What the stock client sends for the offer of a file. */
  async paymentFor(account: PrivateKeyAccount, name: string): Promise<GivenHeaders> {
    const offer = await this.#until(402, () => this.read(name));
    const client = new x402Client()
      .register('eip155:*', new ExactEvmScheme(account))
      .setSpendControls({ allowedAssets: true });
    const http = new x402HTTPClient(client);
    const required = http.getPaymentRequiredResponse((header) => offer.headers.get(header), {});
    return http.encodePaymentSignatureHeader(await http.createPaymentPayload(required));
  }

  payer(): Promise<PrivateKeyAccount> {
    return this.world.payer({ balance: FUNDS });
  }

  async spentBy({ address }: PrivateKeyAccount): Promise<bigint> {
    return FUNDS - (await this.world.balance(this.world.usd, address));
  }

  async recovered(): Promise<void> {
    for (const slot of [this.hub, this.facilitator]) {
      slot.redis.disarm();
      await slot.recovered();
    }
  }

  logs(): string {
    return [this.hub, this.facilitator].map((slot) => slot.service?.log() ?? '').join('\n');
  }

  async stop(): Promise<void> {
    await Promise.all([this.hub.stop(), this.facilitator.stop()]);
    await Promise.all([this.world.stop(), this.redis.stop('SIGKILL')]);
    await rm(this.dir, { recursive: true, force: true });
  }

  async #insist(method: string, path: string, body: string): Promise<void> {
    await this.#until(200, async () => {
      const headers = await strictHeaders(this.owner, { method, path, body });
      return this.#ask(path, { method, headers, body });
    });
  }

  async #until(status: number, ask: () => Promise<Answer | undefined>): Promise<Answer> {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const answer = await ask();
      if (answer?.status === status) return answer;
      if (Date.now() > deadline) {
        throw new Error(`no ${status} in a minute: ${answer?.status ?? 0} ${answer?.text ?? ''}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #ask(path: string, request: RequestInit): Promise<Answer | undefined> {
    try {
      const response = await fetch(this.hub.url + path, request);
      return { status: response.status, text: await response.text(), headers: response.headers };
    } catch {
      return undefined;
    }
  }
}
