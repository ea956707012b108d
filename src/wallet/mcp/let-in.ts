import { renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const POLL_MS = 2000;
const PATIENCE_MS = 30_000;

const Code = z.object({ code: z.string(), auth_url: z.url({ protocol: /^https?$/ }) });
const Status = z.object({ status: z.string(), token: z.string().optional() });

/**
 * Gets an agent's token by its owner's approval and puts it into a file: it passes through no
 * conversation, clipboard or shell history.
 *
 * @param say - told the link the owner has to open.
 * @returns whether the owner approved while the code was good.
 */
export async function letAgentIn(
  serviceUrl: string,
  tokenFile: string,
  say: (line: string) => void,
): Promise<boolean> {
  const { code, auth_url: link } = Code.parse(await ask(`${serviceUrl}/v1/init`, 'POST'));
  say(
    `Open this page, compare the code ${JSON.stringify(code)}, and sign as the owner:\n\n  ${link}\n`,
  );
  for (;;) {
    const answered = await ask(`${serviceUrl}/v1/status?code=${encodeURIComponent(code)}`, 'GET');
    const status = Status.safeParse(answered);
    if (!status.success) return false;
    const { token } = status.data;
    if (token !== undefined) {
      keep(tokenFile, token);
      return true;
    }
    // Somebody else has collected it.
    if (status.data.status !== 'pending') return false;
    await sleep(POLL_MS);
  }
}

async function ask(url: string, method: string): Promise<unknown> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetch(url, { method, redirect: 'error', signal });
  return response.json();
}

/** In one step: whoever reads meanwhile finds the old token or the new one. */
function keep(file: string, token: string): void {
  const next = `${file}.${process.pid}.new`;
  writeFileSync(next, token, { mode: 0o600 });
  renameSync(next, file);
}
