import type { z } from 'zod';
import type { McpSettings } from '../../platform/config/mcp-settings.js';
import { boundedFetch } from '../../platform/fetch/bounded-fetch.js';
import { type Refusal, RefusalOutput, RemoteRefusal } from '../tools/refusal.js';

/** Longer than a service may take for a purchase. */
const ANSWER_TIMEOUT_MS = 180_000;
/** An answer may hold a purchase of 4 MiB, each byte of which may take six characters in JSON. */
const ANSWER_MAX_BYTES = 33_554_432;

const UNREACHABLE: Refusal = {
  error: 'The wallet service did not answer. Ask again.',
  code: 'unavailable',
};
/** For what may have been done though no answer came. */
export const UNKNOWN: Refusal = {
  error:
    'The wallet service did not answer, so it is unknown whether the payment was made. Call payment_status, or repeat this call with the same intentId: it pays only once.',
  code: 'outcome_unknown',
};
const NO_TOKEN: Refusal = {
  error:
    'There is no token for the wallet service. Put it into X402_WALLET_TOKEN or X402_WALLET_TOKEN_FILE of this server; it does not belong in a conversation.',
  code: 'unauthorized',
};

interface Question {
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  /** The refusal when no answer comes. */
  readonly silence?: Refusal;
}

/** It follows no redirect: the token goes nowhere else. */
const askWallet = boundedFetch(ANSWER_TIMEOUT_MS, ANSWER_MAX_BYTES);

/** A wallet service, asked over HTTP with the agent's token. */
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
    // Whatever stands between may answer in the service's place, after it was asked or before.
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
