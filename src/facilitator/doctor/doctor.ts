import { Inject, Injectable } from '@nestjs/common';
import { formatUnits, getAddress } from 'viem';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { Semaphore } from '../../platform/concurrency/semaphore.js';
import { withTimeout } from '../../platform/concurrency/timing.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { listingRulesOf } from '../../platform/config/listing-rules.js';
import {
  FetchError,
  type FetchMethod,
  type FetchRequest,
} from '../../platform/fetch/safe-fetch.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { newTrialSigner } from '../../protocol/evm/token/token-trials.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import { VerifyService } from '../verify/verify.service.js';
import type { Observed, SellerAnswer } from './answer.js';
import { browserFindings, statusFindings } from './checks/answer-checks.js';
import { listingFindings } from './checks/listing-checks.js';
import type { Offer } from './checks/offer.js';
import { type OfferFacts, offerFindings } from './checks/offer-checks.js';
import { readOffers } from './checks/read-offers.js';
import { type CheckedOffer, termsFindings } from './checks/terms-checks.js';
import { DoctorFetch } from './doctor-fetch.js';
import { dryRun } from './dry-run.js';
import type {
  DoctorFinding,
  DoctorOffer,
  DoctorReport,
  Severity,
} from './dto/doctor-report.response.js';
import { about, shown } from './finding.js';
import { readOfferFacts } from './offer-facts.js';
import { readTerms, type Terms } from './terms.js';

/** The request that the check sends to the seller. */
export interface Examined {
  readonly url: string;
  readonly method: FetchMethod;
  /** JSON as text. */
  readonly body: string | undefined;
}

type RulesConfig = Parameters<typeof listingRulesOf>[0];

/** Chains that offers are compared with. */
interface Chains {
  readonly all: readonly Pick<EvmChain, 'chainId'>[];
  served(chainId: number): Pick<EvmChain, 'withView'> | undefined;
}

/** Checks that run at once, and checks that may wait. */
const AT_ONCE = 2;
const WAITING_MAX = 4;
/** Time for all requests to one seller together. */
const FETCH_MS = 12_000;
/** Time for all chain calls of one report. */
const CHAIN_MS = 15_000;
const FINDINGS_MAX = 60;
/** An origin that belongs to no page. A browser would send the origin of the page that buys. */
const ORIGIN = 'https://buyer.invalid';

/** Checks a seller with the requests of a buyer, and says what keeps buyers from paying. It pays nothing. */
@Injectable()
export class Doctor {
  readonly #places = new Semaphore(AT_ONCE, WAITING_MAX);

  constructor(
    @Inject(DoctorFetch) private readonly fetcher: Pick<DoctorFetch, 'fetch'>,
    @Inject(ChainRegistry) private readonly chains: Chains,
    @Inject(VerifyService) private readonly verifier: Pick<VerifyService, 'verify'>,
    @Inject(AppConfig) private readonly config: RulesConfig,
  ) {}

  /** @throws TooBusyError when too many checks are waiting already. */
  examine(examined: Examined): Promise<DoctorReport> {
    return this.#places.run(() => this.#examine(examined));
  }

  async #examine(examined: Examined): Promise<DoctorReport> {
    const observed = await this.#observe(examined);
    if ('code' in observed) return reportOf(examined, { findings: [observed] });
    const { status } = observed.answer;
    const wrong = statusFindings(observed);
    if (status !== 402) return reportOf(examined, { status, findings: wrong });
    const { terms, findings } = readTerms(observed.answer);
    const checked = await Promise.all(terms.map((one) => this.#checkTerms(one)));
    return reportOf(examined, {
      status,
      offers: checked.flatMap(({ offers }) => offers),
      findings: [
        ...wrong,
        ...findings,
        ...checked.flatMap((one) => one.findings),
        ...browserFindings(observed),
      ],
    });
  }

  async #observe({ url, method, body }: Examined): Promise<Observed | DoctorFinding> {
    const signal = AbortSignal.timeout(FETCH_MS);
    const headers = { accept: 'application/json, */*;q=0.5', origin: ORIGIN };
    const ask = (more: Partial<FetchRequest>): Promise<SellerAnswer> =>
      this.fetcher.fetch({ url, method, headers, body: undefined, ...more }, signal);
    try {
      const typed = { ...headers, 'content-type': 'application/json' };
      const answer = await ask(body === undefined ? {} : { body, headers: typed });
      const bare = body === undefined ? undefined : await ask({});
      const isForBrowsers = answer.headers['access-control-allow-origin'] !== undefined;
      const asked = {
        'access-control-request-method': method,
        'access-control-request-headers': 'payment-signature',
      };
      // A missing preflight answer says nothing about the other answers.
      const preflight = isForBrowsers
        ? await ask({ method: 'OPTIONS', headers: { ...headers, ...asked } }).catch(() => undefined)
        : undefined;
      return { method, hasBody: body !== undefined, answer, bare, preflight };
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      return unreachable(url, error);
    }
  }

