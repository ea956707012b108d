import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import {
  anAnswer,
  anOffer,
  encoded,
  PAYEE,
  v2Accept,
  v2Terms,
} from '../../../test/builders/facilitator/doctor/doctor.js';
import {
  aTokenChain,
  type FakeToken,
  TOKEN_AT,
} from '../../../test/builders/protocol/evm/token/token.js';
import { TooBusyError } from '../../platform/concurrency/semaphore.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import {
  type FetchAnswer,
  FetchError,
  type FetchRequest,
} from '../../platform/fetch/safe-fetch.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { isValidSignatureCall } from '../../protocol/evm/calls.js';
import type { CallOutcome } from '../../protocol/evm/chain-reader.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../../protocol/evm/contracts.js';
import { newTrialSigner } from '../../protocol/evm/token/token-trials.js';
import type { Reason } from '../../protocol/reasons.js';
import type { SellerAnswer } from './answer.js';
import { Doctor } from './doctor.js';
import type { DoctorReport } from './dto/doctor-report.response.js';
import { type FactsView, readOfferFacts } from './offer-facts.js';

const DOMAIN = { name: 'United Stables', version: '1' };
const TOKEN: FakeToken = {
  ...DOMAIN,
  symbol: 'U',
  decimals: 18n,
  domain: DOMAIN,
  functions: ['state', 'vrs', 'bytes', 'permit'],
};

interface ViewOptions {
  readonly token?: FakeToken;
  /** Code at the payee's address. */
  readonly code?: `0x${string}`;
  /** What the payee answers to `isValidSignature`. */
  readonly signature?: CallOutcome;
  readonly refuses?: readonly Address[];
}

function aView({
  token = TOKEN,
  code = '0x',
  signature,
  refuses = [],
}: ViewOptions = {}): FactsView {
  const chain = aTokenChain(token);
  const [selector] = [isValidSignatureCall(PAYEE, '0x', '0x').data.slice(0, 10)];
  return {
    chainId: 56,
    schemeContracts: DEFAULT_SCHEME_CONTRACTS,
    isContract: (asset) => Promise.resolve(asset === TOKEN_AT),
    code: () => Promise.resolve(code),
    call: (call, gas) =>
      call.to === PAYEE
        ? Promise.resolve(
            call.data.startsWith(selector) && signature !== undefined
              ? signature
              : { status: 'reverted', data: '0x' },
          )
        : chain.call(call, gas),
    callFrom: (_, { data }) =>
      Promise.resolve(
        refuses.some((one) => data.includes(one.slice(2)))
          ? { status: 'reverted', data: '0x' }
          : { status: 'returned', data: '0x' },
      ),
  };
}

const OFFER = anOffer({ asset: TOKEN_AT });
const facts = (options?: ViewOptions) => readOfferFacts(aView(options), OFFER, newTrialSigner());

describe('what the chain says of an offer', () => {
  it('is the token, and who is paid', async () => {
    expect(await facts()).toMatchObject({
      payee: 'account',
      isPayeeRefused: false,
      token: { domain: DOMAIN, decimals: 18 },
    });
  });

  it.each<[string, ViewOptions, string]>([
    ['an account with borrowed code', { code: `0xef0100${'12'.repeat(20)}` }, 'account'],
    ['a contract', { code: '0x6001' }, 'contract'],
    [
      'a wallet that says no',
      { code: '0x6001', signature: { status: 'returned', data: '0xffffffff' } },
      'wallet',
    ],
    [
      'a wallet that reverts in its own words',
      { code: '0x6001', signature: { status: 'reverted', data: '0x08c379a0' } },
      'wallet',
    ],
    ['a contract that burns gas', { code: '0x6001', signature: { status: 'halted' } }, 'wallet'],
  ])('knows %s', async (_, options, payee) => {
    expect(await facts(options)).toMatchObject({ payee });
  });

  it('knows a payee that the token refuses, and a token that refuses everybody', async () => {
    expect(await facts({ refuses: [PAYEE] })).toMatchObject({ isPayeeRefused: true });
    const everybody = await readOfferFacts(
      { ...aView(), callFrom: () => Promise.resolve({ status: 'reverted', data: undefined }) },
      OFFER,
      newTrialSigner(),
    );
    expect(everybody.isPayeeRefused).toBeUndefined();
  });

  it('is nothing of a token that is not there', async () => {
    const missing = await readOfferFacts(aView(), anOffer(), newTrialSigner());
    expect(missing).toMatchObject({ token: undefined, isPayeeRefused: undefined });
  });
});

