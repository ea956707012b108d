import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type Hex, hexToBytes, parseEther } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { sandboxAccount } from './accounts.js';
import { type Anvil, startAnvil } from './anvil.js';
import { type Deployment, deploySandbox, type SandboxClient, sandboxClient } from './deploy.js';
import { freePort, startProgram } from './processes.js';

interface GethOptions {
  readonly binary: string;
  readonly chainId: number;
  /** Seconds between blocks, whole ones; a block for each transaction when absent. */
  readonly blockTime?: number;
}

/** A chain with the sandbox's contracts, of either node. */
export interface SandboxChain {
  readonly chain: Anvil;
  readonly client: SandboxClient;
  readonly deployment: Deployment;
}

/** Money for what anvil gives by a cheat; no test uses this account otherwise. */
const RICH = sandboxAccount(8);

interface DumpedAccount {
  readonly nonce: number | string;
  readonly balance: string;
  readonly code: Hex;
  readonly storage: Readonly<Record<Hex, Hex>>;
}

/**
 * go-ethereum in developer mode, with the sandbox's contracts in its first block. They are deployed on anvil and its
 * state is taken over, so that both chains hold the same code at the same addresses.
 */
export async function startGeth(options: GethOptions): Promise<SandboxChain> {
  const { binary, chainId, blockTime } = options;
  const { deployment, alloc } = await sandboxState(chainId);
  const dir = mkdtempSync(join(tmpdir(), 'x402-geth-'));
  const genesis = join(dir, 'genesis.json');
  writeFileSync(genesis, JSON.stringify(genesisOf(chainId, alloc)));
  execFileSync(binary, ['init', '--datadir', dir, genesis], { stdio: 'pipe' });
  const [port, authPort] = [await freePort(), await freePort()];
  const started = await startProgram(
    binary,
    [
      '--dev',
      '--datadir',
      dir,
      '--dev.period',
      String(Math.ceil(blockTime ?? 0)),
      '--http',
      '--http.addr',
      '127.0.0.1',
      '--http.port',
      String(port),
      '--http.api',
      'eth,net,web3,txpool,debug',
      '--authrpc.port',
      String(authPort),
      '--nodiscover',
      '--maxpeers',
      '0',
      '--port',
      '0',
      '--ipcdisable',
      // A tip of nothing is taken, as anvil takes it; and as many of one account as a burst holds.
      '--txpool.pricelimit',
      '1',
      '--miner.gasprice',
      '1',
      '--rpc.txfeecap',
      '0',
      '--txpool.accountslots',
      '256',
      '--txpool.accountqueue',
      '512',
    ],
    (output) => output.includes('HTTP server started'),
  );
  const stop = async (signal?: NodeJS.Signals): Promise<void> => {
    await started.stop(signal);
    rmSync(dir, { recursive: true, force: true });
  };
  const chain: Anvil = { child: started.child, stop, url: `http://127.0.0.1:${port}`, chainId };
  return { chain, client: gethClient(chain.url), deployment };
}

async function sandboxState(
  chainId: number,
): Promise<{ deployment: Deployment; alloc: Record<string, object> }> {
  const anvil = await startAnvil({ port: await freePort(), chainId });
  try {
    const deployment = await deploySandbox(anvil.url);
    const packed = await sandboxClient(anvil.url).dumpState();
    const { accounts } = JSON.parse(gunzipSync(hexToBytes(packed)).toString()) as {
      accounts: Record<string, DumpedAccount>;
    };
    const alloc = Object.fromEntries(
      Object.entries(accounts).map(([address, { nonce, balance, code, storage }]) => [
        address,
        { nonce: `0x${BigInt(nonce).toString(16)}`, balance, code, storage: words(storage) },
      ]),
    );
    return { deployment, alloc };
  } finally {
    await anvil.stop('SIGKILL');
  }
}

function words(storage: Readonly<Record<Hex, Hex>>): Record<string, string> {
  const word = (hex: string): string => `0x${hex.slice(2).padStart(64, '0')}`;
  return Object.fromEntries(
    Object.entries(storage).map(([slot, value]) => [word(slot), word(value)]),
  );
}

function genesisOf(chainId: number, alloc: Record<string, object>): object {
  const blocks = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople'];
  const later = ['petersburg', 'istanbul', 'muirGlacier', 'berlin', 'london', 'arrowGlacier'];
  const forks = [...blocks, ...later, 'grayGlacier', 'mergeNetsplit'];
  const blob = { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 };
  return {
    config: {
      chainId,
      ...Object.fromEntries(forks.map((fork) => [`${fork}Block`, 0])),
      shanghaiTime: 0,
      cancunTime: 0,
      pragueTime: 0,
      terminalTotalDifficulty: 0,
      blobSchedule: { cancun: blob, prague: blob },
    },
    difficulty: '0x0',
    gasLimit: '0x8583b00',
    baseFeePerGas: '0x0',
    alloc,
  };
}

/** What tests ask of anvil, by ordinary transactions; what only a cheat can do is refused. */
function gethClient(url: string): SandboxClient {
  const client = sandboxClient(url);
  const rich = privateKeyToAccount(RICH.key);
  const refuse = (name: string) => () =>
    Promise.reject(new Error(`${name} is a cheat of anvil: this spec does not run with GETH`));
  const cheats = [
    'dropTransaction',
    'dumpState',
    'impersonateAccount',
    'increaseTime',
    'loadState',
    'revert',
    'setAutomine',
    'setCode',
    'setIntervalMining',
    'setNextBlockTimestamp',
    'setNextBlockBaseFeePerGas',
    'setNonce',
    'setStorageAt',
    'snapshot',
    'mine',
  ];
  return client.extend(() => ({
    ...Object.fromEntries(cheats.map((name) => [name, refuse(name)])),
    // Each sender waits for its receipt; the next block comes by itself.
    mine: () => Promise.resolve(),
    async setBalance({ address, value }: { address: Hex; value: bigint }) {
      const missing = value - (await client.getBalance({ address }));
      if (missing < 0n) throw new Error('geth takes nothing away from an account');
      if (missing === 0n) return;
      if (missing > parseEther('9000')) throw new Error('more than the rich account has');
      const hash = await client.sendTransaction({
        account: rich,
        chain: null,
        to: address,
        value: missing,
      });
      await client.waitForTransactionReceipt({ hash, timeout: 20_000 });
    },
  }));
}
