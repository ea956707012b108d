import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Address } from 'viem';

/** Where a running sandbox says what it is, for `npm run pay` and `npm run agent`. */
export interface SandboxState {
  readonly facilitatorUrl: string;
  readonly sellerUrl: string;
  readonly rpcUrl: string;
  readonly usd: Address;
  readonly coin: Address;
  readonly walletFactory: Address;
  readonly chainId: number;
  /** Where agents keep files, and what that hub calls itself. */
  readonly filesUrl: string;
  readonly filesHub: Address;
  /** The same over a line that breaks. */
  readonly flakyUrl: string;
}

const FOLDER = fileURLToPath(new URL('../.sandbox/', import.meta.url));
const FILE = `${FOLDER}state.json`;

/** Where the sandbox's hub keeps its files: they are there again the next time. */
export const sandboxHubDir = (): string => `${FOLDER}hub`;

/** Where the log of the running facilitator is. */
export const serviceLogFile = (): string => `${FOLDER}service.log`;

/** Where the token of the sandbox's agent lies for `npm run mcp`. */
export const agentTokenFile = (): string => `${FOLDER}agent-token`;

export function writeAgentToken(token: string): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(agentTokenFile(), token, { mode: 0o600 });
}

export function writeState(state: SandboxState): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(FILE, JSON.stringify(state, null, 2));
}

export function readState(): SandboxState | undefined {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as SandboxState;
  } catch {
    return undefined;
  }
}

export function removeState(): void {
  for (const file of [FILE, agentTokenFile()]) rmSync(file, { force: true });
}
