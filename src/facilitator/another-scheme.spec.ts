import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import { anEip3009Authorization } from '../../test/builders/protocol/payment/accepted-payment.js';
import {
  aNoteAuthorization,
  aNotePayment,
  COLLECTOR,
  PAYER,
} from '../../test/builders/protocol/schemes/toy-payment.js';
import { COUNTER, TOY_SCHEME } from '../../test/builders/protocol/schemes/toy-scheme.js';
import type { ChainRegistry } from '../platform/chain/chain-registry.js';
import type { AdmissionLists } from '../platform/config/admission-settings.js';
import type { AppConfig } from '../platform/config/app-config.js';
import type { ApprovalSponsoring } from '../platform/config/network-settings.js';
import { addressWord, uintWord } from '../protocol/evm/abi-words.js';
import type { Eip3009Claim, Payment } from '../protocol/payment/payment.js';
import { registerScheme } from '../protocol/schemes/registry.js';
import type { PublishedStatus } from '../settlement/ledger/queries/lane-queries.js';
import type { LaneQueries } from '../settlement/ledger/queries/lane-queries.js';
import { NO_ARCHIVE } from '../settlement/ledger/settlement-archive.js';
import { BLANK_RECORD, type Look } from '../settlement/ledger/settlement-store.js';
import type { SupportedBody } from './dto/supported.response.js';
import { ArchivedPayments } from './status/archived-payments.js';
import { SupportedService } from './supported.service.js';
import { LaneSenders } from './verify/lane-senders.js';
import { PaymentVerifier, type Verification } from './verify/payment-verifier.js';
import { VerifyService } from './verify/verify.service.js';

const anExactClaim: Eip3009Claim = { ...anEip3009Authorization(), hasValidChecksums: true };

const aLane = (signer: Address): PublishedStatus =>
  ({
    lane: `56:${signer}`,
    chainId: 56,
    signer,
    balanceWei: '7',
    gasPriceWei: '5',
    suspendedAssets: [],
    silentMs: 100,
  }) as unknown as PublishedStatus;

