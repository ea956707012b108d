import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Hex, TypedDataDefinition } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { isAllowed, type RpcRequest, type Rule } from './policy-engine.js';

type Json = Record<string, unknown>;

/** Named as our own metrics name them. */
type Operation =
  | 'find_wallet'
  | 'create_policy'
  | 'create_wallet'
  | 'sign_typed_data'
  | 'sign_message'
  | 'sign_transaction'
  | 'export';

export interface Fault {
  readonly kind:
    /** Answered with this status before anything was done. */
    | 'status'
    /** Done, and then no answer. */
    | 'silent_after'
    /** Nothing is done, and no answer. */
    | 'silent_before'
    /** Done, and the connection ends without an answer. */
    | 'drop_after'
    /** Done, and answered with something that is not it. */
    | 'garbage'
    | 'not_json'
    | 'endless'
    /** Signed by another key. */
    | 'wrong_signature'
    | 'slow';
  readonly status?: number;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly times?: number;
}

interface Wallet {
  readonly view: Json & { readonly id: string; readonly external_id: string };
  readonly account: PrivateKeyAccount;
  readonly owner: string;
}

interface Answer {
  readonly status: number;
  readonly body: Json;
}

const SLOW_MS = 500;

/**
 * Custody of keys in the shape of Privy's HTTP API, as far as this service uses it: credentials,
 * authorization signatures, idempotency keys, unique names, policies; and faults on demand. It knows
 * nothing of the service: what it takes, it takes from the requests.
 */
export class PrivyFixture {
  readonly requests: { readonly operation: Operation; readonly body: Json }[] = [];
  readonly wallets = new Map<string, Wallet>();
  readonly policies = new Map<string, { readonly rules: readonly Rule[]; readonly body: Json }>();
  /** Called with each request before anything is done, and again before it is answered. */
  onStep: (operation: Operation, step: 'asked' | 'done') => Promise<void> | void = () => undefined;
  appSecret = 'the-app-secret-of-this-fixture';
  readonly appId = 'the-app-id';
  readonly authorizationKey: string;
  readonly #faults = new Map<Operation, { fault: Fault; left: number }>();
  readonly #replies = new Map<string, { readonly body: string; readonly answer: Answer }>();
  readonly #server: Server;
  #count = 0;
  #hidden = 0;

