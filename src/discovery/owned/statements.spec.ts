import { beforeEach, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import {
  aLesson,
  NOON,
  OTHER_PAYEE,
  RESOURCE,
} from '../../../test/builders/discovery/catalogue-update.js';
import { codeOf } from '../../../test/builders/platform/http/coded-error.js';
import { readBody } from '../../../test/builders/platform/http/dto.js';
import { MemoryCatalogue } from '../../../test/twins/discovery/memory-catalogue.js';
import { ArchiveError } from '../../history/archive.js';
import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { schemasOf } from '../../platform/http/dto-schemas.js';
import { CatalogueStatementTaken } from '../asking/dto/discovery.response.js';
import { CatalogueStatementDto } from './dto/catalogue-statement.dto.js';
import { PayeeSignatures } from './payee-signatures.js';
import { STATEMENT_TYPES, statementDomain } from './statement.js';
import { Statements, type StatementStore } from './statements.js';

const HERE = 'https://pay.example.com';
const NOW = NOON / 1000;
const payee = privateKeyToAccount(generatePrivateKey());
const stranger = privateKeyToAccount(generatePrivateKey());
const payTo = payee.address.toLowerCase() as Hex;

const SAID = {
  action: 'remove',
  payTo: payee.address,
  type: 'http',
  resource: RESOURCE,
  call: 'GET',
  description: '',
  mimeType: '',
  serviceName: '',
  tags: [] as string[],
  iconUrl: '',
  issuedAt: NOW,
  until: 0,
};

describe('statements of payees', () => {
  let catalogue: MemoryCatalogue;
  let statements: Statements;
  /** What wallets that are contracts answer, and how often they were asked. */
  let wallet: { code: Hex; answer: Hex; asked: number };

  beforeEach(async () => {
    catalogue = new MemoryCatalogue();
    wallet = { code: '0x', answer: '0x', asked: 0 };
    statements = over(catalogue);
    await catalogue.update([aLesson({}, { payTo }), aLesson({}, { payTo: OTHER_PAYEE })]);
  });

  const chains = {
    get: (chainId: number) =>
      chainId !== 56
        ? undefined
        : {
            isRightChain: true,
            withView: (use: (view: unknown) => unknown) =>
              use({
                code: () => Promise.resolve(wallet.code),
                call: () => {
                  wallet.asked += 1;
                  return Promise.resolve({ status: 'returned', data: wallet.answer });
                },
              }),
          },
  } as unknown as Pick<ChainRegistry, 'get'>;
  const over = (store: StatementStore | undefined, url: string | null = HERE): Statements =>
    new Statements(
      { url: url ?? undefined },
      new PayeeSignatures(chains),
      { now: () => NOON },
      store,
    );

  async function signed(
    more: Partial<typeof SAID> = {},
    { by = payee, at = HERE, chainId = 56 } = {},
  ) {
    const statement = { ...SAID, ...more };
    const signature = await by.signTypedData({
      domain: statementDomain(at, chainId),
      types: STATEMENT_TYPES,
      primaryType: 'CatalogueStatement',
      message: {
        ...statement,
        payTo: statement.payTo,
        issuedAt: BigInt(statement.issuedAt),
        until: BigInt(statement.until),
      },
    });
    return { network: 'eip155:56', statement, signature };
  }
  const listed = async () =>
    (await catalogue.page({ since: new Date(0) }, { offset: 0 }, 9)).map((one) => one.payTo);
  const accept = async (body: unknown, by = statements) =>
    by.accept(await readBody(CatalogueStatementDto, body));
  const refused = (body: unknown) => codeOf(accept(body));

  it('takes an entry away for its payee, and only for its payee', async () => {
    expect(await accept(await signed())).toMatchObject({
      code: 'removed',
      network: 'eip155:56',
      payTo,
      resource: RESOURCE,
      call: 'GET',
    });
    expect(await listed()).toEqual([OTHER_PAYEE]);
  });

  it('shows the words a payee has signed', async () => {
    const words = { description: 'Forecasts', tags: ['sky', 'rain'] };
    const answer = await accept(await signed({ action: 'correct', ...words }));
    expect(answer).toMatchObject({ code: 'corrected', words });
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'api', components: { schemas: schemasOf(CatalogueStatementTaken) } });
    const $ref = 'api#/components/schemas/CatalogueStatementTaken';
    expect(ajv.validate({ $ref }, answer)).toBe(true);
    const [entry] = await catalogue.page({ since: new Date(0), payTo }, { offset: 0 }, 1);
    expect(entry?.listing).toMatchObject(words);
  });

  it('is not moved by a stranger, by another catalogue, another network or other words', async () => {
    const forged = [
      await signed({}, { by: stranger }),
      await signed({}, { at: 'https://other.example.com' }),
      await signed({}, { chainId: 97 }),
      { ...(await signed()), statement: { ...SAID, action: 'restore' } },
      { ...(await signed()), statement: { ...SAID, until: NOW + 9 } },
      { ...(await signed()), statement: { ...SAID, payTo: OTHER_PAYEE } },
      { ...(await signed()), signature: `0x${'00'.repeat(65)}` },
      { ...(await signed()), signature: '0x00' },
    ];
    for (const body of forged) expect(await refused(body)).toEqual([403, 'wrong_signer']);
    expect(await listed()).toHaveLength(2);
  });

  it('takes none twice, and none that was issued before the last', async () => {
    const removal = await signed();
    const before = await signed({ action: 'restore', issuedAt: NOW - 1 });
    await accept(removal);
    expect(await refused(removal)).toEqual([409, 'statement_used']);
    expect(await refused(before)).toEqual([409, 'statement_used']);
    expect(await accept(await signed({ action: 'restore', issuedAt: NOW + 1 }))).toEqual(
      expect.objectContaining({ code: 'restored' }),
    );
    expect(await refused(removal)).toEqual([409, 'statement_used']);
  });

  it('takes one of two that come at once', async () => {
    const removal = await signed();
    const both = await Promise.allSettled([removal, removal].map((one) => accept(one)));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('takes none that is old, from the future, or over', async () => {
    expect(await refused(await signed({ issuedAt: NOW - 3601 }))).toEqual([
      400,
      'statement_expired',
    ]);
    expect(await refused(await signed({ issuedAt: NOW - 60, until: NOW }))).toEqual([
      400,
      'statement_expired',
    ]);
    expect(await refused(await signed({ issuedAt: NOW + 301 }))).toEqual([400, 'statement_early']);
    expect(await refused(await signed({ until: NOW }))).toEqual([400, 'invalid_statement']);
  });

  it('asks a wallet that is a contract, and only about entries there are', async () => {
    wallet = { code: '0x60', answer: `0x1626ba7e${'0'.repeat(56)}`, asked: 0 };
    const unknown = await signed({ resource: 'https://shop.example.com/none' }, { by: stranger });
    expect(await refused(unknown)).toEqual([404, 'entry_unknown']);
    expect(wallet.asked).toBe(0);
    const ofWallet = { ...(await signed()), signature: `0x${'ab'.repeat(700)}` };
    expect(await accept(ofWallet)).toMatchObject({ code: 'removed' });
    wallet.answer = `0xffffffff${'0'.repeat(56)}`;
    const no = await signed({ action: 'restore', issuedAt: NOW + 1 }, { by: stranger });
    expect(await refused(no)).toEqual([403, 'wrong_signer']);
    expect(wallet.asked).toBe(2);
  });

  it.each<[string, Partial<typeof SAID>]>([
    ['tags of HTML', { description: 'a <script>alert(1)</script>' }],
    ['a text that is turned around', { description: 'a\u202eb' }],
    ['a text that is too long', { description: 'x'.repeat(501) }],
    ['an icon that is no URL of the web', { iconUrl: 'javascript:alert(1)' }],
    ['an icon inside', { iconUrl: 'http://169.254.169.254/latest' }],
    ['a type that is malformed', { mimeType: 'text' }],
    ['a tag that cannot be seen', { tags: ['\u200b'] }],
    ['six tags', { tags: ['a', 'b', 'c', 'd', 'e', 'f'] }],
    ['the same tag twice', { tags: ['a', 'A'] }],
    ['nothing', {}],
  ])('corrects nothing to %s', async (_what, words) => {
    const body = await signed({ action: 'correct', ...words });
    expect(await refused(body)).toEqual([400, 'invalid_statement']);
  });

  it('refuses what is no statement, however large, without asking anybody', async () => {
    const good = await signed();
    const bad: readonly unknown[] = [
      null,
      [],
      'remove',
      {},
      { ...good, network: 'eip155:x' },
      { ...good, signature: 'no' },
      { ...good, signature: `0x${'ab'.repeat(4097)}` },
      { ...good, statement: { ...good.statement, resource: 'x'.repeat(1_000_000) } },
      { ...good, statement: { ...good.statement, action: '__proto__' } },
      { ...good, statement: { ...good.statement, issuedAt: 1e300 } },
      { ...good, statement: { ...good.statement, issuedAt: '9'.repeat(1000) } },
      { ...good, statement: { ...good.statement, description: 'of what is removed' } },
    ];
    statements = over(undefinedStore());
    for (const body of bad) expect(await refused(body)).toEqual([400, 'invalid_statement']);
  });

  it('takes numbers as wallets write them', async () => {
    const { statement, ...rest } = await signed();
    const body = { ...rest, statement: { ...statement, issuedAt: String(NOW), until: '0' } };
    expect(await accept(body)).toMatchObject({ code: 'removed' });
  });

  it('says that it cannot tell now, and that it takes none', async () => {
    const away = new ArchiveError('database_unreachable', undefined);
    const down = over({ ...undefinedStore(), standing: () => Promise.reject(away) });
    expect(await codeOf(accept(await signed(), down))).toEqual([503, 'catalogue_unavailable']);
    const off = [over(undefined), over(catalogue, null)];
    for (const one of off) {
      expect(await codeOf(accept(await signed(), one))).toEqual([404, 'statements_off']);
    }
  });
});

function undefinedStore() {
  const fail = () => Promise.reject(new Error('it was asked'));
  return { standing: fail, write: fail };
}
