import { z } from 'zod';
import { type JsonObject, object, PLACE, text } from '../../platform/http/openapi.js';
import { CAIP2_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import { AskView } from '../asks/ask-view.js';
import { PolicyText } from '../rules/policy.js';
import {
  FileDeleteOutput,
  FileGetOutput,
  FileListInput,
  FileListOutput,
  FileNameInput,
  FilePutInput,
  FilePutOutput,
  FileShareInput,
  FileShareOutput,
  FileUnshareInput,
  FileUnshareOutput,
  FileUploadInput,
  FileUploadOutput,
} from '../tools/file-shapes.js';
import { FundAnswer, FundInput } from '../tools/fund-shapes.js';
import { RefusalOutput } from '../tools/refusal.js';
import {
  ServiceDetailsInput,
  ServiceDetailsOutput,
  ServiceSearchInput,
  ServiceSearchOutput,
} from '../tools/service-shapes.js';
import {
  BalanceOutput,
  CallToolInput,
  HistoryOutput,
  PayInput,
  PaymentOutput,
  PolicyOutput,
  QuoteInput,
  QuoteOutput,
  WalletOutput,
} from '../tools/shapes.js';

/** From the schema that also validates, so that the two cannot differ. */
function described(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const written = z.toJSONSchema(schema, { io });
  // The document names the dialect once for all schemas.
  delete written.$schema;
  return JSON.parse(JSON.stringify(written)) as JsonObject;
}

/** The bodies of the wallet, by name. */
export const WALLET_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  WalletRefusal: described(
    RefusalOutput.extend({
      path: z.string().optional().describe(PLACE.path.description),
      expected: z.string().optional(),
      got: z.string().optional().describe(PLACE.got.description),
    }),
    'output',
  ),
  WalletAsk: described(AskView, 'output'),
  WalletAsks: described(z.object({ asks: z.array(AskView) }), 'output'),
  Wallet: described(WalletOutput.extend({ ethereum: z.string() }), 'output'),
  WalletBalances: described(BalanceOutput, 'output'),
  WalletRules: described(PolicyText, 'input'),
  WalletPolicy: described(PolicyOutput, 'output'),
  WalletQuoteRequest: described(QuoteInput, 'input'),
  WalletQuote: described(QuoteOutput, 'output'),
  WalletPurchase: described(PayInput, 'input'),
  WalletToolCall: described(CallToolInput, 'input'),
  WalletPayment: described(PaymentOutput, 'output'),
  WalletPayments: described(HistoryOutput, 'output'),
  WalletFundQuestion: described(FundInput, 'input'),
  WalletFund: described(FundAnswer, 'output'),
  WalletServiceSearch: described(ServiceSearchInput, 'input'),
  WalletServices: described(ServiceSearchOutput, 'output'),
  WalletServiceQuestion: described(ServiceDetailsInput, 'input'),
  WalletService: described(ServiceDetailsOutput, 'output'),
  WalletFilePut: described(FilePutInput, 'input'),
  WalletFile: described(FilePutOutput, 'output'),
  WalletFileUpload: described(FileUploadInput, 'input'),
  WalletUploadAddress: described(FileUploadOutput, 'output'),
  WalletFileName: described(FileNameInput, 'input'),
  WalletFileContent: described(FileGetOutput, 'output'),
  WalletFileQuery: described(FileListInput, 'input'),
  WalletFiles: described(FileListOutput, 'output'),
  WalletFileShare: described(FileShareInput, 'input'),
  WalletSharedFile: described(FileShareOutput, 'output'),
  WalletFileUnshare: described(FileUnshareInput, 'input'),
  WalletTakenBack: described(FileUnshareOutput, 'output'),
  WalletDeletedFile: described(FileDeleteOutput, 'output'),
  WalletCall: {
    type: 'object',
    required: ['method'],
    properties: {
      method: {
        ...text,
        enum: [
          'personal_sign',
          'eth_signTypedData_v4',
          'eth_sendTransaction',
          'eth_getBalance',
          'eth_call',
        ],
      },
      caip2: { ...CAIP2_SCHEMA, description: 'For all but the two that sign without sending.' },
      params: {
        anyOf: [
          { type: 'object', additionalProperties: true },
          { type: 'array', items: {} },
        ],
      },
    },
    additionalProperties: true,
  },
  WalletReply: object({ method: text, data: { type: 'object', additionalProperties: true } }),
};
