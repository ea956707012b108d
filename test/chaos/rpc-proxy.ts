import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Hex, keccak256, numberToHex, parseTransaction } from 'viem';
import { delay } from './client.js';
import { type Forger, type Lie, type RpcCall, type RpcReply, tellLie } from './rpc-lies.js';

/** How a node misbehaves. */
export type RpcFault =
  | { readonly kind: 'none' }
  /** Takes transactions and never says so. */
  | { readonly kind: 'silent_after_send' }
  /** Closes the connection, of every second request, without having looked at it. */
  | { readonly kind: 'drops' }
  /** Is this many blocks behind. */
  | { readonly kind: 'lags'; readonly blocks: number }
  /** Leads to a node of another chain. */
  | { readonly kind: 'wrong_chain' }
  | { readonly kind: 'rate_limited' }
  /** Answers every second call with an error, with status 200. */
  | { readonly kind: 'errors' }
  /** Says it has taken a transaction, and has not. */
  | { readonly kind: 'forgets' }
  /** Takes connections and requests, and never answers. */
  | { readonly kind: 'hangs' }
  /** Looks at a receipt at once, and says it this much later. */
  | { readonly kind: 'late_receipts'; readonly ms: number }
  /** Shows each block and each receipt as it first showed it, whatever has taken its place. */
  | { readonly kind: 'remembers' }
  /** Is wrong about one thing and right about everything else. */
  | { readonly kind: 'lies'; readonly about: Lie };

/** Of EIP-7825: no node takes a transaction with more gas. */
const TRANSACTION_GAS_MOST = 16_777_216n;

const SEND = 'eth_sendRawTransaction';
const RECEIPT = 'eth_getTransactionReceipt';
const TOO_MUCH = { code: -32_000, message: 'transaction gas limit too high' };

function isTooMuchGas({ method, params }: RpcCall): boolean {
  if (method !== SEND) return false;
  return (parseTransaction(params[0] as Hex).gas ?? 0n) > TRANSACTION_GAS_MOST;
}

/** Called before (`false`) and after (`true`) a call reached the node; may end the caller meanwhile. */
type RpcWatcher = (method: string, isDone: boolean) => Promise<void>;

/**
 * What a node says instead of the truth, to one call; `undefined` for the truth. A lie may be the result
 * of another call, or an error.
 */
type RpcLie = (
  call: { readonly method: string; readonly params: readonly unknown[] },
  truth: unknown,
) => { readonly result?: unknown; readonly error?: unknown } | undefined;

/** Stands between one process and the node, and misbehaves when told to. */
export class RpcProxy {
  fault: RpcFault = { kind: 'none' };
  watcher: RpcWatcher | undefined;
  lie: RpcLie | undefined;
  /** Told of raw transactions when they come, as everybody is who watches the pool. */
  onTransaction: ((raw: Hex) => void) | undefined;
  forge: Forger = () => [];
  /** Calls that came so far. */
  calls = 0;
  #count = 0;
  /** What a node that remembers has shown first, by question. */
  readonly #shown = new Map<string, unknown>();

  private constructor(
    private readonly server: Server,
    private readonly node: string,
    private readonly strayNode: string,
    readonly url: string,
  ) {}