/** The HTTP API, with a scheme that answers none of its questions as those that are served. */
describe('another scheme', () => {
  beforeAll(() => {
    registerScheme(TOY_SCHEME);
  });

  describe('is verified', () => {
    const verifierOf = (signers: readonly Address[], balance = 10_000n) => {
      const asked: Hex[] = [];
      const view = {
        call: ({ data }: { data: Hex }) => {
          asked.push(data);
          return Promise.resolve({ status: 'returned', data: `0x${uintWord(balance)}` });
        },
      };
      const chain = {
        verifyNearHead: async (verify: (from: unknown) => Promise<unknown>) => ({
          value: await verify(view),
        }),
      };
      const verifier = new PaymentVerifier(
        { get: () => chain } as unknown as ChainRegistry,
        { recoverSigner: (digest) => Promise.resolve(BigInt(digest) === 7n ? PAYER : undefined) },
        new LaneSenders({ all: () => Promise.resolve(signers.map(aLane)) }),
        {
          maxGasPerSettle: 300_000n,
          walletFactories: new Set(),
          admission: {} as AdmissionLists,
          builderCode: undefined,
          networks: [],
        },
      );
      const verify = (payment: Payment, balanceNeeded = 0n, allowanceNeeded = 0n) => {
        const inFlight = { balanceNeeded, allowanceNeeded, hasSponsoredPermit: false, claims: 0 };
        return verifier.verify(payment, { inFlight, recentReverts: 0 });
      };
      return { verify, asked };
    };
    const short = (verification: Verification): string =>
      verification.isValid ? 'valid' : verification.reason;

    it('from the only account that may send it, whatever other lanes there are', async () => {
      const others: Address[] = [`0x${'01'.repeat(20)}`, `0x${'02'.repeat(20)}`];
      const verification = await verifierOf([...others, COLLECTOR]).verify(aNotePayment());
      expect(verification).toMatchObject({ isValid: true, authorization: aNoteAuthorization });
      expect(short(await verifierOf(others).verify(aNotePayment()))).toBe('unauthorized');
    });

    it('by its own checks', async () => {
      const { verify } = verifierOf([COLLECTOR]);
      expect(short(await verify(aNotePayment({ serial: '8' })))).toBe('invalid_payload');
      expect(short(await verify(aNotePayment({}, '1001')))).toBe('amount_too_small');
    });

    it('knowing whether it is to be settled: that may be for less than was signed', async () => {
      const { verify } = verifierOf([COLLECTOR]);
      const verified = (amount: string): Promise<Verification> =>
        verify({ ...aNotePayment({}, amount), purpose: 'verify' });
      expect(short(await verify(aNotePayment({}, '1')))).toBe('valid');
      expect(short(await verified('1'))).toBe('amount_too_small');
      expect(short(await verified('1000'))).toBe('valid');
    });

    it('against what its payer has in flight, with its own reasons and its own approval', async () => {
      const { verify, asked } = verifierOf([COLLECTOR], 1000n);
      expect(short(await verify(aNotePayment(), 100n))).toBe('valid');
      expect(short(await verify(aNotePayment(), 101n))).toBe('amount_too_small');
      expect(short(await verify(aNotePayment(), 0n, 101n))).toBe('payer_suspended');
      expect(asked.at(-1)).toBe(`0x00000001${addressWord(PAYER)}${addressWord(COUNTER)}`);
    });
  });

  it('of a repeatable scheme verifies as valid for any caller, although it was sold', async () => {
    const known = { state: 'finalized', isPaid: true, sale: { state: 'sold', soldKeyTag: 'k' } };
    const look = { ...BLANK_RECORD, known, isWaitedFor: true } as unknown as Look;
    const verifier = {
      refusalByLists: () => undefined,
      match: () => Promise.resolve({ kind: 'same' }),
      verify: () => Promise.resolve({ isValid: false, reason: 'no_gas' }),
    } as unknown as PaymentVerifier;
    const service = new VerifyService(
      verifier,
      { look: () => Promise.resolve(look) },
      new ArchivedPayments(NO_ARCHIVE, verifier),
      {
        until: () => 0,
        isUsed: () => Promise.resolve(false),
        userOf: () => Promise.resolve(undefined),
      },
      { served: () => undefined },
    );
    const payment = aNotePayment();
    expect(await service.verify(payment, '')).toEqual({ isValid: true });
    const exact = { ...payment, claim: anExactClaim };
    expect(await service.verify(exact, '')).toMatchObject({ reason: 'duplicate_settlement' });
  });

  it('says of a good payment what its scheme has to say', async () => {
    const extra = { serial: '7' };
    const unknown = { known: undefined, isWaitedFor: false, hasGoneBack: false };
    const verdict: Verification = {
      isValid: true,
      authorization: aNoteAuthorization,
      payerHasCode: false,
      means: { balance: undefined, allowance: undefined },
      extra,
    };
    const verifier = {
      refusalByLists: () => undefined,
      verify: () => Promise.resolve(verdict),
    } as unknown as PaymentVerifier;
    const service = new VerifyService(
      verifier,
      { look: () => Promise.resolve({ ...BLANK_RECORD, ...unknown }) },
      new ArchivedPayments(NO_ARCHIVE, verifier),
      {
        until: () => 0,
        isUsed: () => Promise.resolve(false),
        userOf: () => Promise.resolve(undefined),
      },
      { served: () => undefined },
    );
    expect(await service.verify(aNotePayment(), '')).toEqual({ isValid: true, extra });
  });

  it('is listed with what sellers have to know of it', async () => {
    const { kinds, extensions } = await supported([aLane(COLLECTOR)]);
    expect(kinds).toEqual([
      { x402Version: 2, scheme: 'exact', network: 'eip155:56' },
      expect.objectContaining({ scheme: 'upto' }),
      { x402Version: 2, scheme: 'batch-settlement', network: 'eip155:56' },
      ...[{ x402Version: 2, scheme: 'toy', network: 'eip155:56' }].map((kind) => ({
        ...kind,
        extra: { collector: expect.stringMatching(new RegExp(COLLECTOR, 'i')) },
      })),
      { x402Version: 1, scheme: 'exact', network: 'bsc' },
    ]);
    expect(extensions).toEqual(expect.arrayContaining(['eip2612GasSponsoring', 'toyNotes']));
  });

  describe('that names the account it is sent from', () => {
    const live = aLane(COLLECTOR);
    const poor = { ...aLane(`0x${'02'.repeat(20)}`), trouble: 'no_gas' as const };
    const silent = { ...aLane(`0x${'03'.repeat(20)}`), silentMs: 60_000 };
    const retiring = { ...aLane(`0x${'04'.repeat(20)}`), isRetiring: true };
    const named = async (lanes: readonly PublishedStatus[], missing?: string) => {
      const { kinds } = await supported(lanes, missing);
      const extra = kinds.find(({ scheme }) => scheme === 'upto')?.extra;
      return extra && String(extra['facilitatorAddress']).toLowerCase();
    };

    it.each([
      ['one that can send', [retiring, silent, poor, live], live],
      ['one in trouble where no other lives', [retiring, silent, poor], poor],
      ['a silent one where none lives', [retiring, silent], silent],
    ])('offers %s', async (_, lanes, best) => {
      // In whichever order they are turned.
      for (let times = 0; times < 20; times += 1) {
        expect(await named(lanes)).toBe(best.signer);
      }
    });

    it('offers each of those that can send', async () => {
      const other = aLane(`0x${'05'.repeat(20)}`);
      const seen = new Set<string | undefined>();
      for (let times = 0; times < 200; times += 1) seen.add(await named([live, other]));
      expect(seen).toEqual(new Set([live.signer, other.signer]));
    });

    it('lists what the operator pays for only where it pays, and a lane serves the chain', async () => {
      const free = ['eip2612GasSponsoring'];
      const limits = { gas: 1n, maxFeePerGas: 1n, topUpWei: 1n };
      const pays = { approvalSponsoring: { dailyWei: 1n, limits } };
      expect((await supported([live])).extensions).toEqual(expect.arrayContaining(free));
      expect((await supported([live])).extensions).not.toContain('erc20ApprovalGasSponsoring');
      expect((await supported([live], undefined, pays)).extensions).toEqual(
        expect.arrayContaining([...free, 'erc20ApprovalGasSponsoring']),
      );
      expect((await supported([retiring], undefined, pays)).extensions).not.toContain(
        'erc20ApprovalGasSponsoring',
      );
    });

    it('lists builder codes only where there is one of its own, and payloads have extensions', async () => {
      const extensionsOf = async (own: { builderCode?: string }, versions?: (1 | 2)[]) =>
        (await supported([live], undefined, own, versions)).extensions;
      expect(await extensionsOf({})).not.toContain('builder-code');
      expect(await extensionsOf({ builderCode: 'ours' })).toContain('builder-code');
      expect(await extensionsOf({ builderCode: 'ours' }, [1])).not.toContain('builder-code');
    });

    it('is not listed where its contract is missing, and nothing is where all retire', async () => {
      expect(await named([live], 'uptoProxy')).toBeUndefined();
      expect((await supported([live], 'uptoProxy')).kinds).toContainEqual(
        expect.objectContaining({ scheme: 'exact' }),
      );
      const { kinds, signers } = await supported([retiring]);
      expect([kinds, signers]).toEqual([[], { 'eip155:*': [] }]);
    });
  });
});

function supported(
  lanes: readonly PublishedStatus[],
  missing?: string,
  own: { approvalSponsoring?: ApprovalSponsoring; builderCode?: string } = {},
  versions: readonly (1 | 2)[] = [1, 2],
): Promise<SupportedBody> {
  const chain = { hasContract: (name: string) => (name === missing ? false : undefined) };
  const chains = { all: [{ chainId: 56 }], served: () => ({}), get: () => chain };
  const board = { all: () => Promise.resolve(lanes) };
  return new SupportedService(
    chains as unknown as ChainRegistry,
    board as unknown as LaneQueries,
    {
      ...own,
      networks: [{ chainId: 56, ...own }],
    } as unknown as AppConfig,
  ).supported(versions);
}
