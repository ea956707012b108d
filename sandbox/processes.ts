import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A program that was started here, and how to end it. */
export interface Started {
  readonly child: ChildProcess;
  /** Ends it and resolves when it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Below the ports that the kernel gives to outgoing connections (32768 on Linux, 49152 on macOS): one of these would take
 * a port between the look and the listening. Above 10080, which `fetch` refuses to ask ("bad port" of the Fetch standard).
 */
const FIRST_PORT = 10_081;
const LAST_PORT = 32_767;

/** A file for each port that was given to a process which still runs: what it is for may not listen yet. */
const GIVEN_PORTS = join(tmpdir(), `x402-ports-${process.getuid?.() ?? ''}`);

/** A TCP port of the loopback interface that is free now, another one for each that asks on this machine. */
export async function freePort(): Promise<number> {
  mkdirSync(GIVEN_PORTS, { recursive: true });
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (takePort(port) && (await isPortFree(port))) return port;
  }
}

/** @returns whether this process has it now. */
function takePort(port: number): boolean {
  const file = join(GIVEN_PORTS, String(port));
  try {
    if (existsSync(file) && !isRunning(Number(readFileSync(file, 'utf8')))) rmSync(file);
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export async function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => {
      resolve(false);
    });
    server.listen(port, '127.0.0.1', () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/**
 * Starts a program and waits until it is ready.
 *
 * @param isReady - asked until it says yes; a program that ends before that is an error with its
 *   last output.
 */
export async function startProgram(
  command: string,
  args: readonly string[],
  isReady: (output: string) => boolean | Promise<boolean>,
  options: SpawnOptions & {
    readonly patienceMs?: number;
    readonly onOutput?: (text: string) => void;
  } = {},
): Promise<Started> {
  const { patienceMs = 90_000, onOutput, ...spawnOptions } = options;
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...spawnOptions });
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-20_000);
    onOutput?.(chunk.toString());
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  let ended: string | undefined;
  const gone = new Promise<void>((resolve) => {
    child.on('exit', (code, signal) => {
      ended = `${command} ended with ${signal ?? String(code)}`;
      resolve();
    });
    child.on('error', (error) => {
      ended = `${command} did not start: ${error.message}`;
      resolve();
    });
  });
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), 25_000);
    await gone;
    clearTimeout(timer);
  };
  const deadline = Date.now() + patienceMs;
  for (;;) {
    if (ended !== undefined) throw new Error(`${ended}\n${output}`);
    if (await isReady(output)) return { child, stop };
    if (Date.now() > deadline) {
      await stop('SIGKILL');
      throw new Error(`${command} was not ready in ${patienceMs / 1000} s\n${output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
