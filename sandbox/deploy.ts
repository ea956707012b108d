import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  type Address,
  concat,
  createTestClient,
  encodeDeployData,
  getContractAddress,
  type Hex,
  http,
  publicActions,
  toHex,
  type TransactionReceipt,
  walletActions,
  zeroAddress,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { DEPLOYER } from './accounts.js';
import { type Artifact, type Artifacts, compileFolder } from './compile.js';

export const PERMIT2: Address = '0x000000000022D473030F116dDEE9F6B43aC78BA3';
export const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11';
export const EXACT_PROXY: Address = '0x402085c248EeA27D92E8b30b2C58ed07f9E20001';
export const UPTO_PROXY: Address = '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002';
export const BATCH_SETTLEMENT: Address = '0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003';
export const ERC3009_COLLECTOR: Address = '0x4020806089470a89826cB9fB1f4059150b550004';
export const PERMIT2_COLLECTOR: Address = '0x4020425FAf3B746C082C2f942b4E5159887B0005';
/** Arachnid's deterministic deployment proxy; anvil has it from its first block. */
const CREATE2_DEPLOYER: Address = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
const PERMIT2_SALT: Hex = '0x0000000000000000000000000000000000000000d3af2663da51c10215000000';

/** The folder of the sandbox's own contracts. */
export const CONTRACTS = fileURLToPath(new URL('./contracts', import.meta.url));

export interface Deployment {
  /** EIP-3009 and EIP-2612, 18 decimals. */
  readonly usd: Address;
  /** Plain ERC-20, 18 decimals. */
  readonly coin: Address;
  /** Makes smart wallets (ERC-1271). */
  readonly walletFactory: Address;
}

export const USD_NAME = 'Sandbox USD';
export const COIN_NAME = 'Sandbox Coin';
export const USD_VERSION = '1';

export type SandboxClient = ReturnType<typeof sandboxClient>;

/** Everything a test or the sandbox does on its chain, signed by the deployer unless told otherwise. */
export function sandboxClient(rpcUrl: string, key: Hex = DEPLOYER.key) {
  return createTestClient({
    mode: 'anvil',
    account: privateKeyToAccount(key),
    transport: http(rpcUrl, { retryCount: 0 }),
    pollingInterval: 50,
  })
    .extend(publicActions)
    .extend(walletActions);
}

/** Puts the contracts of the x402 schemes and two tokens on a fresh local chain. */
export async function deploySandbox(
  rpcUrl: string,
  artifacts: Artifacts = compileFolder(CONTRACTS),
): Promise<Deployment> {
  const client = sandboxClient(rpcUrl);
  await deployPermit2(client);
  await client.setCode({ address: MULTICALL3, bytecode: await multicall3Code(client) });
  const canonical: [string, Address, readonly unknown[]][] = [
    ['SandboxExactProxy', EXACT_PROXY, [PERMIT2]],
    ['SandboxUptoProxy', UPTO_PROXY, [PERMIT2]],
    ['SandboxBatchSettlement', BATCH_SETTLEMENT, []],
    ['SandboxErc3009Collector', ERC3009_COLLECTOR, [BATCH_SETTLEMENT]],
    ['SandboxPermit2Collector', PERMIT2_COLLECTOR, [BATCH_SETTLEMENT, PERMIT2]],
  ];
  for (const [name, address, args] of canonical) {
    await deployAt(client, artifactOf(artifacts, name), address, args);
  }
  // The guards of the proxies start at 1; code alone does not bring its storage along.
  for (const address of [EXACT_PROXY, UPTO_PROXY]) {
    await client.setStorageAt({ address, index: 0, value: `0x${'1'.padStart(64, '0')}` });
  }
  const usd = await deploy(client, artifactOf(artifacts, 'SandboxUsd'), [
    USD_NAME,
    'SUSD',
    USD_VERSION,
    18,
  ]);
  const coin = await deploy(client, artifactOf(artifacts, 'SandboxCoin'), [COIN_NAME, 'SCOIN', 18]);
  const walletFactory = await deploy(client, artifactOf(artifacts, 'SandboxWalletFactory'));
  return { usd, coin, walletFactory };
}

export function artifactOf(artifacts: Artifacts, name: string): Artifact {
  const artifact = artifacts[name];
  if (artifact === undefined) throw new Error(`there is no contract ${name}`);
  return artifact;
}

/** Deploys a contract without waiting for the next block. */
export async function deploy(
  client: SandboxClient,
  { abi, bytecode }: Artifact,
  args: readonly unknown[] = [],
): Promise<Address> {
  const data = encodeDeployData({ abi, bytecode, args });
  const { contractAddress } = await sendNow(client, { data });
  if (!contractAddress) throw new Error('a deployment left no contract');
  return contractAddress;
}

/** Sends a transaction and has it mined at once, on chains that mine by time too. */
export async function sendNow(
  client: SandboxClient,
  transaction: { readonly to?: Address; readonly data?: Hex; readonly value?: bigint },
): Promise<TransactionReceipt> {
  const hash = await client.sendTransaction({ chain: null, ...transaction });
  await client.mine({ blocks: 1 });
  const receipt = await client.waitForTransactionReceipt({ hash, timeout: 20_000 });
  if (receipt.status !== 'success') throw new Error(`transaction ${hash} reverted`);
  return receipt;
}

/** Puts a contract of the sandbox at the address of the canonical one. */
async function deployAt(
  client: SandboxClient,
  artifact: Artifact,
  address: Address,
  args: readonly unknown[],
): Promise<void> {
  const deployed = await deploy(client, artifact, args);
  const bytecode = (await client.getCode({ address: deployed })) ?? '0x';
  await client.setCode({ address, bytecode });
}

/** The real Permit2 at its real address: the address follows from its init code and salt alone. */
async function deployPermit2(client: SandboxClient): Promise<void> {
  if ((await client.getCode({ address: PERMIT2 })) !== undefined) return;
  const folder = dirname(createRequire(import.meta.url).resolve('hardhat-predeploy/package.json'));
  const initCode = toHex(readFileSync(join(folder, 'bin', `${PERMIT2}.bytecode`)));
  const expected = getContractAddress({
    opcode: 'CREATE2',
    from: CREATE2_DEPLOYER,
    salt: PERMIT2_SALT,
    bytecode: initCode,
  });
  if (expected !== PERMIT2) throw new Error('the init code is not that of Permit2');
  await sendNow(client, { to: CREATE2_DEPLOYER, data: concat([PERMIT2_SALT, initCode]) });
}

/** viem ships the init code of Multicall3 for calls before its deployment; running it gives the code. */
async function multicall3Code(client: SandboxClient): Promise<Hex> {
  const viem = createRequire(import.meta.url).resolve('viem/package.json');
  const constants = join(dirname(viem), '_esm', 'constants', 'contracts.js');
  const { multicall3Bytecode } = (await import(pathToFileURL(constants).href)) as {
    multicall3Bytecode: Hex;
  };
  const { data } = await client.call({ data: multicall3Bytecode, account: zeroAddress });
  if (data === undefined) throw new Error('Multicall3 did not come to life');
  return data;
}
