import { z } from 'zod';
import { type JsonObject, object, text } from '../../platform/http/openapi.js';
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

/** Of what is checked by the schema itself, so that the two cannot differ. */
function described(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const written = z.toJSONSchema(schema, { io });
  // The document says for all which dialect it is.
  delete written.$schema;
  return JSON.parse(JSON.stringify(written)) as JsonObject;
}

/** The bodies of the wallet, by name. */
export const WALLET_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  WalletRefusal: described(
    RefusalOutput.partial({ code: true }).describe(
      '`code` is absent where the request could not be read.',
    ),
    'output',
  ),
  WalletCode: object({
    code: { ...text, description: 'The secret of the agent.' },
    user_code: text,
    auth_url: text,
    authUrl: text,
  }),
  WalletStatus: {
    type: 'object',
    required: ['status'],
    properties: { status: { type: 'string', enum: ['pending', 'completed'] }, token: text },
  },
  WalletChallenge: object({
    nonce: text,
    message: { ...text, description: 'EIP-4361.' },
    expiresAt: { type: 'integer', description: 'Unix seconds.' },
  }),
  WalletApprovalChallenge: object({
    nonce: text,
    message: text,
    expiresAt: { type: 'integer' },
    rules: { ...text, description: 'The rules in words.' },
  }),
  WalletToken: object({ token: text }),
  WalletApproved: object({ status: { ...text, const: 'approved' } }),
  WalletDenied: object({ status: { ...text, const: 'denied' } }),
  WalletAsk: described(AskView, 'output'),
  WalletAsks: described(z.object({ asks: z.array(AskView) }), 'output'),
  WalletRevoked: object({ status: { ...text, const: 'revoked' } }),
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
