import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { privateKeyToAccount } from 'viem/accounts';
import { SETTING_NAMES } from '../src/platform/config/app-config.js';
import { DEPLOYER, FILES_HUB, PAYER, SELLER, SIGNER, WALLET_OWNER } from './accounts.js';
import { startAnvil } from './anvil.js';
import { deploySandbox, sandboxClient } from './deploy.js';
import { startFlakyLine } from './flaky.js';
import { startPostgres } from './postgres.js';
import { isPortFree, type Started } from './processes.js';
import { startRedis } from './redis.js';
import { demoSeller, listen } from './seller.js';
import { makeKeys, printWebhooks } from './seller-keys.js';
import { type Service, startService } from './service.js';
import { settingsOfEnvironment } from './settings.js';
import {
  agentTokenFile,
  removeState,
  sandboxHubDir,
  serviceLogFile,
  writeAgentToken,
  writeState,
} from './state.js';
import { mint } from './tokens.js';
import { WalletOwner, walletSettings } from './wallet.js';

/** That of a local chain; V1 calls it `anvil`. */
const CHAIN_ID = Number(process.env['SANDBOX_CHAIN_ID'] ?? 31_337);
const NETWORK = `eip155:${CHAIN_ID}` as const;
/** Seconds; the block time of BNB Chain. */
const BLOCK_TIME = 0.45;
/** What the payer starts with: 1000 of each token. */
const ENDOWMENT = 1000n * 10n ** 18n;
const ALLOWANCE = { perPayment: '1', budget: '10' };
const STDIO = fileURLToPath(new URL('../dist/wallet/mcp/stdio.js', import.meta.url));

const PORTS = {
  PORT: 4022,
  OPS_PORT: 4023,
  SANDBOX_SELLER_PORT: 4021,
  SANDBOX_FILES_PORT: 4024,
  SANDBOX_FLAKY_PORT: 4025,
  SANDBOX_WEBHOOKS_PORT: 4026,
  SANDBOX_RPC_PORT: 8545,
  SANDBOX_REDIS_PORT: 6390,
  SANDBOX_POSTGRES_PORT: 6391,
};

type PortSetting = keyof typeof PORTS;

let isStopping = false;
/** Whether the state on disk is ours: it may be that of another sandbox, which uses our port. */
let hasState = false;
const running: { stop(): Promise<unknown> }[] = [];
const startedAt = performance.now();

/** Runs one step and prints it with the seconds it took. */
async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const result = await work();
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(`  ${what.padEnd(58)} ${seconds.padStart(5)} s`);
  return result;
}

/** @throws Error that names all ports in use, because beside another sandbox most of them are. */
async function freePorts(): Promise<Readonly<Record<PortSetting, number>>> {
  const ports = Object.entries(PORTS).map(
    ([setting, usual]) => [setting, Number(process.env[setting] ?? usual)] as const,
  );
  const free = await Promise.all(ports.map(([, port]) => isPortFree(port)));
  const taken = ports.filter((_, at) => free[at] === false);
  if (taken.length > 0) {
    const named = taken.map(([setting, port]) => `  ${setting}=${port}`).join('\n');
    throw new Error(`Ports in use. Set other ones, or end what uses them:\n${named}`);
  }
  return Object.fromEntries(ports) as Record<PortSetting, number>;
}

function keep<T extends Started>(started: T): T {
  running.push(started);
  return started;
}

function keepServer(server: Server): void {
  running.push({
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  });
}

async function stopAll(): Promise<void> {
  if (hasState) removeState();
  for (const one of [...running].reverse()) await one.stop();
}

