import { renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { boundedFetch } from '../../platform/fetch/bounded-fetch.js';

const POLL_MS = 2000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Failed polls in a row: the owner takes time, and the service may restart meanwhile. */
const FAILURES_MAX = 15;

const Code = z.object({
  code: z.string(),
  user_code: z.string(),
  auth_url: z.url({ protocol: /^https?$/ }),
});
const Status = z.object({ status: z.string(), token: z.string().optional() });

/**
 * Gets an agent's token by its owner's approval and writes it to a file, so that it passes through no conversation,
 * clipboard or shell history.
 *
 * @param say - called with the link that the owner has to open.
 * @returns whether the owner approved while the code was valid.
 * @throws Error when the service does not answer.
 */
export async function letAgentIn(
  serviceUrl: string,
  tokenFile: string,
  say: (line: string) => void,
): Promise<boolean> {
  const begun = Code.parse(await ask(`${serviceUrl}/v1/init`));
  const { code, user_code: userCode, auth_url: link } = begun;
  say(
    `Open this page, compare the code ${JSON.stringify(userCode)}, and sign as the owner:\n\n  ${link}\n`,
  );
  for (let failures = 0; failures < FAILURES_MAX;) {
    const status = await statusOf(`${serviceUrl}/v1/status`, code);
    failures = status === undefined ? failures + 1 : 0;
    if (status?.token !== undefined) {
      keep(tokenFile, status.token);
      return true;
    }
    // The code has expired, or another process has collected the token.
    if (status !== undefined && status.status !== 'pending') return false;
    await sleep(POLL_MS);
  }
  throw new Error('the wallet service stopped answering');
}

/** `undefined` for another answer: a restarting service, or a rate limit. */
async function statusOf(url: string, code: string): Promise<z.infer<typeof Status> | undefined> {
  try {
    return Status.safeParse(await ask(url, { code })).data;
  } catch {
    return undefined;
  }
}

/** By POST only, because URLs end up in logs. */
async function ask(url: string, body: object = {}): Promise<unknown> {
  const response = await boundedFetch(REQUEST_TIMEOUT_MS)(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.json();
}

/** In one step, so that a concurrent reader finds the old token or the new one. */
function keep(file: string, token: string): void {
  const next = `${file}.${process.pid}.new`;
  writeFileSync(next, token, { mode: 0o600 });
  renameSync(next, file);
}
