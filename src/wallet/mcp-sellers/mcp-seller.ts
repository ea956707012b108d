import { Inject, Injectable } from '@nestjs/common';
import { VERSION } from '../../platform/config/version.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { FetchAnswer, FetchRequest, OpenAnswer } from '../../platform/fetch/safe-fetch.js';
import { type JsonObject, readOptionalObject } from '../../protocol/payment/wire-values.js';
import { WalletFetch } from '../pay/wallet-fetch.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { readMessage } from './message-stream.js';
import { toolAnswer } from './tool-answer.js';

/** The field of the payment in a call. */
const PAYMENT = 'x402/payment';
/** The newest revision with a handshake, and those that a server may answer it with. */
const WITH_HANDSHAKE = '2025-11-25';
const SUPPORTED_PROTOCOL_VERSIONS: ReadonlySet<unknown> = new Set([
  WITH_HANDSHAKE,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
]);
/** The revision without a handshake: each request names its revision. */
const WITHOUT_HANDSHAKE = '2026-07-28';
const CLIENT = { name: 'x402-wallet', version: VERSION } as const;

/** Refusals that another revision would not change. */
const FINAL: ReadonlySet<number> = new Set([401, 402, 403, 404, 407, 408, 429]);
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;
/** Limit for ending a session, whose result does not matter. */
const GOODBYE_MS = 2000;
const OWN_HEADERS = /^(mcp-.*|accept|content-type|last-event-id)$/i;

/** A call of a tool of the MCP server at a URL (streamable HTTP). */
export interface ToolCall {
  readonly name: string;
  /** A JSON object with sorted keys, so that equal arguments are equal texts. */
  readonly arguments: string;
}

type Request = Pick<FetchRequest, 'url' | 'headers'>;

/** The protocol revision and session of a server. */
interface Dialect {
  readonly headers: Readonly<Record<string, string>>;
  readonly meta: JsonObject;
}

/**
 * Calls tools of untrusted MCP servers. Each call has its own connection: no state is kept, requests of the server are
 * not answered, redirects are not followed, and a call is sent once.
 */
@Injectable()
export class McpSeller {
  constructor(
    private readonly fetcher: WalletFetch,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'fetchMaxBytes'>,
  ) {}

  /**
   * @param payment - sent with the call; absent for a call that asks for the price.
   * @param signal - aborts the whole call.
   * @returns the answer of the tool, in terms of HTTP.
   * @throws WalletError `fetch_refused` before anything is sent; `fetch_failed` after.
   */
  async call(
    { url, headers }: Request,
    tool: ToolCall,
    payment: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<FetchAnswer> {
    const ended = new AbortController();
    const request = { url, headers: plain(headers) };
    const all = AbortSignal.any([signal, ended.signal]);
    try {
      const dialect = await this.#open(request, tool, all);
      const params = {
        name: tool.name,
        arguments: JSON.parse(tool.arguments) as unknown,
        _meta: { ...dialect.meta, ...(payment !== undefined && { [PAYMENT]: payment }) },
      };
      const message = { id: 2, method: 'tools/call', params };
      const { status, answer } = await this.#ask(request, message, dialect.headers, all);
      this.#endSession(request, dialect);
      if (answer === undefined) throw statusError(status);
      return toolAnswer(url, answer);
    } finally {
      // Closes the connection with the rest of the answer.
      ended.abort();
    }
  }

  async #open(request: Request, { name }: ToolCall, signal: AbortSignal): Promise<Dialect> {
    const params = { protocolVersion: WITH_HANDSHAKE, capabilities: {}, clientInfo: CLIENT };
    const hello = { id: 1, method: 'initialize', params };
    const { status, answer, headers } = await this.#ask(request, hello, {}, signal);
    const result = readOptionalObject(answer?.['result']);
    if (result === undefined) {
      if (FINAL.has(status) || status >= 500) throw statusError(status);
      return withoutHandshake(name);
    }
    const revision = result['protocolVersion'];
    if (typeof revision !== 'string' || !SUPPORTED_PROTOCOL_VERSIONS.has(revision)) {
      throw new WalletError(
        'fetch_failed',
        'The MCP server uses a protocol revision that this wallet does not support.',
      );
    }
    const session = headers['mcp-session-id'];
    if (session !== undefined && !SESSION_ID.test(session)) throw statusError(status);
    const own = {
      'mcp-protocol-version': revision,
      ...(session !== undefined && { 'mcp-session-id': session }),
    };
    const ready = await this.#send(request, { method: 'notifications/initialized' }, own, signal);
    if (ready.status >= 400) throw statusError(ready.status);
    return { headers: own, meta: {} };
  }

  async #ask(
    request: Request,
    message: JsonObject & { readonly id: number },
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Pick<OpenAnswer, 'status' | 'headers'> & { readonly answer: JsonObject | undefined }> {
    const sent = await this.#send(request, message, headers, signal);
    const answer = await readMessage(sent, message.id, this.settings.fetchMaxBytes).catch(
      (error: unknown) => {
        if (error instanceof WalletError) throw error;
        throw new WalletError(
          'fetch_failed',
          'The MCP server closed the connection, or did not answer in time.',
        );
      },
    );
    return { status: sent.status, headers: sent.headers, answer };
  }

  #send(
    { url, headers: given }: Request,
    message: JsonObject,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<OpenAnswer> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const own = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    };
    return this.fetcher.open({ url, method: 'POST', headers: given, body }, own, signal);
  }

  /** The result does not matter and is not awaited. */
  #endSession({ url, headers: given }: Request, { headers }: Dialect): void {
    if (headers['mcp-session-id'] === undefined) return;
    const request = { url, method: 'DELETE', headers: { ...given, ...headers } } as const;
    const signal = AbortSignal.timeout(GOODBYE_MS);
    this.fetcher.fetch({ ...request, body: undefined }, signal).catch(() => undefined);
  }
}

function withoutHandshake(name: string): Dialect {
  const revision = WITHOUT_HANDSHAKE;
  return {
    headers: { 'mcp-protocol-version': revision, 'mcp-method': 'tools/call', 'mcp-name': name },
    meta: {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': CLIENT,
    },
  };
}

/** Headers of the caller, which cannot set those of the protocol. */
function plain(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.test(name)));
}

function statusError(status: number): WalletError {
  if (status === 401 || status === 403) {
    return new WalletError(
      'fetch_failed',
      `The MCP server requires credentials (status ${status}): put them into headers.`,
    );
  }
  return new WalletError(
    'fetch_failed',
    `The server does not speak the Model Context Protocol (status ${status}).`,
  );
}