const GOOD = anAnswer({
  headers: { 'payment-required': encoded(v2Terms([v2Accept({ asset: TOKEN_AT })])) },
});

interface DoctorOptions {
  readonly answer?: SellerAnswer | FetchError;
  readonly view?: 'away' | 'silent' | ViewOptions;
  readonly reason?: Reason;
  /** Tokens that a catalogue lists; without them there is no catalogue. */
  readonly listed?: readonly string[];
}

const aConfig = (listed?: readonly string[]): AppConfig =>
  ({
    history: listed && { catalogue: { allow: new Set() } },
    networks: [],
    lanes: { batchSafeAssets: listed ?? [] },
    admission: { minAmounts: new Map() },
  }) as unknown as AppConfig;

const refusing = (reason: Reason) => ({
  verify: () => Promise.resolve({ isValid: false as const, reason }),
});

function aDoctor({ answer = GOOD, view = {}, reason, listed }: DoctorOptions = {}) {
  const asked: FetchRequest[] = [];
  const doctor = new Doctor(
    {
      fetch: (wanted): Promise<FetchAnswer> => {
        asked.push(wanted);
        return answer instanceof FetchError ? Promise.reject(answer) : Promise.resolve(answer);
      },
    },
    {
      all: [{ chainId: 56 }],
      served: () => ({
        withView: (use) =>
          view === 'away'
            ? Promise.reject(new ChainUnavailableError(56, 'x'))
            : use(aView(view as ViewOptions) as never),
      }),
    },
    refusing(reason ?? 'invalid_exact_evm_insufficient_balance'),
    aConfig(listed),
  );
  return { doctor, asked };
}

const GET = { url: 'https://seller.example/report', method: 'GET', body: undefined } as const;
const codes = ({ findings }: DoctorReport): string[] => findings.map(({ code }) => code);

