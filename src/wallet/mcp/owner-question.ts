import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  inputRequired,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

/** The name of the one thing a client is asked. */
const OWNER = 'owner';

const Awaiting = z.object({
  status: z.literal('awaiting_owner'),
  amount: z.object({ decimal: z.string(), symbol: z.string() }),
  payTo: z.string(),
  ask: z.object({ url: z.string() }),
});

/**
 * Where a purchase waits for its owner, and the client can show pages: the question that leads its
 * user to the owner's page (an elicitation by URL). The client's answer is no approval: only the
 * owner's signature on the page is. So the client is asked once, and then gets the current state.
 *
 * Clients of 2025-11-25 and before can be asked where the connection is theirs alone (stdio). Over
 * HTTP without sessions their abilities are not known: they read the link in the result.
 */
export function ownerQuestion(
  server: McpServer,
  { mcpReq }: ServerContext,
  { structuredContent }: CallToolResult,
): InputRequiredResult | undefined {
  const awaiting = Awaiting.safeParse(structuredContent);
  if (!awaiting.success || mcpReq.inputResponses !== undefined) return undefined;
  const envelope = mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
  const declared = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ??
    // Deprecated for the newer generation, which is read above; the older one has no other place.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    server.server.getClientCapabilities()) as ClientCapabilities | undefined;
  if (declared?.elicitation?.url === undefined) return undefined;
  const { amount, payTo, ask } = awaiting.data;
  const message = `Approve ${amount.decimal} ${amount.symbol} to ${payTo}? The page shows what it is for; your signature there approves it.`;
  const question = inputRequired.elicitUrl({ message, url: ask.url });
  return inputRequired({ inputRequests: { [OWNER]: question } });
}
