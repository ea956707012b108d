import type { z } from 'zod';
import type { McpSettings } from '../../platform/config/mcp-settings.js';
import {
  FileDeleteOutput,
  FileGetOutput,
  type FileListInput,
  FileListOutput,
  type FileNameInput,
  type FilePutInput,
  FilePutOutput,
  type FileShareInput,
  FileShareOutput,
  type FileTools,
  type FileUnshareInput,
  FileUnshareOutput,
  type FileUploadInput,
  FileUploadOutput,
} from '../tools/file-shapes.js';
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
import { RemoteService, UNKNOWN } from './remote-service.js';

/** The tools of a wallet that another process holds, asked over HTTP with the agent's token. */
export class RemoteWalletTools implements WalletTools {
  /** Only the service knows; without a catalogue its answer says so. */
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

/** The files of a wallet that another process holds. */
class RemoteFiles implements FileTools {
  constructor(private readonly service: RemoteService) {}

  put(body: z.infer<typeof FilePutInput>): Promise<z.infer<typeof FilePutOutput>> {
    return this.#ask(FilePutOutput, 'put', body);
  }

  uploadAddress(body: z.infer<typeof FileUploadInput>): Promise<z.infer<typeof FileUploadOutput>> {
    return this.#ask(FileUploadOutput, 'upload-address', body);
  }

  get(body: z.infer<typeof FileNameInput>): Promise<z.infer<typeof FileGetOutput>> {
    return this.#ask(FileGetOutput, 'get', body);
  }

  list(body: z.infer<typeof FileListInput>): Promise<z.infer<typeof FileListOutput>> {
    return this.#ask(FileListOutput, 'list', body);
  }

  share(body: z.infer<typeof FileShareInput>): Promise<z.infer<typeof FileShareOutput>> {
    return this.#ask(FileShareOutput, 'share', body);
  }

  unshare(body: z.infer<typeof FileUnshareInput>): Promise<z.infer<typeof FileUnshareOutput>> {
    return this.#ask(FileUnshareOutput, 'unshare', body);
  }

  remove(body: z.infer<typeof FileNameInput>): Promise<z.infer<typeof FileDeleteOutput>> {
    return this.#ask(FileDeleteOutput, 'delete', body);
  }

  #ask<T>(schema: z.ZodType<T>, verb: string, body: object): Promise<T> {
    return this.service.ask(schema, { method: 'POST', path: `/files/${verb}`, body });
  }
}
