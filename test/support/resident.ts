import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Bytes of memory that a process holds, as the kernel counts them. */
export function residentBytes({ pid }: ChildProcess): number {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8'))?.[1];
  return Number(kib ?? 0) * 1024;
}