  async #checkTerms(terms: Terms): Promise<Pick<DoctorReport, 'offers' | 'findings'>> {
    const chainIds = this.chains.all.map(({ chainId }) => chainId);
    const { offers, findings } = readOffers(terms, chainIds);
    const until = performance.now() + CHAIN_MS;
    const checkedOffers: CheckedOffer[] = [];
    const found: DoctorFinding[] = [];
    // One after the other, so that a report is not a burst of calls.
    for (const offer of offers) {
      const left = until - performance.now();
      const looked = await withTimeout(left, this.#checkOffer(offer));
      if (looked.inTime && looked.value !== undefined) {
        checkedOffers.push({ offer, facts: looked.value.facts });
        found.push(...looked.value.findings);
      } else found.push(notCompared(offer));
    }
    const all = [...findings, ...found, ...termsFindings(terms, checkedOffers)];
    // Without a catalogue nothing is listed, whatever is declared.
    const listing =
      this.config.history?.catalogue === undefined
        ? []
        : listingFindings(terms, listingRulesOf(this.config));
    // An error that stops buyers from paying is worse than one that hides the listing.
    all.push(...listing.filter(({ path }) => all.every((one) => one.path !== path)));
    const tokens = new Map(checkedOffers.map(({ offer, facts }) => [offer, facts.token] as const));
    return { offers: offers.map((offer) => summaryOf(offer, tokens.get(offer))), findings: all };
  }

  /** `undefined` while the chain cannot be asked. */
  async #checkOffer(
    offer: Offer,
  ): Promise<{ facts: OfferFacts; findings: readonly DoctorFinding[] } | undefined> {
    const chain = this.chains.served(offer.chainId);
    const signer = newTrialSigner();
    try {
      const facts = await chain?.withView((view) => readOfferFacts(view, offer, signer));
      if (facts === undefined) return undefined;
      const findings = offerFindings(offer, facts);
      // An offer with a known error would be refused for that error only.
      if (findings.some(({ severity }) => severity === 'error')) return { facts, findings };
      const { contracts } = facts;
      const now = Math.floor(Date.now() / 1000);
      const refused = await dryRun(offer, (payment) => this.#verify(payment), {
        signer,
        contracts,
        now,
      });
      return { facts, findings: refused === undefined ? findings : [...findings, refused] };
    } catch (error) {
      if (error instanceof ChainUnavailableError) return undefined;
      throw error;
    }
  }

  async #verify(payment: Payment): Promise<Reason | undefined> {
    const outcome = await this.verifier.verify(payment, '');
    return outcome.isValid ? undefined : outcome.reason;
  }
}

function unreachable(url: string, error: FetchError): DoctorFinding {
  const isRefused = error.code === 'fetch_refused';
  return about(isRefused ? 'url_refused' : 'seller_unreachable', 'error', {
    path: 'url',
    expected: isRefused ? 'a public address, over http or https' : 'an answer within 12 seconds',
    // A seller that did not answer has nothing to show; for a refused address the URL is shown.
    got: isRefused ? url : undefined,
    fix: error.message,
  });
}

function notCompared({ path }: Offer): DoctorFinding {
  // An offer that was not compared with the chain must not pass as sound.
  return about('not_compared', 'warning', {
    path,
    expected: 'a comparison with the chain',
    got: undefined,
    fix: 'Check again later: the network did not answer in time.',
  });
}

function summaryOf(offer: Offer, token: OfferFacts['token']): DoctorOffer {
  const { path, version, scheme, method, chainId, asset, payTo, amount } = offer;
  const unit = token?.symbol === undefined ? 'tokens' : shown(token.symbol).replaceAll('"', '');
  const decimals = token?.decimals;
  return {
    path,
    version,
    scheme,
    method,
    network: caip2Of(chainId),
    asset: getAddress(asset),
    payTo: getAddress(payTo),
    amount: String(amount),
    ...(decimals !== undefined && { price: `${formatUnits(amount, decimals)} ${unit}` }),
  };
}

function reportOf(
  { url, method }: Examined,
  { status, offers = [], findings }: Partial<DoctorReport> & Pick<DoctorReport, 'findings'>,
): DoctorReport {
  const counts = { error: 0, warning: 0, note: 0 };
  for (const { severity } of findings) counts[severity] += 1;
  const order: readonly Severity[] = ['error', 'warning', 'note'];
  const sorted = order.flatMap((wanted) => findings.filter(({ severity }) => severity === wanted));
  return {
    url,
    method,
    ...(status !== undefined && { status }),
    isSound: counts.error + counts.warning === 0,
    counts,
    offers,
    findings: sorted.slice(0, FINDINGS_MAX),
  };
}
