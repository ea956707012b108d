import type { z } from 'zod';
import type { McpSettings } from '../../platform/config/mcp-settings.js';
import { boundedFetch } from '../../platform/fetch/bounded-fetch.js';
import { type Refusal, RefusalOutput, RemoteRefusal } from '../tools/refusal.js';

/** Longer than a service may take for a purchase. */
const ANSWER_TIMEOUT_MS = 180_000;
/** An answer may hold a purchase of 4 MiB, and each byte may take six characters in JSON. */
const ANSWER_MAX_BYTES = 33_554_432;

const UNREACHABLE: Refusal = {
  error: 'The wallet service did not answer. Repeat the request.',
  code: 'unavailable',
};
/** For a request that may have been executed although no answer came. */
export const UNKNOWN: Refusal = {
  error:
    'The wallet service did not answer, so it is unknown whether the payment was made. Call payment_status, or repeat this call with the same intentId: the payment is made only once.',
  code: 'outcome_unknown',
};
const NO_TOKEN: Refusal = {
  error:
    'This MCP server has no token for the wallet service. Set X402_WALLET_TOKEN or X402_WALLET_TOKEN_FILE; never write the token in a conversation.',
  code: 'unauthorized',
};

interface Question {
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  /** The refusal when no answer comes. */
  readonly silence?: Refusal;
}

/** It follows no redirect, so the token is sent nowhere else. */
const askWallet = boundedFetch(ANSWER_TIMEOUT_MS, ANSWER_MAX_BYTES);

/** Client of a wallet service over HTTP, with the agent's token. */
export class RemoteService {
  constructor(private readonly settings: McpSettings) {}

  /** @throws RemoteRefusal */
  async ask<T>(schema: z.ZodType<T>, question: Question): Promise<T> {
    const { method = 'GET', path, body, silence = UNREACHABLE } = question;
    const token = this.settings.token();
    if (token === undefined) throw new RemoteRefusal(NO_TOKEN);
    const { status, answered } = await this.#fetch(`/v1/wallets/me${path}`, silence, {
      method,
      headers: {
        authorization: `Bearer ${token.reveal()}`,
        'content-type': 'application/json',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const data = status === 200 ? schema.safeParse(answered) : undefined;
    if (data?.success === true) return data.data;
    const refusal = RefusalOutput.safeParse(answered);
    // A proxy may answer for the service, before or after the service got the request.
    throw new RemoteRefusal(refusal.success ? refusal.data : silence);
  }

  async #fetch(
    path: string,
    silence: Refusal,
    request: RequestInit,
  ): Promise<{ readonly status: number; readonly answered: unknown }> {
    try {
      const response = await askWallet(`${this.settings.url}${path}`, request);
      return { status: response.status, answered: await response.json() };
    } catch {
      throw new RemoteRefusal(silence);
    }
  }
}
