import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  inputRequired,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { WalletTools } from '../tools/shapes.js';
import { answer, answerSchema, type Picture, type Refusing } from './answer.js';

interface ToolFacts<I extends z.ZodObject, O extends z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly input: I;
  readonly output: O;
  readonly annotations: Required<Omit<ToolAnnotations, 'title'>>;
  /** Offered by every wallet when absent. */
  readonly isOffered?: (tools: WalletTools) => boolean;
  readonly run: (
    tools: WalletTools,
    given: z.output<I>,
  ) => Promise<z.output<O> & { readonly qr?: Picture }>;
}

/** Adds a tool to a server, if the wallet offers it. */
export type Tool = (
  server: McpServer,
  name: string,
  tools: WalletTools,
  refusing: Refusing,
) => void;

export function tool<I extends z.ZodObject, O extends z.ZodObject>(facts: ToolFacts<I, O>): Tool {
  const { input, output, isOffered, run, ...shown } = facts;
  const outputSchema = answerSchema(output);
  return (server, name, tools, refusing) => {
    if (isOffered?.(tools) === false) return;
    const inputSchema: z.ZodObject = input;
    server.registerTool(name, { ...shown, inputSchema, outputSchema }, async (given, context) => {
      const work = async () => {
        const ran = await run(tools, input.parse(given));
        return { given: ran, picture: ran.qr };
      };
      const result = await answer(output, work, refusing);
      return ownerQuestion(server, context, result) ?? result;
    });
  };
}

/** Changes nothing and calls only this service. */
export const LOOKS_INSIDE = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;
/** Changes nothing, and calls a chain or a seller. */
export const LOOKS_OUTSIDE = { ...LOOKS_INSIDE, openWorldHint: true } as const;
/** A payment cannot be undone, but one `intentId` pays once, however often it is sent. */
export const SPENDS = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: true,
} as const;

/** The name of the only question to a client. */
const OWNER = 'owner';

const Awaiting = z.object({
  status: z.literal('awaiting_owner'),
  amount: z.object({ decimal: z.string(), symbol: z.string() }),
  payTo: z.string(),
  ask: z.object({ url: z.string() }),
});

/**
 * If a purchase waits for its owner and the client can show pages: the question that leads its user to the owner's page
 * (an elicitation by URL). The client's answer is not an approval; only the owner's signature on the page is. So the
 * client is asked once, and then gets the current state.
 *
 * Clients of 2025-11-25 and earlier can be asked where the connection serves one client (stdio). Over HTTP without
 * sessions their abilities are unknown, so they read the link in the result.
 */
function ownerQuestion(
  server: McpServer,
  { mcpReq }: ServerContext,
  { structuredContent }: CallToolResult,
): InputRequiredResult | undefined {
  const awaiting = Awaiting.safeParse(structuredContent);
  if (!awaiting.success || mcpReq.inputResponses !== undefined) return undefined;
  const envelope = mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
  const declared = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ??
    // Deprecated in the newer generation, which is handled above; the older one has no other place.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    server.server.getClientCapabilities()) as ClientCapabilities | undefined;
  if (declared?.elicitation?.url === undefined) return undefined;
  const { amount, payTo, ask } = awaiting.data;
  const message = `Approve ${amount.decimal} ${amount.symbol} to ${payTo}? The page shows what it is for; your signature there approves it.`;
  const question = inputRequired.elicitUrl({ message, url: ask.url });
  return inputRequired({ inputRequests: { [OWNER]: question } });
}