  private constructor() {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.authorizationKey = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
    this.#server = createServer((request, response) => {
      void this.#serve(request, response);
    });
  }

  static async start(): Promise<PrivyFixture> {
    const fixture = new PrivyFixture();
    await new Promise<void>((resolve) => fixture.#server.listen(0, '127.0.0.1', resolve));
    return fixture;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Settings of a service that uses it. */
  get settings(): Record<string, string> {
    return {
      WALLET_PROVIDER: 'privy',
      WALLET_PRIVY_APP_ID: this.appId,
      WALLET_PRIVY_APP_SECRET: this.appSecret,
      WALLET_PRIVY_AUTHORIZATION_KEY: `wallet-auth:${this.authorizationKey}`,
      WALLET_PRIVY_API_URL: this.url,
      WALLET_PRIVY_TIMEOUT_MS: '1200',
    };
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** The next requests of a kind go wrong; one, unless it says how many. */
  fail(operation: Operation, fault: Fault): void {
    this.#faults.set(operation, { fault, left: fault.times ?? 1 });
  }

  /** It has lost every wallet, and the day of its idempotency keys is over. */
  forget(): void {
    this.wallets.clear();
    this.#replies.clear();
  }

  /** Another wallet under the name of one there was, owned and bound as that one. */
  plant(name: string): void {
    const [policyId = ''] = this.policies.keys();
    const owner = this.policies.get(policyId)?.body['owner'];
    this.#createWallet({ external_id: name, policy_ids: [policyId], owner });
  }

  heal(): void {
    this.#faults.clear();
  }

  asked(operation: Operation): number {
    return this.requests.filter((one) => one.operation === operation).length;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readText(request);
    const url = new URL(request.url ?? '/', this.url);
    const body = text === '' ? {} : (JSON.parse(text) as Json);
    const operation = operationOf(request.method ?? '', url.pathname, body);
    if (operation === undefined) {
      send(response, { status: 404, body: { error: 'no such route' } });
      return;
    }
    this.requests.push({ operation, body });
    await this.onStep(operation, 'asked');
    const fault = this.#nextFault(operation);
    if (fault?.kind === 'silent_before') return;
    if (fault?.kind === 'status') {
      const answer = { error: 'as the test wants it', code: fault.code };
      send(response, { status: fault.status ?? 500, body: answer }, fault.headers);
      return;
    }
    if (fault?.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    const answer =
      this.#refusal(request, url, body) ?? (await this.#once(request, url, body, fault));
    await this.onStep(operation, 'done');
    switch (fault?.kind) {
      case 'silent_after':
        return;
      case 'drop_after':
        response.destroy();
        return;
      case 'garbage':
        send(response, { status: 200, body: { data: { encoding: 'hex', signature: '0x12' } } });
        return;
      case 'not_json':
        response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>');
        return;
      case 'endless':
        response.writeHead(200, { 'content-type': 'application/json' }).write('{"a":"');
        response.write('a'.repeat(2_000_000));
        return;
      case 'wrong_signature':
      case 'slow':
      case undefined:
        send(response, answer);
    }
  }

  #nextFault(operation: Operation): Fault | undefined {
    const planned = this.#faults.get(operation);
    if (planned === undefined || planned.left <= 0) return undefined;
    planned.left -= 1;
    return planned.fault;
  }

  /** Who asks, and whether the owner of the wallet has signed it. */
  #refusal(request: IncomingMessage, url: URL, body: Json): Answer | undefined {
    const pair = Buffer.from(`${this.appId}:${this.appSecret}`).toString('base64');
    const { headers } = request;
    if (headers.authorization !== `Basic ${pair}` || headers['privy-app-id'] !== this.appId) {
      return { status: 401, body: { error: 'Invalid app credentials' } };
    }
    const walletId = /^\/v1\/wallets\/([^/]+)\//.exec(url.pathname)?.[1];
    if (walletId === undefined) return undefined;
    const wallet = this.wallets.get(walletId);
    if (wallet === undefined) return { status: 404, body: { error: 'no such wallet' } };
    const expiry = headers['privy-request-expiry'];
    if (typeof expiry === 'string' && Number(expiry) < Date.now()) {
      return { status: 400, body: { error: 'request expired' } };
    }
    const signed = {
      version: 1,
      method: request.method,
      url: `${this.url}${url.pathname}`,
      body,
      headers: Object.fromEntries(
        ['privy-app-id', 'privy-idempotency-key', 'privy-request-expiry'].flatMap((name) => {
          const value = headers[name];
          return typeof value === 'string' ? [[name, value]] : [];
        }),
      ),
    };
    const key = createPublicKey({
      key: Buffer.from(wallet.owner, 'base64'),
      format: 'der',
      type: 'spki',
    });
    const signatures = String(headers['privy-authorization-signature'] ?? '').split(',');
    const isSigned = signatures.some((signature) =>
      verify('sha256', Buffer.from(canonical(signed)), key, Buffer.from(signature, 'base64')),
    );
    return isSigned
      ? undefined
      : { status: 401, body: { error: 'invalid authorization signature' } };
  }

  async #once(
    request: IncomingMessage,
    url: URL,
    body: Json,
    fault: Fault | undefined,
  ): Promise<Answer> {
    const key = request.headers['privy-idempotency-key'];
    if (typeof key !== 'string') return this.#answer(request, url, body, fault);
    const place = `${url.pathname} ${key}`;
    const digest = canonical(body);
    const before = this.#replies.get(place);
    if (before !== undefined && before.body !== digest) {
      return { status: 400, body: { error: 'idempotency key was used for another request' } };
    }
    if (before !== undefined) return before.answer;
    const answer = await this.#answer(request, url, body, fault);
    // A wrong answer is not what it would repeat.
    if (answer.status < 300 && fault?.kind !== 'wrong_signature') {
      this.#replies.set(place, { body: digest, answer });
    }
    return answer;
  }

  async #answer(
    request: IncomingMessage,
    url: URL,
    body: Json,
    fault: Fault | undefined,
  ): Promise<Answer> {
    const { pathname } = url;
    if (pathname === '/v1/wallets' && request.method === 'GET') return this.#list(url);
    if (pathname === '/v1/wallets') return this.#createWallet(body);
    if (pathname === '/v1/policies') return this.#createPolicy(body);
    if (pathname.endsWith('/export')) return { status: 403, body: { error: 'export is off' } };
    return this.#rpc(pathname.split('/')[3] ?? '', body as unknown as RpcRequest, fault);
  }

  /** Leaves the newest item out of lists, for as long as a request asks twice. */
  hideOnce(): void {
    this.#hidden = 2;
  }

  #list(url: URL): Answer {
    if (this.#hidden > 0) {
      this.#hidden -= 1;
      return { status: 200, body: { data: [], next_cursor: null } };
    }
    const name = url.searchParams.get('external_id');
    const views = [...this.wallets.values()].map(({ view }) => view);
    const data = views.filter((view) => name === null || view.external_id === name);
    return { status: 200, body: { data, next_cursor: null } };
  }

  #createPolicy(body: Json): Answer {
    const id = `policy${String((this.#count += 1))}`;
    const rules = (body['rules'] as Rule[]).map((rule, at) => ({ id: `${id}-${at}`, ...rule }));
    this.policies.set(id, { rules, body });
    const owner = ownerOf(body);
    const view = { id, owner_id: owner.id, rules, name: body['name'], version: '1.0' };
    return { status: 200, body: { ...view, chain_type: 'ethereum', created_at: Date.now() } };
  }

  #createWallet(body: Json): Answer {
    const name = String(body['external_id']);
    const policyIds = body['policy_ids'] as string[];
    if ([...this.wallets.values()].some(({ view }) => view.external_id === name)) {
      return { status: 409, body: { error: 'external_id is taken' } };
    }
    if (policyIds.length !== 1 || !this.policies.has(policyIds[0] ?? '')) {
      return { status: 400, body: { error: 'no such policy' } };
    }
    const account = privateKeyToAccount(generatePrivateKey());
    const owner = ownerOf(body);
    const id = `wallet${String((this.#count += 1))}`;
    const view = {
      id,
      address: account.address,
      chain_type: 'ethereum',
      external_id: name,
      owner_id: owner.id,
      policy_ids: policyIds,
      additional_signers: [],
      created_at: Date.now(),
      exported_at: null,
      imported_at: null,
      archived_at: null,
    };
    this.wallets.set(id, { view, account, owner: owner.publicKey });
    return { status: 200, body: view };
  }

  async #rpc(walletId: string, request: RpcRequest, fault: Fault | undefined): Promise<Answer> {
    const wallet = this.wallets.get(walletId);
    const [policyId] = (wallet?.view['policy_ids'] as string[] | undefined) ?? [];
    const policy = this.policies.get(policyId ?? '');
    if (wallet === undefined || policy === undefined) return { status: 404, body: {} };
    if (!isAllowed(policy.rules, request)) {
      return { status: 400, body: { error: 'denied by policy', code: 'policy_violation' } };
    }
    const other = privateKeyToAccount(generatePrivateKey());
    const account = fault?.kind === 'wrong_signature' ? other : wallet.account;
    const { method } = request;
    return { status: 200, body: { method, data: await sign(account, request) } };
  }
}

