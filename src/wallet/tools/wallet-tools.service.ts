import { Inject, Injectable } from '@nestjs/common';
import { formatUnits } from 'viem';
import type { z } from 'zod';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { SpendingStore, type SpentQuestion } from '../budget/spending-store.js';
import { ServiceFinder } from '../catalogue/service-finder.js';
import { fundRequest } from '../fund/fund-request.js';
import { WalletFiles } from '../hub/wallet-files.js';
import type { WalletHub } from '../hub/wallet-hub.js';
import { Balances } from '../pay/balances.js';
import { type Offer, readPaymentRequired } from '../pay/offer.js';
import { PayService } from '../pay/pay.service.js';
import { PaymentRecords } from '../pay/payment-records.js';
import { nameFor } from '../pay/saving.js';
import { amountView } from '../pay/views.js';
import { WalletFetch } from '../pay/wallet-fetch.js';
import type { WalletProvider } from '../provider/wallet-provider.js';
import { type KnownContracts, spendingOf } from '../rules/decode-typed-data.js';
import { evaluate } from '../rules/evaluate.js';
import { assetName, type Limit, type Policy } from '../rules/policy.js';
import { unitOf } from '../rules/unit.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import {
  KNOWN_CONTRACTS,
  WALLET_CLOCK,
  WALLET_HUB,
  WALLET_PROVIDER,
  WALLET_SETTINGS,
  type WalletClock,
} from '../wallet-tokens.js';
import type { FileTools } from './file-shapes.js';
import type { FundAnswer, FundInput } from './fund-shapes.js';
import { adviceOn, howToChange } from './refusal.js';
import type {
  ServiceDetailsInput,
  ServiceDetailsOutput,
  ServiceSearchInput,
  ServiceSearchOutput,
} from './service-shapes.js';
import type {
  BalanceOutput,
  CallToolInput,
  HistoryInput,
  HistoryOutput,
  PayInput,
  PaymentOutput,
  PolicyOutput,
  QuoteInput,
  QuoteOutput,
  StatusInput,
  WalletOutput,
  WalletTools,
} from './shapes.js';
import { sortedJson } from './sorted-json.js';

/** Gives every session its tools. */
@Injectable()
export class WalletToolsService {
  constructor(
    @Inject(WALLET_PROVIDER) readonly provider: WalletProvider,
    readonly directory: WalletDirectory,
    readonly store: SpendingStore,
    readonly payments: PayService,
    readonly records: PaymentRecords,
    readonly balances: Balances,
    readonly fetcher: WalletFetch,
    @Inject(KNOWN_CONTRACTS) readonly known: KnownContracts,
    readonly chains: ChainRegistry,
    readonly services: ServiceFinder,
    @Inject(WALLET_HUB) readonly hub: WalletHub | undefined,
    @Inject(WALLET_SETTINGS) readonly settings: WalletConfig,
    @Inject(WALLET_CLOCK) readonly now: WalletClock,
  ) {}

  of(session: Session): WalletTools {
    return new LocalWalletTools(this, session);
  }
}

/** The tools of one session, in the process that holds the wallet. */
class LocalWalletTools implements WalletTools {
  constructor(
    private readonly service: WalletToolsService,
    private readonly session: Session,
  ) {}

  async wallet(): Promise<z.infer<typeof WalletOutput>> {
    const { owner, wallet } = this.session;
    const { active } = await this.service.directory.policyOf(owner, wallet);
    return {
      address: wallet.address,
      owner,
      custody: this.service.provider.kind,
      networks: this.service.chains.all.map(({ config }) => config.network),
      active,
    };
  }

  async balance(): Promise<z.infer<typeof BalanceOutput>> {
    const { address } = this.session.wallet;
    const read = await Promise.all(
      this.service.settings.assets.map(async (token) => ({
        token,
        balance: await this.service.balances.of(address, token),
      })),
    );
    return {
      address,
      balances: read.flatMap(({ token, balance }) =>
        balance === undefined ? [] : [amountView(balance, token)],
      ),
      unreadable: read.flatMap(({ token, balance }) =>
        balance === undefined ? [assetName(token.chainId, token.address)] : [],
      ),
    };
  }

  /** Asynchronous like the other tools, so that a refusal is a rejection. */
  async fund(asked: z.infer<typeof FundInput>): Promise<FundAnswer> {
    const { settings, chains } = this.service;
    const served = chains.all.map(({ config }) => config.chainId);
    return Promise.resolve(
      fundRequest(this.session.wallet.address, settings.assets, served, asked),
    );
  }

