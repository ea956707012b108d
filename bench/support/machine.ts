import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';

/** Where and with what figures were made. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  /** Of the minute before the run: what others did here. */
  readonly loadBefore: number;
  readonly versions: Readonly<Record<string, string>>;
  readonly commit: string;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    versions: {
      node: process.versions.node,
      redis: /v=(\S+)/.exec(output('redis-server', '--version'))?.[1] ?? 'unknown',
      ...installed('@foundry-rs/anvil', '@nestjs/core', 'bullmq', 'viem', '@x402/core', 'express'),
    },
    commit: output('git', 'rev-parse', '--short', 'HEAD').trim() || 'unknown',
  };
}

function output(command: string, ...args: readonly string[]): string {
  return spawnSync(command, args, { encoding: 'utf8' }).stdout;
}

function installed(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => {
      const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
      const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
      return [name, version];
    }),
  );
}

export function machineLine({ cpu, cores, memoryGiB, system, loadBefore }: Machine): string {
  return `${cores} cores of ${cpu}, ${memoryGiB} GiB, ${system}; load of others before the run ${loadBefore}`;
}

export function versionsLine({ versions, commit }: Machine): string {
  const all = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${all.join(', ')}; commit ${commit}`;
}
