import { createRequire } from 'node:module';
import { type Started, startProgram } from './processes.js';

interface AnvilOptions {
  readonly port: number;
  readonly chainId: number;
  /** Seconds between blocks; a block for each transaction when absent. */
  readonly blockTime?: number;
  /** Blocks whose state is kept; as many as the node likes when absent. Each holds a copy of everything. */
  readonly statesMost?: number;
  /** The loopback interface when absent. */
  readonly host?: string;
  /** Of the first block, in seconds since the epoch; now when absent. */
  readonly beginsAt?: number;
}

export interface Anvil extends Started {
  readonly url: string;
  readonly chainId: number;
}

/** Local chains whose `finalized` is two blocks behind, as on BNB Chain. */
export async function startAnvil({
  port,
  chainId,
  blockTime,
  statesMost,
  host = '127.0.0.1',
  beginsAt,
}: AnvilOptions): Promise<Anvil> {
  const started = await startProgram(
    anvilBinary(),
    [
      '--host',
      host,
      '--port',
      String(port),
      '--chain-id',
      String(chainId),
      '--slots-in-an-epoch',
      '1',
      '--accounts',
      '20',
      '--gas-price',
      '50000000',
      '--block-base-fee-per-gas',
      '0',
      '--gas-limit',
      '140000000',
      // Else it writes every old state into the home folder, and leaves it there when it is killed.
      ...(statesMost === undefined
        ? ['--max-persisted-states', '0']
        : ['--prune-history', String(statesMost)]),
      ...(blockTime === undefined ? [] : ['--block-time', String(blockTime)]),
      ...(beginsAt === undefined ? [] : ['--timestamp', String(beginsAt)]),
    ],
    (output) => output.includes(`Listening on ${host}:${port}`),
  );
  return { ...started, url: `http://127.0.0.1:${port}`, chainId };
}

/** The package brings the binary for this platform; its install script is not needed. */
function anvilBinary(): string {
  const require = createRequire(import.meta.url);
  const platform = { linux: 'linux', darwin: 'darwin', win32: 'win32' }[process.platform as string];
  const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  try {
    const suffix = process.platform === 'win32' ? '.exe' : '';
    return require.resolve(`@foundry-rs/anvil-${platform}-${architecture}/bin/anvil${suffix}`);
  } catch {
    throw new Error(`no anvil binary for ${process.platform} ${process.arch} was installed`);
  }
}