  async quote(input: z.infer<typeof QuoteInput>): Promise<z.infer<typeof QuoteOutput>> {
    const { fetcher, known, settings } = this.service;
    const { owner, wallet } = this.session;
    const policy = await this.service.directory.policyOf(owner, wallet);
    const signal = AbortSignal.timeout(settings.fetchTimeoutMs);
    const answer = await fetcher.fetch({ ...input, body: undefined }, signal);
    const required = answer.status === 402 ? readPaymentRequired(answer, known) : undefined;
    const offers = required?.offers ?? [];
    return {
      url: answer.url,
      httpStatus: answer.status,
      isFree: answer.status < 400,
      offers: await Promise.all(offers.map((offer) => this.#quoteOffer(offer, policy))),
      otherOffers: (required?.offered ?? 0) - offers.length,
    };
  }

  pay({
    saveTo,
    saveAs,
    body,
    ...input
  }: z.infer<typeof PayInput>): Promise<z.infer<typeof PaymentOutput>> {
    const save = saveTo === undefined ? undefined : { name: saveAs ?? nameFor(input.url) };
    return this.service.payments.pay(this.session, { ...input, body, save });
  }

  async callTool({
    tool: name,
    arguments: given,
    ...input
  }: z.infer<typeof CallToolInput>): Promise<z.infer<typeof PaymentOutput>> {
    const tool = { name, arguments: sortedJson(given) };
    const request = { ...input, method: 'POST', body: undefined } as const;
    return this.service.payments.pay(this.session, { ...request, tool });
  }

  status({ intentId }: z.infer<typeof StatusInput>): Promise<z.infer<typeof PaymentOutput>> {
    return this.service.records.status(this.session, intentId);
  }

  async history({ limit }: z.infer<typeof HistoryInput>): Promise<z.infer<typeof HistoryOutput>> {
    return { payments: await this.service.records.history(this.session, limit) };
  }

  async policy(): Promise<z.infer<typeof PolicyOutput>> {
    const { owner, wallet } = this.session;
    const policy = await this.service.directory.policyOf(owner, wallet);
    const { revision, active, windowHours, otherPayees, scopes } = policy;
    // One call for all groups, so that they are read together.
    const groups = [{ limits: policy.limits, payees: undefined }, ...policy.payeeLists];
    const questions = groups.flatMap(({ limits, payees }) =>
      limits.map(({ asset }) => ({ asset, ...(payees !== undefined && { payees }) })),
    );
    const sums = await this.#spent(policy, questions);
    let at = 0;
    const limitsOf = (limits: readonly Limit[]): z.infer<typeof PolicyOutput>['limits'] => {
      const own = sums.slice(at, at + limits.length);
      at += limits.length;
      return limits.map((limit, index) => this.#limitView(limit, own[index] ?? 0n));
    };
    return {
      revision,
      active,
      windowHours,
      otherPayees,
      scopes: [...scopes],
      limits: limitsOf(policy.limits),
      payeeLists: policy.payeeLists.map(({ name, payees, limits }) => ({
        name,
        payees: [...payees],
        limits: limitsOf(limits),
      })),
      howToChange: howToChange(this.service.settings.publicUrl),
    };
  }

  get hasFiles(): boolean {
    return this.service.hub !== undefined;
  }

  /** @throws WalletError */
  get files(): FileTools {
    const { hub, settings } = this.service;
    if (hub !== undefined) return new WalletFiles(hub, settings.fetchMaxBytes, this.session);
    throw new WalletError(
      'not_found',
      'This wallet has no file hub. Its operator can set WALLET_HUB_URL.',
    );
  }

  get hasCatalogue(): boolean {
    return this.service.services.isOn;
  }

  async searchServices(
    asked: z.infer<typeof ServiceSearchInput>,
  ): Promise<z.infer<typeof ServiceSearchOutput>> {
    return this.service.services.search(asked);
  }

  async serviceDetails(
    asked: z.infer<typeof ServiceDetailsInput>,
  ): Promise<z.infer<typeof ServiceDetailsOutput>> {
    return this.service.services.details(asked);
  }

  /** By the rules, with the present rest of the budgets; nothing is charged. */
  async #quoteOffer(
    offer: Offer,
    policy: Policy,
  ): Promise<z.infer<typeof QuoteOutput>['offers'][number]> {
    const { token, method, payTo, amount } = offer;
    const { publicUrl } = this.service.settings;
    const now = this.service.now();
    const spending = spendingOf(token, method, {
      from: this.session.wallet.address,
      payTo,
      amount,
      validAfter: 0n,
      nonce: 0n,
      deadline: BigInt(now),
    });
    const facts = { amount: amountView(amount, token), payTo, method };
    const decision = evaluate({ kind: 'payment', spending, token }, policy, now);
    if (!decision.allowed) {
      const { rule, message } = decision.refusal;
      return { ...facts, isAllowed: false, rule, reason: message, ...adviceOn(rule, publicUrl) };
    }
    const charges = 'charges' in decision ? decision.charges : [];
    const asset = assetName(token.chainId, token.address);
    const sums = await this.#spent(
      policy,
      charges.map(({ payees }) => ({ asset, ...(payees !== undefined && { payees }) })),
    );
    const isWithin = charges.every(({ budget }, at) => (sums[at] ?? 0n) + amount <= budget);
    const asksOwner = 'ask' in decision;
    if (isWithin) return { ...facts, isAllowed: true, ...(asksOwner && { asksOwner }) };
    const reason = `The amount is above what is left of the budget of ${policy.windowHours} hours.`;
    return { ...facts, isAllowed: false, rule: 'budget', reason, ...adviceOn('budget', publicUrl) };
  }

  #limitView(
    { asset, perPayment, budget, askAbove }: Limit,
    spent: bigint,
  ): z.infer<typeof PolicyOutput>['limits'][number] {
    const { symbol, decimals } = unitOf(this.service.settings.assets, asset);
    const shown = (value: bigint): { atomic: string; decimal: string } => ({
      atomic: value.toString(),
      decimal: formatUnits(value, decimals),
    });
    const left = budget > spent ? budget - spent : 0n;
    return {
      asset,
      symbol,
      perPayment: shown(perPayment),
      budget: shown(budget),
      spent: shown(spent),
      left: shown(left),
      ...(askAbove !== undefined && { askAbove: shown(askAbove) }),
    };
  }

  async #spent(policy: Policy, questions: readonly SpentQuestion[]): Promise<readonly bigint[]> {
    const since = this.service.now() - policy.windowHours * 3600;
    const sums = await this.service.store.spent(this.session.wallet.address, since, questions);
    if (sums !== undefined) return sums;
    throw new WalletError('unavailable', 'The wallet is being restored. Try again.');
  }
}
