import { z } from 'zod';
import { CAIP2_EVM } from '../../protocol/payment/network.js';

/** Requests for money to a wallet, the same over HTTP and MCP. */

export const FundInput = z.strictObject({
  token: z
    .string()
    .max(42)
    .optional()
    .describe(
      'Symbol or address of a token of wallet_balance, or "native" for the coin of a network',
    ),
  network: z
    .string()
    .regex(CAIP2_EVM, 'must be a network such as eip155:56')
    .optional()
    .describe('Required if the token is on several networks'),
  amount: z
    .string()
    .regex(/^\d{1,18}(\.\d{1,18})?$/, 'must be a decimal number')
    .optional()
    .describe('In whole tokens; if absent, the payer chooses'),
});

export const FundOutput = z.object({
  address: z.string().describe('Address of the wallet, the same on every network'),
  networks: z
    .array(z.string())
    .describe('CAIP-2 names. The wallet does not see coins that are sent on another network'),
  request: z
    .object({
      uri: z.string().describe('EIP-681 URI, which wallets open as a link'),
      symbol: z.string(),
      asset: z.string().describe('The zero address for the native coin'),
      network: z.string().describe('CAIP-2'),
      atomic: z.string().optional().describe('Atomic units'),
      decimal: z.string().optional().describe('Whole tokens'),
    })
    .optional(),
  qrText: z.string().describe('Text of the QR code'),
});

/** With the QR code, which MCP returns as a separate picture. */
export const FundAnswer = FundOutput.extend({
  qr: z.object({ mimeType: z.literal('image/png'), data: z.string().describe('Base64') }),
});
export type FundAnswer = z.infer<typeof FundAnswer>;