describe('a check', () => {
  it('of a sound seller finds nothing but notes', async () => {
    const report = await aDoctor().doctor.examine(GET);
    expect(report).toMatchObject({
      status: 402,
      isSound: true,
      counts: { error: 0, warning: 0, note: 2 },
      offers: [{ path: 'terms.accepts[0]', network: 'eip155:56', price: '0.1 U' }],
    });
    expect(codes(report)).toEqual(['buyers_allow_the_asset', 'no_browsers']);
  });

  it('asks once for a GET, twice where there is a body, and for browsers where they may come', async () => {
    const plain = aDoctor();
    await plain.doctor.examine(GET);
    expect(plain.asked.map(({ method, body }) => [method, body])).toEqual([['GET', undefined]]);
    const headers = { ...GOOD.headers, 'access-control-allow-origin': '*' };
    const open = aDoctor({ answer: { ...GOOD, headers } });
    await open.doctor.examine({ ...GET, method: 'POST', body: '{"a":1}' });
    expect(open.asked.map(({ method, body }) => [method, body])).toEqual([
      ['POST', '{"a":1}'],
      ['POST', undefined],
      ['OPTIONS', undefined],
    ]);
    expect(open.asked[1]?.headers).not.toHaveProperty('content-type');
  });

  it.each([
    ['fetch_refused', 'url_refused'],
    ['fetch_failed', 'seller_unreachable'],
  ] as const)('that cannot ask (%s) says so', async (code, found) => {
    const answer = new FetchError(code, 'Why.');
    const report = await aDoctor({ answer }).doctor.examine(GET);
    expect(report).not.toHaveProperty('status');
    expect(report.findings).toMatchObject([{ code: found, fix: 'Why.' }]);
  });

  it('looks no further where there is no 402', async () => {
    const report = await aDoctor({ answer: anAnswer({ status: 500 }) }).doctor.examine(GET);
    expect(codes(report)).toEqual(['seller_fails']);
    expect(report.offers).toEqual([]);
  });

  it('says what it could not compare while a chain is away', async () => {
    const report = await aDoctor({ view: 'away' }).doctor.examine(GET);
    expect(report).toMatchObject({ isSound: false, offers: [{ amount: '100000000000000000' }] });
    expect(codes(report)).toEqual(['not_compared', 'no_browsers']);
  });

  it('tries a payment where nothing else was wrong, and only there', async () => {
    const refused = aDoctor({ reason: 'payee_not_allowed' });
    expect(codes(await refused.doctor.examine(GET))).toContain('verify_refuses');
    const wrong = aDoctor({ reason: 'payee_not_allowed', view: { refuses: [PAYEE] } });
    const found = codes(await wrong.doctor.examine(GET));
    expect(found).toContain('payee_refused_by_token');
    expect(found).not.toContain('verify_refuses');
  });

  it('shows the worst first, and no more than sixty findings', async () => {
    const many = Array.from({ length: 8 }, () =>
      v2Accept(
        Object.fromEntries(
          ['amount', 'asset', 'payTo', 'scheme', 'network', 'extra', 'maxTimeoutSeconds'].map(
            (name) => [name, true],
          ),
        ),
      ),
    );
    const headers = { 'payment-required': encoded(v2Terms([...many, {}], { resource: 1 })) };
    const body = Buffer.from(JSON.stringify({ x402Version: 1, accepts: many }));
    const report = await aDoctor({ answer: anAnswer({ headers, body }) }).doctor.examine(GET);
    expect(report.findings).toHaveLength(60);
    expect(report.counts.error).toBeGreaterThan(60);
    expect(new Set(report.findings.map(({ severity }) => severity))).toEqual(new Set(['error']));
  });

  it('warns where a declaration lists nothing, and not where there is no catalogue', async () => {
    const declared = (bazaar: object, more: object = {}) =>
      anAnswer({
        headers: {
          'payment-required': encoded(
            v2Terms([v2Accept({ asset: TOKEN_AT })], { extensions: { bazaar }, ...more }),
          ),
        },
      });
    const known = [`eip155:56/${TOKEN_AT}`];
    const input = { type: 'http', method: 'GET' };
    const good = { info: { input }, schema: {} };
    const faults = async (answer: SellerAnswer, listed: readonly string[] = known) => {
      const report = await aDoctor({ answer, listed }).doctor.examine(GET);
      const found = report.findings.filter(({ severity }) => severity !== 'note');
      return [report.isSound, found.map(({ code, path }) => `${code} at ${path}`)];
    };
    expect(await faults(declared(good))).toEqual([true, []]);
    const away = declared(good, { resource: { url: 'http://10.0.0.5/x' } });
    expect(await faults(away)).toEqual([false, ['resource_not_public at terms.resource.url']]);
    expect(await faults(declared({ info: { input: {} } }))).toEqual([
      false,
      ['input_type at terms.extensions.bazaar.info.input.type'],
    ]);
    const other = { type: 'object', properties: { input: { required: ['body'] } } };
    expect(await faults(declared({ ...good, schema: other }))).toEqual([
      false,
      ['info_not_of_schema at terms.extensions.bazaar.info.input.body'],
    ]);
    expect(await faults(declared(good), [])).toEqual([
      false,
      ['asset_not_known at terms.accepts[0].asset'],
    ]);
    const report = await aDoctor({ answer: away }).doctor.examine(GET);
    expect(report.isSound).toBe(true);
  });

  it('waits for its turn, and is refused where too many wait', async () => {
    let open = (): void => undefined;
    const gate = new Promise<SellerAnswer>((resolve) => {
      open = () => {
        resolve(GOOD);
      };
    });
    let under = 0;
    const doctor = new Doctor(
      {
        fetch: () => {
          under += 1;
          return gate;
        },
      },
      { all: [], served: () => undefined },
      refusing('unexpected_verify_error'),
      aConfig(),
    );
    const six = Array.from({ length: 6 }, () => doctor.examine(GET));
    await expect(doctor.examine(GET)).rejects.toThrow(TooBusyError);
    expect(under).toBe(2);
    open();
    expect((await Promise.all(six)).map(({ status }) => status)).toEqual(Array(6).fill(402));
  });
});
