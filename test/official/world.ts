import { generateKeyPairSync } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type Address, encodeFunctionData, parseAbi, toHex } from 'viem';
import { type SandboxAccount, sandboxAccount } from '../../sandbox/accounts.js';
import { startAnvil } from '../../sandbox/anvil.js';
import { compileFolder } from '../../sandbox/compile.js';
import {
  artifactOf,
  CONTRACTS,
  deploy,
  deploySandbox,
  type SandboxClient,
  sandboxClient,
  sendNow,
} from '../../sandbox/deploy.js';
import { startPostgres } from '../../sandbox/postgres.js';
import { freePort } from '../../sandbox/processes.js';
import { startRedis } from '../../sandbox/redis.js';

/** Tokens of Base Sepolia that the harness pays with. */
export const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
export const MOCK_ERC20: Address = '0xeED520980fC7C7B4eB379B96d61CEdea2423005a';
const CHAIN_ID = 84_532;
const DECIMALS = 6;
const ENDOWMENT = 1_000_000n * 10n ** 6n;

/** Accounts of the local chain, each with one part: the harness sends from its own, our lanes from others. */
export const CLIENT = sandboxAccount(5);
const HARNESS = sandboxAccount(6);
export const SERVER = sandboxAccount(7);
const RECEIVER_AUTHORIZER = sandboxAccount(8);
export const LANES: readonly SandboxAccount[] = [10, 11, 12, 13].map(sandboxAccount);

export interface OfficialWorld {
  readonly rpcUrl: string;
  /** What the harness and our proxy in it read. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** The local chain, Redis and PostgreSQL that the official harness is run in. */
export async function startOfficialWorld(): Promise<OfficialWorld> {
  const [anvil, redis, postgres] = await Promise.all([
    startAnvil({ port: await freePort(), chainId: CHAIN_ID, blockTime: 1 }),
    startRedis(await freePort()),
    startPostgres(),
  ]);
  const stop = async (): Promise<void> => {
    await Promise.all([anvil.stop(), redis.stop(), postgres.stop()]);
  };
  try {
    const artifacts = compileFolder(CONTRACTS);
    await deploySandbox(anvil.url, artifacts);
    const client = sandboxClient(anvil.url);
    const usdc = await deploy(client, artifactOf(artifacts, 'SandboxUsd'), [
      'USDC',
      'USDC',
      '2',
      DECIMALS,
    ]);
    await moveTo(client, usdc, USDC, 3);
    const coin = await deploy(client, artifactOf(artifacts, 'SandboxCoin'), [
      'MockERC20',
      'MOCK',
      DECIMALS,
    ]);
    await moveTo(client, coin, MOCK_ERC20, 2);
    for (const token of [USDC, MOCK_ERC20]) await mint(client, token, CLIENT.address);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    rpcUrl: anvil.url,
    environment: {
      ...(await environmentOf(anvil.url)),
      OFFICIAL_REDIS_URL: redis.url,
      OFFICIAL_DATABASE_URL: postgres.url,
    },
    stop,
  };
}

async function environmentOf(rpcUrl: string): Promise<Readonly<Record<string, string>>> {
  const solana = solanaKey();
  return {
    EVM_NETWORK: `eip155:${CHAIN_ID}`,
    // Helper scripts of the harness ask the public endpoint where either of these is absent.
    EVM_RPC_URL: rpcUrl,
    BASE_SEPOLIA_RPC_URL: rpcUrl,
    EVM_TESTNET_RPC_URL: rpcUrl,
    CLIENT_EVM_PRIVATE_KEY: CLIENT.key,
    SERVER_EVM_ADDRESS: SERVER.address,
    FACILITATOR_EVM_PRIVATE_KEY: HARNESS.key,
    SERVER_EVM_RECEIVER_AUTHORIZER_PRIVATE_KEY: RECEIVER_AUTHORIZER.key,
    // Its programs do not start without keys for Solana. Nothing is paid with these.
    CLIENT_SVM_PRIVATE_KEY: solana.key,
    FACILITATOR_SVM_PRIVATE_KEY: solana.key,
    SERVER_SVM_ADDRESS: solana.address,
    OFFICIAL_APP: fileURLToPath(new URL('../..', import.meta.url)),
    OFFICIAL_LANE_KEYS: LANES.map(({ key }) => key).join(','),
    OFFICIAL_OPS_PORT: String(await freePort()),
  };
}

/** @param slots - of its storage, from the first one on, that its constructor has written. */
async function moveTo(
  client: SandboxClient,
  from: Address,
  to: Address,
  slots: number,
): Promise<void> {
  await client.setCode({
    address: to,
    bytecode: (await client.getCode({ address: from })) ?? '0x',
  });
  for (let index = 0; index < slots; index += 1) {
    const value = await client.getStorageAt({ address: from, slot: toHex(index) });
    await client.setStorageAt({ address: to, index, value: value ?? toHex(0, { size: 32 }) });
  }
}

async function mint(client: SandboxClient, token: Address, to: Address): Promise<void> {
  const abi = parseAbi(['function mint(address to, uint256 value)']);
  await sendNow(client, {
    to: token,
    data: encodeFunctionData({ abi, functionName: 'mint', args: [to, ENDOWMENT] }),
  });
}

/** A key of Solana in its wallets' form: secret and public half together, in base58. */
function solanaKey(): { readonly key: string; readonly address: string } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' });
  const [secret, open] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')];
  return { key: base58(Buffer.concat([secret, open])), address: base58(open) };
}

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function base58(bytes: Buffer): string {
  let text = '';
  for (let rest = BigInt(`0x${bytes.toString('hex')}`); rest > 0n; rest /= 58n) {
    text = (BASE58[Number(rest % 58n)] ?? '') + text;
  }
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(Math.max(0, zeros)) + text;
}
