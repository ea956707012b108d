import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Hex, keccak256, numberToHex } from 'viem';

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
  | { readonly kind: 'forgets' };

interface RpcCall {
  readonly id: number;
  readonly method: string;
  readonly params: unknown[];
}

interface RpcReply {
  readonly id: number;
  readonly jsonrpc: '2.0';
  result?: unknown;
  error?: unknown;
}

/** Called before (`false`) and after (`true`) a call reached the node; may end the caller meanwhile. */
export type RpcWatcher = (method: string, isDone: boolean) => Promise<void>;

/** Stands between one process and the node, and misbehaves when told to. */
export class RpcProxy {
  fault: RpcFault = { kind: 'none' };
  watcher: RpcWatcher | undefined;
  #count = 0;

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
    for (const { method } of calls) await this.watcher?.(method, false);
    const replies = await this.#answer(calls, fault, isSecond);
    for (const { method } of calls) await this.watcher?.(method, true);
    const isSending = calls.some(({ method }) => method === 'eth_sendRawTransaction');
    // The connection stays open; it is the caller who loses patience.
    if (fault.kind === 'silent_after_send' && isSending) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(Array.isArray(body) ? replies : replies[0]));
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
            call.method === 'eth_sendRawTransaction'
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
      case 'none':
      case 'silent_after_send':
      case 'drops':
      case 'rate_limited':
        return forward(this.node, calls);
    }
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
