import { Inject, Injectable } from '@nestjs/common';
import { sql, type Transaction } from 'kysely';
import { ArchiveError } from '../../history/archive.js';
import { bytesOf } from '../../history/postgres/bytea.js';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';
import type { Listing } from '../../protocol/listing/listing.js';
import type {
  CatalogueUpdate,
  CatalogueWriter,
  ClaimOutcome,
  Paid,
  UpdateResult,
} from '../catalogue.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import type { RefusalCode } from '../codes.js';
import type { Refusal } from '../declared.js';
import { CatalogueDatabase } from './catalogue-database.js';
import { outcomeOf } from './claim-outcome.js';
import { entryIdOf, hostOf, placeNamed, placeOf, searchedOf, withExamples } from './entry-rows.js';
import { correctedBy, currentStatement, forgetStatements } from './statement-rows.js';
import { forgetWords } from './word-rows.js';

/** One process at a time writes, so that counts are not counted twice. */
export const WRITER_LOCK = 0x78343033;
/** Kinds of offers of one entry; the newest are kept. */
const OFFERS_MAX = 16;
/** Errors for a value that no column or index accepts. */
const UNSTORABLE = /^(22|23|54)/;

/** {@link CatalogueWriter} in the database of the history. */
@Injectable()
export class PostgresCatalogue implements CatalogueWriter {
  constructor(
    @Inject(CatalogueDatabase) private readonly db: CatalogueDatabase,
    @Inject(CatalogueSettings) private readonly quotas: Pick<CatalogueSettings, 'entriesPerPayee'>,
  ) {}

  async outcomes(
    chainId: number,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, ClaimOutcome>> {
    const rows = await asked(
      this.db
        .selectFrom('settlement_ids as named')
        .innerJoin('settlements as settled', (join) =>
          join
            .onRef('settled.id', '=', 'named.id')
            .onRef('settled.claimed_at', '=', 'named.claimed_at'),
        )
        .where(
          sql<boolean>`named.id = any (${ids.map((id) => Buffer.from(id, 'base64url'))}::bytea[])`,
        )
        .where('settled.chain_id', '=', chainId)
        .select(['settled.id', 'state', 'is_paid', 'scheme', 'method', 'asset', 'pay_to'])
        .select(['amount', 'settled_amount', 'settled.claimed_at', 'included_at', 'finished_at'])
        .execute(),
    );
    return new Map(
      rows.map((row) => [row.id.toString('base64url'), outcomeOf(chainId, row)] as const),
    );
  }

  async update(lessons: readonly CatalogueUpdate[]): Promise<UpdateResult> {
    try {
      return await this.#updateAll(newestOf(lessons));
    } catch (error) {
      if (!UNSTORABLE.test(sqlStateOf(error))) throw error;
      if (lessons.length === 1) return { listed: 0, refused: 1 };
      // An entry that cannot be stored must not block the others.
      const [first, second] = [
        lessons.slice(0, lessons.length >> 1),
        lessons.slice(lessons.length >> 1),
      ];
      const [one, other] = [await this.update(first), await this.update(second)];
      return { listed: one.listed + other.listed, refused: one.refused + other.refused };
    }
  }

  #updateAll(lessons: readonly CatalogueUpdate[]): Promise<UpdateResult> {
    return asked(
      this.db.transaction().execute(async (transaction) => {
        await sql`select pg_advisory_xact_lock(${WRITER_LOCK})`.execute(transaction);
        let listed = 0;
        let refused = 0;
        for (const update of lessons) {
          const code = await this.#update(transaction, update);
          if (code === 'listed') listed += 1;
          else refused += 1;
        }
        return { listed, refused };
      }),
    );
  }

  async forget(before: Date): Promise<void> {
    await asked(
      this.db.transaction().execute(async (transaction) => {
        await transaction
          .deleteFrom('catalogue_entries')
          .where('last_paid_at', '<', before)
          .execute();
        await transaction
          .deleteFrom('catalogue_refusals')
          .where('happened_at', '<', before)
          .execute();
        await forgetStatements(transaction, before);
      }),
    );
    await forgetWords(this.db, WRITER_LOCK);
  }

