import type { z } from 'zod';
import type { McpSettings } from '../../platform/config/mcp-settings.js';
import type { FileTools } from '../tools/file-shapes.js';
import { FundAnswer, type FundInput } from '../tools/fund-shapes.js';
import {
  type ServiceDetailsInput,
  ServiceDetailsOutput,
  type ServiceSearchInput,
  ServiceSearchOutput,
} from '../tools/service-shapes.js';
import {
  BalanceOutput,
  type CallToolInput,
  type HistoryInput,
  HistoryOutput,
  type PayInput,
  PaymentOutput,
  PolicyOutput,
  type QuoteInput,
  QuoteOutput,
  type StatusInput,
  WalletOutput,
  type WalletTools,
} from '../tools/shapes.js';
import { RemoteFiles } from './remote-files.js';
import { RemoteService, UNKNOWN } from './remote-service.js';

/** The tools of a wallet that another process holds, asked over HTTP with the agent's token. */
export class RemoteWalletTools implements WalletTools {
  /** Known to the service alone: where it has none, it says so when it is asked. */
  readonly hasCatalogue = true;

  readonly hasFiles = true;
  readonly files: FileTools;
  readonly #service: RemoteService;

  constructor(settings: McpSettings) {
    this.#service = new RemoteService(settings);
    this.files = new RemoteFiles(this.#service);
  }

  wallet(): Promise<z.infer<typeof WalletOutput>> {
    return this.#service.ask(WalletOutput, { path: '' });
  }

  balance(): Promise<z.infer<typeof BalanceOutput>> {
    return this.#service.ask(BalanceOutput, { path: '/balance' });
  }

  fund(body: z.infer<typeof FundInput>): Promise<FundAnswer> {
    return this.#service.ask(FundAnswer, { method: 'POST', path: '/fund', body });
  }

  quote(body: z.infer<typeof QuoteInput>): Promise<z.infer<typeof QuoteOutput>> {
    return this.#service.ask(QuoteOutput, { method: 'POST', path: '/payments/quote', body });
  }

  pay(body: z.infer<typeof PayInput>): Promise<z.infer<typeof PaymentOutput>> {
    const question = { method: 'POST', path: '/payments', body, silence: UNKNOWN } as const;
    return this.#service.ask(PaymentOutput, question);
  }

  callTool(body: z.infer<typeof CallToolInput>): Promise<z.infer<typeof PaymentOutput>> {
    const question = { method: 'POST', path: '/payments/tool', body, silence: UNKNOWN } as const;
    return this.#service.ask(PaymentOutput, question);
  }

  status({ intentId }: z.infer<typeof StatusInput>): Promise<z.infer<typeof PaymentOutput>> {
    return this.#service.ask(PaymentOutput, { path: `/payments/${encodeURIComponent(intentId)}` });
  }

  history({ limit }: z.infer<typeof HistoryInput>): Promise<z.infer<typeof HistoryOutput>> {
    return this.#service.ask(HistoryOutput, { path: `/payments?limit=${limit}` });
  }

  policy(): Promise<z.infer<typeof PolicyOutput>> {
    return this.#service.ask(PolicyOutput, { path: '/policy' });
  }

  searchServices(
    body: z.infer<typeof ServiceSearchInput>,
  ): Promise<z.infer<typeof ServiceSearchOutput>> {
    return this.#service.ask(ServiceSearchOutput, {
      method: 'POST',
      path: '/services/search',
      body,
    });
  }

  serviceDetails(
    body: z.infer<typeof ServiceDetailsInput>,
  ): Promise<z.infer<typeof ServiceDetailsOutput>> {
    return this.#service.ask(ServiceDetailsOutput, {
      method: 'POST',
      path: '/services/details',
      body,
    });
  }
}
