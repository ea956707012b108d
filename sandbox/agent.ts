import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { formatUnits, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { tellOfFiles } from './agent-files.js';
import { sandboxClient } from './deploy.js';
import { type Started, startProgram } from './processes.js';
import { readState, type SandboxState } from './state.js';
import { balanceOf } from './tokens.js';
import { type Allowance, type ReadyWallet, WalletOwner } from './wallet.js';

/**
 * `npm run agent`: an agent with a wallet of its own buys over MCP from the demo seller, within its
 * owner's rules and not beyond. Ends with 1 when anything it says turns out untrue.
 */

type Facts = Readonly<Record<string, unknown>>;

interface Result {
  readonly isRefused: boolean;
  readonly data: Facts;
}

const PARALLEL = 20;
let untrue = 0;

function check(claim: string, isTrue: boolean): void {
  if (!isTrue) untrue += 1;
  console.log(`  ${isTrue ? 'yes' : 'NO '}  ${claim}`);
}

async function isAlive(state: SandboxState | undefined): Promise<boolean> {
  try {
    return state !== undefined && (await fetch(`${state.facilitatorUrl}/health/live`)).ok;
  } catch {
    return false;
  }
}

/** The sandbox that runs, or one of its own. */
async function sandbox(): Promise<SandboxState> {
  const running = readState();
  if (running !== undefined && (await isAlive(running))) return running;
  console.log('No sandbox is running: starting one.');
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  own = startProgram(
    process.execPath,
    ['--import', 'tsx', main],
    (output) => output.includes('Ready after'),
    { patienceMs: 120_000 },
  );
  await own;
  const state = readState();
  if (state !== undefined) return state;
  throw new Error('The sandbox did not say what it is.');
}

/** A wallet without payments, as budgets count a day. */
function newWallet(state: SandboxState, allowance: Allowance): Promise<ReadyWallet> {
  const account = privateKeyToAccount(generatePrivateKey());
  return new WalletOwner(state.facilitatorUrl, account).prepareWallet(state, allowance);
}

/** An MCP client with the wallet's tools. */
class Agent {
  private constructor(private readonly client: Client) {}

  static async connect(serviceUrl: string, token: string): Promise<Agent> {
    const client = new Client(
      { name: 'demo-agent', version: '1' },
      { versionNegotiation: { mode: 'auto' } },
    );
    const headers = { authorization: `Bearer ${token}` };
    const url = new URL(`${serviceUrl}/mcp`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return new Agent(client);
  }

  get protocol(): string {
    return this.client.getNegotiatedProtocolVersion() ?? 'unknown';
  }

  async tools(): Promise<readonly string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name);
  }

  async call(name: string, given: Facts = {}): Promise<Result> {
    const result = await this.client.callTool({ name, arguments: given });
    return {
      isRefused: result.isError === true,
      data: (result.structuredContent ?? {}) as Facts,
    };
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

async function demonstrate(state: SandboxState): Promise<void> {
  const chain = sandboxClient(state.rpcUrl);
  const holds = async ({ address }: ReadyWallet): Promise<bigint> =>
    balanceOf(chain, state.usd, address);
  const [report, premium] = [`${state.sellerUrl}/report`, `${state.sellerUrl}/premium`];

  console.log('\nAn agent with a wallet of its own: at most 1.00 SUSD a payment, 1.00 a day.');
  const small = await newWallet(state, { perPayment: '1', budget: '1' });
  const agent = await Agent.connect(state.facilitatorUrl, small.token);
  const tools = await agent.tools();
  console.log(`  wallet     ${small.address}`);
  console.log(`  protocol   MCP ${agent.protocol}`);
  console.log(`  tools      ${tools.join(', ')}`);
  check(
    'it has tools to quote and to pay',
    tools.filter((name) => /^payment_(quote|pay)$/.test(name)).length === 2,
  );

  console.log(`\nIt asks what ${report} costs.`);
  const quote = await agent.call('payment_quote', { url: report });
  const [offer] = quote.data['offers'] as readonly Facts[];
  console.log(`  offer      ${amountOf(offer)} to ${textOf(offer, 'payTo')}`);
  check('the rules allow it', offer?.['isAllowed'] === true);

  console.log('\nIt buys it, through this facilitator.');
  const before = await holds(small);
  const purchase = { url: report, maxAmount: '0.10', intentId: 'the-report-of-today' };
  const { data: bought } = await agent.call('payment_pay', purchase);
  const hash = textOf(bought, 'transaction') as Hex;
  console.log(`  content    ${textOf(bought, 'body')}`);
  console.log(`  receipt    ${amountOf(bought)} in transaction ${hash}`);
  const { status } = await chain.getTransactionReceipt({ hash });
  check('it was paid and answered', bought['status'] === 'paid' && status === 'success');
  const { data: again } = await agent.call('payment_pay', purchase);
  check('asked again with the same intent it gets the same', again['transaction'] === hash);
  const spent = before - (await holds(small));
  check(`the wallet has paid ${formatUnits(spent, 18)} SUSD, once`, spent === 10n ** 17n);

  console.log(`\nIt asks for ${premium}, which costs more than is left of its budget.`);
  const beyond = { url: premium, maxAmount: '1', intentId: 'beyond-the-budget' };
  const refused = await agent.call('payment_pay', beyond);
  const refusal = (refused.data['refusal'] ?? {}) as Facts;
  console.log(`  answer     ${textOf(refusal, 'error')}`);
  console.log(`  rule       ${textOf(refusal, 'rule')}: ${textOf(refusal, 'howToChange')}`);
  check('it is refused by its budget', refused.isRefused && refusal['rule'] === 'budget');
  check('nothing was paid', before - (await holds(small)) === spent);
  await agent.close();

  console.log(`\nAnother agent makes ${PARALLEL} payments of 1.00 at once from a budget of 10.00.`);
  const large = await newWallet(state, { perPayment: '1', budget: '10' });
  const buyer = await Agent.connect(state.facilitatorUrl, large.token);
  const had = await holds(large);
  const results = await Promise.all(
    Array.from({ length: PARALLEL }, (_, index) =>
      buyer.call('payment_pay', { url: premium, maxAmount: '1', intentId: `parallel-${index}` }),
    ),
  );
  const paid = results.filter(({ data }) => data['status'] === 'paid').length;
  const byBudget = results.filter(
    ({ data }) => (data['refusal'] as Facts | undefined)?.['rule'] === 'budget',
  ).length;
  const gone = formatUnits(had - (await holds(large)), 18);
  const { data: policy } = await buyer.call('policy_get');
  const [limit] = policy['limits'] as readonly Facts[];
  const counted = textOf(limit?.['spent'] as Facts | undefined, 'decimal');
  check(`${paid} were paid and ${byBudget} refused by the budget`, paid === 10 && byBudget === 10);
  check(`the chain shows ${gone} SUSD gone from the wallet`, gone === '10');
  check(`the wallet has counted ${counted}`, counted === '10');
  await buyer.close();

  const keeper = await newWallet(state, { perPayment: '1', budget: '1' });
  const collector = await Agent.connect(state.facilitatorUrl, keeper.token);
  const start = await holds(keeper);
  await tellOfFiles(state, collector, check, async () => start - (await holds(keeper)));
  await collector.close();
}

function textOf(facts: Facts | undefined, name: string): string {
  const value = facts?.[name];
  return typeof value === 'string' ? value : 'none';
}

function amountOf(facts: Facts | undefined): string {
  const amount = facts?.['amount'] as Facts | undefined;
  return `${textOf(amount, 'decimal')} ${textOf(amount, 'symbol')}`;
}

let own: Promise<Started> | undefined;
const leaving = new AbortController();

/** Also while the sandbox is starting: it is waited for, so that nothing of it stays. */
async function end(code: number): Promise<never> {
  await own?.then(
    (started) => started.stop(),
    () => undefined,
  );
  process.exit(code);
}

function onSignal(): void {
  leaving.abort();
  void end(1);
}
process.on('SIGINT', onSignal);
process.on('SIGTERM', onSignal);

try {
  await demonstrate(await sandbox());
} catch (error) {
  // What fails because we end it says nothing about any claim.
  if (leaving.signal.aborted) await end(1);
  untrue += 1;
  console.error(error instanceof Error ? error.message : error);
}
console.log(untrue === 0 ? '\nAll of it is true.' : `\nNot true: ${untrue}`);
await end(untrue === 0 ? 0 : 1);
