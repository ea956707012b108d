import { z } from 'zod';
import { FETCH_METHODS } from '../../platform/fetch/safe-fetch.js';
import { fileName, type FileTools, wholeText } from './file-shapes.js';
import type { FundAnswer, FundInput } from './fund-shapes.js';
import type {
  ServiceDetailsInput,
  ServiceDetailsOutput,
  ServiceSearchInput,
  ServiceSearchOutput,
} from './service-shapes.js';

/** Inputs and outputs of agents' tools, the same over HTTP and MCP. */

const url = z.string().max(2048).describe('http or https URL');
const headers = z
  .record(z.string().max(64), z.string().max(4096))
  .default({})
  .describe('Request headers, sent only to the origin of the URL.');

export const QuoteInput = z.strictObject({
  url,
  method: z.enum(['GET', 'HEAD']).default('GET'),
  headers,
});

export const PayInput = z.strictObject({
  url,
  method: z.enum(FETCH_METHODS).default('GET'),
  headers,
  body: wholeText
    .max(262_144)
    .optional()
    .describe('Request body; sent as JSON if the text is JSON and no header names another type'),
  maxAmount: z
    .string()
    .regex(/^\d{1,18}(\.\d{1,18})?$/, 'must be a decimal number')
    .describe('The most to pay, in whole tokens as a decimal, such as "0.10"'),
  intentId: z
    .string()
    .regex(/^[\w.:-]{1,128}$/, 'must be 1 to 128 letters, digits or any of _ . : -')
    .describe(
      'Your name for this purchase. Use the same intentId when you repeat the request for the same purchase: the wallet pays once. A new intentId is a new payment.',
    ),
  saveTo: z
    .literal('hub')
    .optional()
    .describe(
      'Save the bought content as a file of this wallet, instead of returning it: for large content',
    ),
  saveAs: fileName
    .optional()
    .describe('Name of the saved file; by default the last part of the path'),
});

export const CallToolInput = z.strictObject({
  url: url.describe('http or https URL of an MCP server (streamable HTTP)'),
  tool: z
    .string()
    .regex(/^[\w./:-]{1,128}$/, 'must be 1 to 128 letters, digits or any of _ . / : -')
    .describe('Name of a tool of this server'),
  arguments: z
    .record(z.string().max(256), z.unknown())
    .default({})
    .describe('Arguments of the tool'),
  headers,
  maxAmount: PayInput.shape.maxAmount,
  intentId: PayInput.shape.intentId,
});

export const StatusInput = z.strictObject({ intentId: PayInput.shape.intentId });
export const HistoryInput = z.strictObject({ limit: z.int().min(1).max(100).default(20) });
export const NoInput = z.strictObject({});

const Amount = z.object({
  atomic: z.string().describe('Atomic units'),
  decimal: z.string().describe('Whole tokens'),
  symbol: z.string(),
  asset: z.string(),
  network: z.string().describe('CAIP-2'),
});

export const WalletOutput = z.object({
  address: z.string(),
  owner: z.string(),
  custody: z.enum(['local', 'privy']),
  networks: z.array(z.string()),
  active: z.boolean().describe('false: the owner has stopped the wallet'),
});

export const BalanceOutput = z.object({
  address: z.string(),
  balances: z.array(Amount),
  unreadable: z.array(z.string()).describe('Assets whose balance could not be read now'),
});

export const QuoteOutput = z.object({
  url: z.string(),
  httpStatus: z.int(),
  isFree: z.boolean(),
  offers: z.array(
    z.object({
      amount: Amount,
      payTo: z.string(),
      method: z.enum(['eip3009', 'permit2']),
      isAllowed: z.boolean(),
      asksOwner: z
        .boolean()
        .optional()
        .describe('true: payment_pay asks the owner first, and pays after the approval'),
      rule: z.string().optional().describe('The rule that forbids this offer'),
      reason: z.string().optional(),
      howToChange: z.string().optional(),
    }),
  ),
  otherOffers: z.int().describe('Offers this wallet cannot pay'),
});

