import { readFileSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const {
  X402_WALLET_URL = 'http://127.0.0.1:4022',
  X402_WALLET_TOKEN_FILE = '.sandbox/agent-token',
} = process.env;
const url = process.argv[2] ?? 'http://127.0.0.1:4021/report';
const token = readFileSync(X402_WALLET_TOKEN_FILE, 'utf8').trim();

const client = new Client(
  { name: 'example-agent', version: '1' },
  { versionNegotiation: { mode: 'auto' } },
);
await client.connect(
  new StreamableHTTPClientTransport(new URL('/mcp', X402_WALLET_URL), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  }),
);

/** A refusal is a result too: it names the rule, and how the owner changes it. */
async function call(name, given) {
  const { isError, structuredContent } = await client.callTool({ name, arguments: given });
  if (isError !== true) return structuredContent;
  console.error(JSON.stringify(structuredContent, null, 2));
  process.exit(1);
}

const { offers } = await call('payment_quote', { url });
const [{ amount, isAllowed }] = offers;
console.log(`costs ${amount.decimal} ${amount.symbol}, allowed: ${isAllowed}`);

// One intent is one payment: asked again with the same id, the agent gets the same answer.
const intentId = process.argv[3] ?? `report-${new Date().toISOString().slice(0, 10)}`;
const bought = await call('payment_pay', { url, maxAmount: '0.10', intentId });
console.log(`${bought.status} ${bought.body}`);
console.log(`transaction ${bought.transaction}`);
await client.close();