  static start(node: string, strayNode: string): Promise<RpcProxy> {
    return new Promise((resolve) => {
      const server = createServer((request, response) => {
        proxy.#serve(request, response).catch(() => {
          response.destroy();
        });
      });
      let proxy: RpcProxy;
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        const port = typeof address === 'object' && address !== null ? address.port : 0;
        proxy = new RpcProxy(server, node, strayNode, `http://127.0.0.1:${port}`);
        resolve(proxy);
      });
    });
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await textOf(request)) as RpcCall | RpcCall[];
    const calls = Array.isArray(body) ? body : [body];
    const { fault } = this;
    this.calls += calls.length;
    this.#count += 1;
    const isSecond = this.#count % 2 === 0;
    if (fault.kind === 'drops' && isSecond) {
      response.destroy();
      return;
    }
    if (fault.kind === 'rate_limited') {
      response.writeHead(429).end('slow down');
      return;
    }
    if (fault.kind === 'hangs') return;
    for (const { method } of calls) await this.watcher?.(method, false);
    for (const { method, params } of calls) {
      if (method === SEND) this.onTransaction?.(params[0] as Hex);
    }
    const truth = await this.#answer(calls, fault, isSecond);
    const replies = truth.map((reply, index) => this.#lied(calls[index], reply));
    if (fault.kind === 'late_receipts' && calls.some(({ method }) => method === RECEIPT)) {
      await delay(fault.ms);
    }
    for (const { method } of calls) await this.watcher?.(method, true);
    const isSending = calls.some(({ method }) => method === SEND);
    // The connection stays open; it is the caller who loses patience.
    if (fault.kind === 'silent_after_send' && isSending) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(Array.isArray(body) ? replies : replies[0]));
  }

  #lied(call: RpcCall | undefined, { id, jsonrpc, ...truth }: RpcReply): RpcReply {
    const lie = call === undefined ? undefined : this.lie?.(call, truth.result);
    return { id, jsonrpc, ...(lie ?? truth) };
  }

  async #answer(
    calls: readonly RpcCall[],
    fault: RpcFault,
    isSecond: boolean,
  ): Promise<RpcReply[]> {
    switch (fault.kind) {
      case 'wrong_chain':
        return forward(this.strayNode, calls);
      case 'lags':
        return this.#answerLate(calls, fault.blocks);
      case 'forgets':
        return Promise.all(
          calls.map(async (call) =>
            call.method === SEND
              ? { id: call.id, jsonrpc: '2.0', result: keccak256(call.params[0] as Hex) }
              : one(await forward(this.node, [call])),
          ),
        );
      case 'errors': {
        const replies = await forward(this.node, calls);
        return replies.map(({ id, ...rest }, index) =>
          (index % 2 === 0) === isSecond
            ? { id, jsonrpc: '2.0', error: { code: -32_603, message: 'internal error' } }
            : { id, ...rest },
        );
      }
      case 'lies': {
        const replies =
          fault.about === 'least_tip'
            ? await this.#passBut(calls, ({ method }) => method === SEND)
            : await this.#passBut(calls, isTooMuchGas);
        const node = async (method: string, params: unknown[]): Promise<unknown> =>
          one(await forward(this.node, [callOf(method, params)])).result;
        return Promise.all(
          replies.map(async (reply, index) => {
            const call = calls[index];
            if (call === undefined) return reply;
            return tellLie({ about: fault.about, call, reply }, node, this.forge);
          }),
        );
      }
      case 'remembers': {
        const replies = await this.#passBut(calls, isTooMuchGas);
        return replies.map((reply, index) => this.#asShownFirst(calls[index], reply));
      }
      case 'none':
      case 'late_receipts':
      case 'hangs':
      case 'silent_after_send':
      case 'drops':
      case 'rate_limited':
        return this.#passBut(calls, isTooMuchGas);
    }
  }

  #asShownFirst(call: RpcCall | undefined, reply: RpcReply): RpcReply {
    const { method, params } = call ?? { method: '', params: [] };
    const isBlock = method === 'eth_getBlockByNumber' && String(params[0]).startsWith('0x');
    if ((!isBlock && method !== RECEIPT) || !isPresent(reply.result)) return reply;
    const key = `${method} ${JSON.stringify(params)}`;
    if (!this.#shown.has(key)) this.#shown.set(key, reply.result);
    return { ...reply, result: this.#shown.get(key) };
  }

  /** Calls that the node never gets are answered as it would. */
  async #passBut(
    calls: readonly RpcCall[],
    isRefused: (call: RpcCall) => boolean,
  ): Promise<RpcReply[]> {
    if (!calls.some(isRefused)) return forward(this.node, calls);
    const allowed = calls.filter((call) => !isRefused(call));
    const replies = allowed.length === 0 ? [] : await forward(this.node, allowed);
    return calls.map(
      (call) => replies[allowed.indexOf(call)] ?? { id: call.id, jsonrpc: '2.0', error: TOO_MUCH },
    );
  }

  /** The node as it was some blocks ago; transactions are taken all the same. */
  async #answerLate(calls: readonly RpcCall[], blocks: number): Promise<RpcReply[]> {
    const reply = one(await forward(this.node, [callOf('eth_blockNumber', [])]));
    const head = Math.max(0, Number(reply.result) - blocks);
    const late = calls.map((call) => ({ ...call, params: atHead(call, head) }));
    const replies = await forward(this.node, late);
    return replies.map((answer, index) => {
      const method = calls[index]?.method;
      if (method === 'eth_blockNumber') return { ...answer, result: numberToHex(head) };
      return isFromTheFuture(answer.result, head) ? { ...answer, result: null } : answer;
    });
  }
}

const BLOCK_TAGS: Readonly<Record<string, number>> = { latest: 0, pending: 0, finalized: 2 };

function atHead({ method, params }: RpcCall, head: number): unknown[] {
  if (method === 'eth_getLogs') {
    const filter = params[0] as Record<string, unknown>;
    return [{ ...filter, ...laterBlocksCut(filter, head) }];
  }
  if (method === 'eth_estimateGas' && params.length === 1) return [params[0], numberToHex(head)];
  return params.map((param) =>
    typeof param === 'string' && param in BLOCK_TAGS
      ? numberToHex(Math.max(0, head - (BLOCK_TAGS[param] ?? 0)))
      : param,
  );
}

function laterBlocksCut(filter: Record<string, unknown>, head: number): Record<string, string> {
  const cut = (block: unknown): string =>
    numberToHex(block === 'latest' ? head : Math.min(head, Number(block)));
  return { fromBlock: cut(filter['fromBlock']), toBlock: cut(filter['toBlock']) };
}

/** A receipt, transaction or block above the head. */
function isFromTheFuture(result: unknown, head: number): boolean {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return false;
  const { blockNumber, number } = result as Record<string, unknown>;
  const at = blockNumber ?? number;
  return typeof at === 'string' && Number(at) > head;
}

const isPresent = (result: unknown): boolean => result !== undefined && result !== null;

function callOf(method: string, params: unknown[]): RpcCall {
  return { id: 0, method, params };
}

async function forward(url: string, calls: readonly RpcCall[]): Promise<RpcReply[]> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls.map((call) => ({ jsonrpc: '2.0', ...call }))),
  });
  return (await response.json()) as RpcReply[];
}

function one(replies: readonly RpcReply[]): RpcReply {
  const [reply] = replies;
  if (reply === undefined) throw new Error('the node did not answer');
  return reply;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