async function start(): Promise<void> {
  console.log('Starting the sandbox: everything on this machine, nothing of value.');
  const free = await freePorts();
  const ports = {
    service: free.PORT,
    ops: free.OPS_PORT,
    seller: free.SANDBOX_SELLER_PORT,
    files: free.SANDBOX_FILES_PORT,
    flaky: free.SANDBOX_FLAKY_PORT,
    webhooks: free.SANDBOX_WEBHOOKS_PORT,
    rpc: free.SANDBOX_RPC_PORT,
    redis: free.SANDBOX_REDIS_PORT,
    postgres: free.SANDBOX_POSTGRES_PORT,
  };
  const redis = keep(await step('Redis', () => startRedis(ports.redis)));
  const postgres = keep(await step('PostgreSQL', () => startPostgres(ports.postgres)));
  const anvil = keep(
    await step('local chain (anvil)', () =>
      startAnvil({ port: ports.rpc, chainId: CHAIN_ID, blockTime: BLOCK_TIME }),
    ),
  );
  const { usd, coin, walletFactory } = await step(
    'Permit2, Multicall3, proxies, two tokens, wallet factory',
    () => deploySandbox(anvil.url),
  );
  await step('money for the payer', async () => {
    const client = sandboxClient(anvil.url, DEPLOYER.key);
    for (const token of [usd, coin]) await mint(client, token, PAYER.address, ENDOWMENT);
  });
  // Keys and journal end with the chain they are for.
  const walletDir = await mkdtemp(join(tmpdir(), 'x402-wallet-'));
  running.push({ stop: () => rm(walletDir, { recursive: true, force: true }) });
  const keys = makeKeys(walletDir);
  const filesUrl = `http://127.0.0.1:${ports.files}`;
  const flakyUrl = `http://127.0.0.1:${ports.flaky}`;
  const service = keep(
    await step('facilitator', () =>
      startService(ports.service, {
        REDIS_URL: redis.url,
        DATABASE_URL: postgres.url,
        RECONCILE_AT: '03:30',
        ROLES: 'all',
        OPS_PORT: String(ports.ops),
        ...keys.settings,
        NETWORKS: NETWORK,
        [`RPC_URLS_${CHAIN_ID}`]: anvil.url,
        SIGNER_KEYS: SIGNER.key,
        [`APPROVAL_SPONSORING_${CHAIN_ID}`]: '1',
        BATCH_SAFE_ASSETS: `${NETWORK}/${usd},${NETWORK}/${coin}`,
        DOCTOR: 'true',
        DOCTOR_ALLOW: '127.0.0.1,localhost',
        CATALOGUE_ALLOW: '127.0.0.1,localhost',
        WALLET_CATALOGUE_URL: `http://127.0.0.1:${ports.service}`,
        ERC6492_FACTORIES: walletFactory,
        BUILDER_CODE: 'x402_sandbox',
        HUB_DATA_DIR: sandboxHubDir(),
        HUB_SALES: 'true',
        HUB_COMPACT_AFTER_SECONDS: '86400',
        HUB_SALES_SECRET: randomBytes(32).toString('hex'),
        HUB_ADDRESS: SIGNER.address,
        HUB_PUBLIC_URL: `http://127.0.0.1:${ports.service}/api`,
        ...walletSettings(NETWORK, { usd, coin }, walletDir, [ports.seller, ports.flaky]),
        WALLET_HUB_URL: filesUrl,
        WALLET_HUB_ADDRESS: FILES_HUB.address,
        ...settingsOfEnvironment(process.env, SETTING_NAMES, CHAIN_ID),
      }),
    ),
  );
  keep(
    await step('private file hub for agents, and a line to it that breaks', async () => {
      keepServer(await startFlakyLine(filesUrl, ports.flaky));
      return startService(ports.files, {
        ROLES: 'hub',
        HUB_MODE: 'private',
        HUB_ADDRESS: FILES_HUB.address,
        // One hub in a database of Redis.
        REDIS_URL: `${redis.url}/1`,
        HUB_DATA_DIR: join(walletDir, 'files'),
        HUB_SALES: 'true',
        HUB_SALES_SECRET: randomBytes(32).toString('hex'),
        HUB_COMPACT_AFTER_SECONDS: '86400',
        HUB_FACILITATOR_URL: service.url,
        HUB_PUBLIC_URL: `${flakyUrl}/api`,
      });
    }),
  );
  await step('demo seller', async () => {
    const facilitatorUrl = service.url;
    const payTo = SELLER.address;
    const app = demoSeller({ facilitatorUrl, network: NETWORK, payTo, usd, coin });
    keepServer(await listen(app, ports.seller));
  });
  await step('webhooks of the seller, printed here', async () => {
    keepServer(await printWebhooks(service.url, keys.seller, ports.webhooks));
  });
  const wallet = await step('agent wallet: owner signs in, rules, money', async () => {
    const owner = new WalletOwner(service.url, privateKeyToAccount(WALLET_OWNER.key));
    return owner.prepareWallet({ rpcUrl: anvil.url, usd }, ALLOWANCE);
  });
  hasState = true;
  writeAgentToken(wallet.token);
  keepLog(service);
  const sellerUrl = `http://127.0.0.1:${ports.seller}`;
  writeState({
    facilitatorUrl: service.url,
    sellerUrl,
    rpcUrl: anvil.url,
    usd,
    coin,
    walletFactory,
    chainId: CHAIN_ID,
    filesUrl,
    flakyUrl,
    filesHub: FILES_HUB.address,
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`
Ready after ${seconds} s.

  facilitator   ${service.url}         (its pages: API, marketplace, seller check, files, wallet)
  operators     ${service.opsUrl}/admin   (key ${keys.operator};
                /metrics and /health in detail need none)
  its log       ${serviceLogFile()}
  demo seller   ${sellerUrl}/report  (0.10 SUSD; also /permit2, /sponsored, /approval, /v1/report, and /premium at 1.00)
  seller's key  ${keys.seller}
                (lists, exports, receipts, webhooks and X-Simulate:
                curl -H "X-API-Key: ${keys.seller}" ${service.url}/v2/settlements)
  seller check  ${service.url}/doctor  (or npm run doctor -- URL)
  file hub      ${service.url}/api/info  (POST /api/upload, GET /api/download)
  agents' files ${filesUrl}/api/info  (private; over a line that breaks: ${flakyUrl})
  chain         ${anvil.url}         (chain id ${CHAIN_ID}, a block each ${BLOCK_TIME} s)
  payer         ${PAYER.address}  with 1000 SUSD and 1000 SCOIN
  agent wallet  ${wallet.address}  with 100 SUSD; may pay ${ALLOWANCE.perPayment} at once, ${ALLOWANCE.budget} a day
  its owner     ${service.url}/wallet  (import the key into a browser wallet: ${WALLET_OWNER.key})
  keys          anvil's published ones: never send them money

Buy the report with the stock client, in another terminal:

  npm run pay

See an agent buy within the rules of its wallet, and be refused beyond them:

  npm run agent

${connecting(service.url)}

Ctrl-C ends everything.`);
  service.child.on('exit', () => {
    if (isStopping) return;
    isStopping = true;
    console.error(`The facilitator has ended. Its last lines:\n${service.log().slice(-2000)}`);
    void stopAll().then(() => process.exit(1));
  });
}

/** Writes the log of the facilitator to a file, for readers who try the runbook. */
function keepLog(service: Service): void {
  const file = createWriteStream(serviceLogFile());
  file.write(service.log());
  service.child.stdout?.pipe(file);
}

/** What connects an MCP client to the agent's wallet, in one paste. The token stays in its file. */
function connecting(serviceUrl: string): string {
  const file = agentTokenFile();
  const env = { X402_WALLET_URL: serviceUrl, X402_WALLET_TOKEN_FILE: file };
  const program = { command: process.execPath, args: [STDIO], env };
  const stdio = { mcpServers: { 'x402-wallet': program } };
  return `Connect an agent of yours to the wallet, by HTTP or by a program; the token is good for 8 hours:

  claude mcp add --transport http x402-wallet ${serviceUrl}/mcp --header "Authorization: Bearer $(cat ${file})"

  ${JSON.stringify(stdio)}`;
}

function onSignal(): void {
  if (isStopping) return;
  isStopping = true;
  console.log('\nStopping.');
  void stopAll().then(() => process.exit(0));
}
process.on('SIGINT', onSignal);
process.on('SIGTERM', onSignal);

try {
  await start();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  await stopAll();
  process.exit(1);
}
