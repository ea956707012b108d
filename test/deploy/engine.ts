import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Compose reads optional `env_file` entries from this version on. */
const COMPOSE_LEAST = [2, 24] as const;
const INSTALL_PATIENCE_MS = 300_000;
const DAEMON_PATIENCE_MS = 30_000;

/** A container engine with Compose, or the reason for its absence. */
type Found = { readonly engine: Engine } | { readonly missing: string };

export interface RunResult {
  readonly status: number;
  readonly output: string;
}

/** Runs a program to its end; what it printed is in the result whatever became of it. */
export function runProgram(
  command: string,
  args: readonly string[],
  { timeoutMs = 120_000, env = {} }: { timeoutMs?: number; env?: Record<string, string> } = {},
): RunResult {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: timeoutMs,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, ...env },
  });
  return { status: status ?? 1, output: [stdout, stderr, error?.message].join('') };
}

/**
 * The container engine of this machine. Without one, root on Debian installs that of the
 * distribution and starts it for the time of the test.
 */
export class Engine {
  readonly #onEnd: (() => void)[] = [];
  /** Clients of different age: those without it build by the daemon itself. */
  readonly #hasBuildx = runProgram('docker', ['buildx', 'version']).status === 0;

  static find(): Found {
    const engine = new Engine();
    const missing = engine.#findDaemon() ?? engine.#findCompose();
    if (missing === undefined) return { engine };
    engine.stop();
    return { missing };
  }

  docker(args: readonly string[], timeoutMs?: number): RunResult {
    return runProgram('docker', args, {
      ...(timeoutMs !== undefined && { timeoutMs }),
      env: { DOCKER_BUILDKIT: this.#hasBuildx ? '1' : '0', BUILDKIT_PROGRESS: 'plain' },
    });
  }

  /** @throws Error with what was printed, when the command fails. */
  mustDocker(args: readonly string[], timeoutMs?: number): string {
    const { status, output } = this.docker(args, timeoutMs);
    if (status !== 0) throw new Error(`docker ${args.join(' ')}\n${output.slice(-6000)}`);
    return output;
  }

  stop(): void {
    for (const end of this.#onEnd.reverse()) end();
  }

  #findDaemon(): string | undefined {
    if (this.docker(['info']).status === 0) return undefined;
    if (!mayInstall())
      return 'no container engine answers, and only root on Debian can install one';
    if (!hasCommand('dockerd')) installPackages(['docker.io']);
    if (!hasCommand('dockerd')) return 'the package docker.io could not be installed';
    return this.#startDaemon();
  }

  #startDaemon(): string | undefined {
    const folder = mkdtempSync(join(tmpdir(), 'x402-engine-'));
    const daemon = spawn('dockerd', ['--data-root', folder], { stdio: 'ignore' });
    this.#onEnd.push(() => {
      daemon.kill('SIGTERM');
      for (let tries = 0; tries < 50 && this.docker(['info']).status === 0; tries += 1) sleep(200);
      rmSync(folder, { recursive: true, force: true });
    });
    const deadline = Date.now() + DAEMON_PATIENCE_MS;
    while (Date.now() < deadline) {
      if (this.docker(['info']).status === 0) return undefined;
      sleep(500);
    }
    return 'dockerd was started and does not answer';
  }

  #findCompose(): string | undefined {
    if (this.#composeIsNewEnough()) return undefined;
    if (!mayInstall()) return 'Docker Compose 2.24 or newer is missing';
    installPackages(['mmdebstrap']);
    const plugin = join(homedir(), '.docker', 'cli-plugins', 'docker-compose');
    const folder = mkdtempSync(join(tmpdir(), 'x402-compose-'));
    const archive = join(folder, 'root.tar');
    // The next Debian has it; its program runs on this one too.
    const made = runProgram(
      'mmdebstrap',
      ['--variant=extract', '--include=docker-compose', 'trixie', archive],
      { timeoutMs: INSTALL_PATIENCE_MS },
    );
    if (made.status === 0) {
      mkdirSync(join(homedir(), '.docker', 'cli-plugins'), { recursive: true });
      const path = './usr/libexec/docker/cli-plugins/docker-compose';
      execFileSync('tar', ['xf', archive, '-C', folder, path]);
      execFileSync('install', ['-m', '755', join(folder, path), plugin]);
    }
    rmSync(folder, { recursive: true, force: true });
    return this.#composeIsNewEnough() ? undefined : 'Docker Compose 2.24 or newer is missing';
  }

  #composeIsNewEnough(): boolean {
    const { status, output } = this.docker(['compose', 'version', '--short']);
    const [major = 0, minor = 0] = output.trim().split('.').map(Number);
    return (
      status === 0 &&
      (major > COMPOSE_LEAST[0] || (major === COMPOSE_LEAST[0] && minor >= COMPOSE_LEAST[1]))
    );
  }
}

export function hasCommand(name: string): boolean {
  return runProgram('sh', ['-c', `command -v ${name}`]).status === 0;
}

export function mayInstall(): boolean {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version');
}

/** Installs packages of the distribution; what fails shows in that the programs are not there. */
export function installPackages(names: readonly string[]): void {
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  runProgram('apt-get', ['update', '-q'], { timeoutMs: INSTALL_PATIENCE_MS, env });
  runProgram('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...names], {
    timeoutMs: INSTALL_PATIENCE_MS,
    env,
  });
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