const PaymentFacts = {
  intentId: z.string(),
  status: z.enum([
    'paid',
    'free',
    'presented',
    'pending',
    'paid_without_content',
    'paid_not_saved',
    'not_paid',
    'awaiting_owner',
    'approved',
    'denied',
    'expired',
  ]),
  url: z.string(),
  method: z.string().describe('HTTP method, or "tools/call" and the name of a tool'),
  at: z.string(),
  amount: Amount.optional(),
  payTo: z.string().optional(),
  transaction: z.string().optional(),
  httpStatus: z
    .int()
    .optional()
    .describe('For a tool: 200 result, 402 not paid, 500 error of the tool, 400 error in the call'),
  ask: z
    .object({ url: z.string(), expiresAt: z.string() })
    .optional()
    .describe(
      'The page where the owner approves or denies the payment, and the deadline. For the user, not for you.',
    ),
  message: z.string(),
};

export const PaymentOutput = z.object({
  ...PaymentFacts,
  contentType: z.string().optional(),
  body: z.string().optional(),
  bodyEncoding: z.enum(['utf8', 'base64']).optional(),
  isCutOff: z.boolean().optional().describe('true: the answer was too large and is cut'),
  saved: z
    .object({ name: z.string(), size: z.int(), sha256: z.string() })
    .optional()
    .describe('The bought content as a file of this wallet, instead of a body'),
});

export const HistoryOutput = z.object({ payments: z.array(z.object(PaymentFacts)) });

const LimitOutput = z.object({
  asset: z.string(),
  symbol: z.string(),
  perPayment: z.object({ atomic: z.string(), decimal: z.string() }),
  budget: z.object({ atomic: z.string(), decimal: z.string() }),
  askAbove: z
    .object({ atomic: z.string(), decimal: z.string() })
    .optional()
    .describe('A payment above this amount needs the approval of the owner'),
  spent: z.object({ atomic: z.string(), decimal: z.string() }),
  left: z.object({ atomic: z.string(), decimal: z.string() }),
});

export const PolicyOutput = z.object({
  revision: z.int(),
  active: z.boolean(),
  windowHours: z.int(),
  limits: z.array(LimitOutput),
  payeeLists: z.array(
    z.object({
      name: z.string(),
      payees: z.array(z.string()),
      limits: z.array(LimitOutput),
    }),
  ),
  otherPayees: z.boolean(),
  scopes: z.array(z.string()),
  howToChange: z.string(),
});

/** The tools of one wallet. Every method throws `WalletError`. */
export interface WalletTools {
  /** Whether the operator has named a catalogue; otherwise its tools are not offered. */
  readonly hasCatalogue: boolean;
  /** Whether the operator has named a file hub; otherwise its tools are not offered. */
  readonly hasFiles: boolean;
  readonly files: FileTools;
  wallet(): Promise<z.infer<typeof WalletOutput>>;
  balance(): Promise<z.infer<typeof BalanceOutput>>;
  fund(asked: z.infer<typeof FundInput>): Promise<FundAnswer>;
  quote(input: z.infer<typeof QuoteInput>): Promise<z.infer<typeof QuoteOutput>>;
  pay(input: z.infer<typeof PayInput>): Promise<z.infer<typeof PaymentOutput>>;
  callTool(input: z.infer<typeof CallToolInput>): Promise<z.infer<typeof PaymentOutput>>;
  status(input: z.infer<typeof StatusInput>): Promise<z.infer<typeof PaymentOutput>>;
  history(input: z.infer<typeof HistoryInput>): Promise<z.infer<typeof HistoryOutput>>;
  policy(): Promise<z.infer<typeof PolicyOutput>>;
  searchServices(
    asked: z.infer<typeof ServiceSearchInput>,
  ): Promise<z.infer<typeof ServiceSearchOutput>>;
  serviceDetails(
    asked: z.infer<typeof ServiceDetailsInput>,
  ): Promise<z.infer<typeof ServiceDetailsOutput>>;
}