  async #update(
    transaction: Transaction<Tables>,
    { paid, declared }: CatalogueUpdate,
  ): Promise<'listed' | RefusalCode> {
    if ('code' in declared) {
      await this.#refuse(transaction, paid, declared);
      return declared.code;
    }
    const statement = await currentStatement(transaction, entryIdOf(paid, declared.listing));
    if (statement?.action === 'remove') return 'removed';
    const listing = correctedBy(declared.listing, statement);
    const refusal = await this.#refusal(transaction, paid, listing);
    if (refusal !== undefined) {
      await this.#refuse(transaction, paid, { code: refusal, ...placeNamed(listing) });
      return refusal;
    }
    await writeEntry(transaction, paid, listing);
    await writeOffer(transaction, paid, listing);
    await transaction
      .deleteFrom('catalogue_refusals')
      .where('chain_id', '=', paid.chainId)
      .where('pay_to', '=', bytesOf(paid.payTo))
      .where('resource', '=', listing.resource)
      .execute();
    return 'listed';
  }

  async #refusal(
    transaction: Transaction<Tables>,
    paid: Paid,
    listing: Listing,
  ): Promise<RefusalCode | undefined> {
    const host = hostOf(listing.resource);
    const denied = await transaction
      .selectFrom('catalogue_denials')
      .select('kind')
      .where((where) =>
        where.or([
          where.and([where('kind', '=', 'payee'), where('value', '=', paid.payTo)]),
          where.and([where('kind', '=', 'host'), where('value', '=', host)]),
        ]),
      )
      .executeTakeFirst();
    if (denied !== undefined) return 'denied';
    const { entriesPerPayee } = this.quotas;
    const others = await transaction
      .selectFrom('catalogue_entries')
      .select('id')
      .where('chain_id', '=', paid.chainId)
      .where('pay_to', '=', bytesOf(paid.payTo))
      .where('id', '<>', entryIdOf(paid, listing))
      .limit(entriesPerPayee)
      .execute();
    return others.length < entriesPerPayee ? undefined : 'payee_quota';
  }

  /** Limit for one payee, as for its entries, so that refusals cannot fill the database. */
  async #refuse(
    transaction: Transaction<Tables>,
    { chainId, payTo, paidAt }: Paid,
    { code, path, resource = '', isTemplate = false }: Refusal,
  ): Promise<void> {
    const pay_to = bytesOf(payTo);
    const fields = { is_template: isTemplate, code, path: path ?? null, happened_at: paidAt };
    await transaction
      .insertInto('catalogue_refusals')
      .values({ chain_id: chainId, pay_to, resource, ...fields })
      .onConflict((conflict) =>
        conflict.columns(['chain_id', 'pay_to', 'resource']).doUpdateSet(fields),
      )
      .execute();
    await sql`
      delete from x402.catalogue_refusals where (chain_id, pay_to, resource) in (
        select chain_id, pay_to, resource from x402.catalogue_refusals
        where chain_id = ${chainId} and pay_to = ${pay_to}
        order by happened_at desc, resource offset ${this.quotas.entriesPerPayee})`.execute(
      transaction,
    );
  }
}

function sqlStateOf(error: unknown): string {
  return error instanceof ArchiveError ? (error.sqlState ?? '') : '';
}

/** The newest update for each offer, because hundreds a second may be about one. In the order of their claims. */
function newestOf(lessons: readonly CatalogueUpdate[]): readonly CatalogueUpdate[] {
  const byTime = [...lessons].sort(
    (a, b) => a.paid.claimedAt.getTime() - b.paid.claimedAt.getTime(),
  );
  const newest = new Map<string, CatalogueUpdate>();
  for (const update of byTime) {
    const { paid, declared } = update;
    const { chainId, payTo, scheme, asset, method } = paid;
    const place =
      'listing' in declared
        ? entryIdOf(paid, declared.listing).toString('hex')
        : `${payTo} ${declared.resource ?? ''}`;
    const name = JSON.stringify([chainId, place, 'listing' in declared, scheme, asset, method]);
    newest.delete(name);
    newest.set(name, update);
  }
  return [...newest.values()];
}

async function writeEntry(
  transaction: Transaction<Tables>,
  paid: Paid,
  declared: Listing,
): Promise<void> {
  const id = entryIdOf(paid, declared);
  const listing = withExamples(declared, await listingOf(transaction, id));
  const fields = {
    x402_version: listing.x402Version,
    example_url: listing.exampleUrl ?? null,
    listing: JSON.stringify(listing),
    declared_at: paid.claimedAt,
    ...searchedOf(listing),
  };
  await transaction
    .insertInto('catalogue_entries')
    .values({
      id,
      chain_id: paid.chainId,
      pay_to: bytesOf(paid.payTo),
      place: placeOf(listing),
      type: listing.type,
      resource: listing.resource,
      host: hostOf(listing.resource),
      ...fields,
      first_paid_at: paid.paidAt,
      last_paid_at: paid.paidAt,
    })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({
        first_paid_at: sql<Date>`least(catalogue_entries.first_paid_at, excluded.first_paid_at)`,
        last_paid_at: sql<Date>`greatest(catalogue_entries.last_paid_at, excluded.last_paid_at)`,
      }),
    )
    .execute();
  // The latest declaration wins; an equal one writes nothing.
  await transaction
    .updateTable('catalogue_entries')
    .set(fields)
    .where('id', '=', id)
    .where('declared_at', '<=', paid.claimedAt)
    .where('listing', '<>', fields.listing)
    .execute();
  await transaction
    .updateTable('catalogue_entries')
    .set({ declared_at: paid.claimedAt })
    .where('id', '=', id)
    .where('declared_at', '<', paid.claimedAt)
    .execute();
}

/** The present listing of an entry; no other process writes it meanwhile. */
async function listingOf(
  transaction: Transaction<Tables>,
  id: Buffer,
): Promise<Listing | undefined> {
  const row = await transaction
    .selectFrom('catalogue_entries')
    .select('listing')
    .where('id', '=', id)
    .executeTakeFirst();
  return row && (JSON.parse(row.listing) as Listing);
}

async function writeOffer(
  transaction: Transaction<Tables>,
  paid: Paid,
  listing: Listing,
): Promise<void> {
  const entry_id = entryIdOf(paid, listing);
  const { scheme, method } = paid;
  const fields = {
    amount: paid.amount.toString(),
    offer: JSON.stringify(listing.offer),
    paid_at: paid.paidAt,
  };
  await transaction
    .insertInto('catalogue_offers')
    .values({ entry_id, scheme, asset: bytesOf(paid.asset), method, ...fields })
    .onConflict((conflict) =>
      conflict
        .columns(['entry_id', 'scheme', 'asset', 'method'])
        .doUpdateSet(fields)
        .where('catalogue_offers.paid_at', '<=', paid.paidAt),
    )
    .execute();
  await sql`
    delete from x402.catalogue_offers where (entry_id, scheme, asset, method) in (
      select entry_id, scheme, asset, method from x402.catalogue_offers
      where entry_id = ${entry_id} order by paid_at desc, scheme, asset, method offset ${OFFERS_MAX})`.execute(
    transaction,
  );
}
