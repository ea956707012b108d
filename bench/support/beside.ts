import { spawn } from 'node:child_process';
import type { Address } from 'viem';
import { sandboxAccount } from '../../sandbox/accounts.js';
import { freePort, type Started, startProgram } from '../../sandbox/processes.js';
import { pidOf, treeOf } from './processor-time.js';
import { CHAIN_ID, V1_NETWORK } from './stage.js';

/** A facilitator that is measured beside ours: `--beside NAME=COMMAND` or `--beside NAME=URL`. */
interface BesideOption {
  readonly name: string;
  /** How it is started; `undefined` where it runs already. */
  readonly command: string | undefined;
  readonly url: string | undefined;
}

export interface Beside {
  readonly name: string;
  readonly url: string;
  /** Its account; `undefined` where it was not given one. */
  readonly signer: Address | undefined;
  /** Of the program and all it has started; empty where it was not started here. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

const NAME = /^([\w.-]+)=(.+)$/s;
/** The accounts of the others come after those that benches use themselves. */
const FIRST_ACCOUNT = 10;
const PATIENCE_MS = 60_000;

/** @throws Error that says how it is written. */
export function readBeside(text: string): BesideOption {
  const [, name, what] = NAME.exec(text) ?? [];
  if (name === undefined || what === undefined || name === 'ours' || name === 'reference') {
    throw new Error('--beside takes NAME=COMMAND or NAME=URL, with a name of its own');
  }
  const isUrl = /^https?:\/\/\S+$/.test(what);
  return { name, command: isUrl ? undefined : what, url: isUrl ? what : undefined };
}

/**
 * Starts it by a shell with `PORT`, `RPC_URL`, `CHAIN_ID`, `V1_NETWORK` and `SIGNER_KEY`, an account of its own with
 * coins; it has to answer HTTP on that port of 127.0.0.1.
 *
 * @param index - among the others: names the account.
 */
export async function startBeside(
  { name, command, url }: BesideOption,
  index: number,
  rpcUrl: string,
): Promise<Beside> {
  if (command === undefined) {
    return { name, url: url ?? '', signer: undefined, pids: [], stop: () => Promise.resolve() };
  }
  const port = await freePort();
  const account = sandboxAccount(FIRST_ACCOUNT + index);
  const own = `http://127.0.0.1:${port}`;
  const started = await startProgram('sh', ['-c', command], () => answers(own), {
    patienceMs: PATIENCE_MS,
    env: {
      ...process.env,
      PORT: String(port),
      RPC_URL: rpcUrl,
      CHAIN_ID: String(CHAIN_ID),
      V1_NETWORK,
      SIGNER_KEY: account.key,
    },
  });
  return {
    name,
    url: own,
    signer: account.address,
    pids: treeOf(pidOf(started)),
    stop: () => stopTree(started),
  };
}

/** A shell does not hand on what ends it. */
async function stopTree(started: Started): Promise<void> {
  for (const pid of treeOf(pidOf(started)).slice(1)) {
    try {
      process.kill(pid);
    } catch {
      // It has ended already.
    }
  }
  await started.stop();
}

async function answers(url: string): Promise<boolean> {
  try {
    await fetch(`${url}/supported`);
    return true;
  } catch {
    return false;
  }
}

/** Keeps so many cores busy until the returned function is called: what others do on a shared machine. */
export function busyLoops(count: number): () => void {
  const loops = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', 'for (;;) {}'], { stdio: 'ignore' }),
  );
  return () => {
    for (const loop of loops) loop.kill('SIGKILL');
  };
}