async function sign(account: PrivateKeyAccount, { method, params }: RpcRequest): Promise<Json> {
  if (params.typed_data !== undefined) {
    const { primary_type: primaryType, ...rest } = params.typed_data;
    const typed = { ...rest, primaryType } as unknown as TypedDataDefinition;
    return { encoding: 'hex', signature: await account.signTypedData(typed) };
  }
  if (params.transaction !== undefined) {
    const { transaction } = params;
    const number = (name: string): bigint => BigInt(transaction[name] as string);
    const raw = await account.signTransaction({
      type: 'eip1559',
      chainId: Number(number('chain_id')),
      nonce: Number(number('nonce')),
      to: transaction['to'] as Hex,
      data: transaction['data'] as Hex,
      value: number('value'),
      gas: number('gas_limit'),
      maxFeePerGas: number('max_fee_per_gas'),
      maxPriorityFeePerGas: number('max_priority_fee_per_gas'),
    });
    return { encoding: 'rlp', signed_transaction: raw };
  }
  if (method !== 'personal_sign' || params.encoding !== 'hex') throw new Error('not a request');
  const raw: Hex = `0x${params.message ?? ''}`;
  return { encoding: 'hex', signature: await account.signMessage({ message: { raw } }) };
}

function operationOf(method: string, path: string, body: Json): Operation | undefined {
  if (path === '/v1/wallets') return method === 'GET' ? 'find_wallet' : 'create_wallet';
  if (path === '/v1/policies') return 'create_policy';
  if (path.endsWith('/export')) return 'export';
  if (!path.endsWith('/rpc')) return undefined;
  const rpcs: Record<string, Operation> = {
    eth_signTypedData_v4: 'sign_typed_data',
    personal_sign: 'sign_message',
    eth_signTransaction: 'sign_transaction',
  };
  return rpcs[String(body['method'])];
}

function ownerOf(body: Json): { readonly id: string; readonly publicKey: string } {
  const { public_key: publicKey } = body['owner'] as { readonly public_key: string };
  return { id: createHash('sha256').update(publicKey).digest('hex').slice(0, 24), publicKey };
}

/** JSON with sorted names, which is RFC 8785 for what has no fractions in it. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  const parts = entries
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`);
  return `{${parts.join(',')}}`;
}

function send(
  response: ServerResponse,
  { status, body }: Answer,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
