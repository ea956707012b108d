import type { Address } from 'viem';
import type { SeededRandom } from '../../support/seeded-random.js';
import { ask, delay } from '../client.js';
import type { Stage } from '../stage.js';
import { Database } from './database.js';
import type { Memory } from './memory.js';
import { type Conduct, CONDUCTS, Receiver } from './receiver.js';
import { type Shop, Shops } from './shops.js';

const READY_TIMEOUT_MS = 30_000;
/** More than one run needs. */
const PAYEES_LEAST = 40;

/**
 * Written by the database itself with each row, in the transaction that writes it: which states the archive
 * went through, in their order.
 */
const WITNESS = `
  create schema if not exists witness;
  create table if not exists witness.writes (
    sequence bigint generated always as identity primary key, operation text not null, id bytea not null,
    epoch bigint not null, version_ms bigint not null, version_sequence bigint not null, state text not null,
    is_paid boolean not null, is_unclaimed boolean not null, transaction bytea, block_hash bytea, pay_to bytea);
  create index if not exists writes_id on witness.writes (id, sequence);
  create or replace function witness.note() returns trigger language plpgsql as $$
    declare r record;
    begin
      if tg_op = 'DELETE' then r := old; else r := new; end if;
      insert into witness.writes
        (operation, id, epoch, version_ms, version_sequence, state, is_paid, is_unclaimed, transaction, block_hash, pay_to)
      values (tg_op, r.id, r.epoch, r.version_ms, r.version_sequence, r.state, r.is_paid,
        r.unclaimed_at is not null and r.sale = 'open', r.transaction, r.block_hash, r.pay_to);
      return null;
    end $$;
  create trigger witness after insert or update or delete on x402.settlements
    for each row execute function witness.note();`;

/** What a deployment with a history has beside the others. */
export class History {
  /** What earlier runs have left. */
  memory: Memory | undefined;
  readonly #opened = new Set<Shop>();

  private constructor(
    readonly database: Database,
    readonly receiver: Receiver,
    readonly shops: Shops,
    /** Each shop has a place of every kind. */
    readonly conducts: readonly Conduct[],
  ) {}

  static async start(
    random: SeededRandom,
    conducts: readonly Conduct[] = CONDUCTS,
  ): Promise<History> {
    const [database, receiver] = await Promise.all([Database.start(), Receiver.start(random)]);
    return new History(database, receiver, new Shops(), conducts);
  }

  get settings(): Readonly<Record<string, string>> {
    return {
      HOT_MINUTES: '1',
      API_KEYS_FILE: this.shops.file,
      WEBHOOK_KEY: 'a key of this suite, of no value at all',
      WEBHOOK_ALLOW: this.receiver.host,
    };
  }

  newPayee(): Address {
    return this.shops.newPayee();
  }

  /** What a caller shows of itself. */
  headersOf(from: string): Readonly<Record<string, string>> {
    return { 'x-api-key': this.shops.keyOf(from) };
  }

  /** Nothing is archived yet: from here on everything is seen. */
  async begin(stage: Stage): Promise<void> {
    const deadline = Date.now() + READY_TIMEOUT_MS;
    const find = `select to_regclass('x402.webhook_deliveries') is not null as found`;
    while ((await this.database.query<{ found: boolean }>(find))[0]?.found !== true) {
      if (Date.now() > deadline) throw new Error('the archiver did not make its tables');
      await delay(50);
    }
    await this.database.query(WITNESS);
    await this.listen(stage);
  }

  /** The seller that is paid next has registered its webhook. */
  async listen(stage: Stage): Promise<void> {
    if (this.shops.left < PAYEES_LEAST) this.shops.next();
    const shop = this.shops.current;
    if (this.#opened.has(shop)) return;
    this.#opened.add(shop);
    for (const conduct of this.conducts) {
      const path = `/${shop.name}/${conduct}`;
      this.receiver.open(path, await register(stage, shop, this.receiver.url(path)), conduct);
    }
  }

  async stop(): Promise<void> {
    this.receiver.stop();
    this.shops.stop();
    await this.database.stop();
  }
}

/** @returns the secret of the webhook. */
async function register(stage: Stage, shop: Shop, url: string): Promise<string> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    for (const api of stage.urls()) {
      const answer = await ask(`${api}/v2/webhooks`, {
        method: 'POST',
        headers: { 'x-api-key': shop.key },
        body: { url },
        timeoutMs: READY_TIMEOUT_MS,
      });
      if (answer?.status === 201) return String(answer.json['secret']);
      if (Date.now() > deadline) throw new Error(`no webhook was made: ${answer?.status}`);
    }
    await delay(100);
  }
}
