import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { isUrl } from '../http/urls.js';
import { Secret } from './secret.js';

/**
 * Settings of `npm run mcp`, which runs on the machine of an agent. They are separate from the settings of the
 * service.
 */
const Settings = z.object({
  X402_WALLET_URL: z
    .url({ protocol: /^https?$/, error: 'must be the URL of a wallet service' })
    .refine(isSafe, 'must be https unless the host is this machine, because a token is sent there'),
  X402_WALLET_TOKEN: z.string().min(1).optional(),
  X402_WALLET_TOKEN_FILE: z.string().min(1).optional(),
});

export interface McpSettings {
  /** Without a trailing slash. */
  readonly url: string;
  /** Read for each request, because the file may get a new token. */
  readonly token: () => Secret<string> | undefined;
  readonly tokenFile: string | undefined;
}

/**
 * Reads the settings from the environment.
 *
 * @returns the settings, or a description of the problems.
 */
export function readMcpSettings(
  env: NodeJS.ProcessEnv = process.env,
):
  | { readonly ok: true; readonly settings: McpSettings }
  | { readonly ok: false; readonly problem: string } {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = Settings.safeParse(given);
  if (!parsed.success) return { ok: false, problem: z.prettifyError(parsed.error) };
  const { X402_WALLET_URL, X402_WALLET_TOKEN, X402_WALLET_TOKEN_FILE: tokenFile } = parsed.data;
  const fixed = X402_WALLET_TOKEN === undefined ? undefined : new Secret(X402_WALLET_TOKEN);
  const url = X402_WALLET_URL.replace(/\/+$/, '');
  return { ok: true, settings: { url, token: () => fixed ?? readToken(tokenFile), tokenFile } };
}

function readToken(file: string | undefined): Secret<string> | undefined {
  if (file === undefined) return undefined;
  try {
    const text = readFileSync(file, 'utf8').trim();
    return text === '' ? undefined : new Secret(text);
  } catch {
    return undefined;
  }
}

function isSafe(text: string): boolean {
  if (!isUrl(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
