import type { PrivateKeyAccount } from 'viem/accounts';
import type { SeededRandom } from '../support/seeded-random.js';
import { dearTypedData, nested } from '../wallet/hostile-data.js';
import type { GeneratedRequest } from './requests.js';
import { hostileText, ValueMaker } from './values.js';

/** Where a request goes, and bodies that are right there, to be spoiled. */
interface Door {
  readonly method: string;
  readonly path: () => string;
  readonly bodies?: readonly unknown[];
  /** Tokens that may go through; absent for requests without a token. */
  readonly tokens?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

const SPOILS_MAX = 4;
const HEADER_MAX = 2000;

/** Makes requests for every door of the wallet: some right, most wrong in some way. */
export class WalletRequestMaker {
  readonly #values: ValueMaker;

  constructor(
    private readonly doors: readonly Door[],
    private readonly random: SeededRandom,
  ) {
    this.#values = new ValueMaker({}, random);
  }

  next(): GeneratedRequest {
    const { random } = this;
    const door = random.pick(this.doors);
    const path = door.path();
    return {
      template: path,
      method: random.chance(0.03)
        ? random.pick(['put', 'delete', 'patch', 'options'])
        : door.method,
      path,
      headers: this.#headers(door),
      body: door.method === 'get' ? undefined : this.#body(door.bodies ?? [{}]),
    };
  }

  #headers({ tokens, headers }: Door): Record<string, string> {
    const { random } = this;
    const made: Record<string, string> = { ...headers };
    const text = (): string =>
      hostileText(random)
        .slice(0, HEADER_MAX)
        .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?')
        .trim();
    if (tokens !== undefined && random.chance(0.9)) {
      made['authorization'] = `Bearer ${random.pick(tokens)}`;
    } else if (random.chance(0.5)) {
      made['authorization'] = random.chance(0.5) ? `Bearer ${text()}` : text();
    }
    if (random.chance(0.2)) made['idempotency-key'] = random.chance(0.5) ? text() : 'one';
    if (random.chance(0.1)) made['content-type'] = text();
    if (random.chance(0.1)) made['x-forwarded-for'] = text();
    if (random.chance(0.05)) made['origin'] = text();
    return made;
  }

  #body(bodies: readonly unknown[]): Buffer | undefined {
    const { random } = this;
    const way = random.roll();
    if (way < 0.03) return undefined;
    if (way < 0.06) return Buffer.from(hostileText(random));
    if (way < 0.08)
      return Buffer.from(nested(random.below(20_000), random.pick(['lists', 'objects'])));
    const right = random.pick(bodies);
    const value = random.chance(0.3) ? right : this.#values.spoil(right, random.below(SPOILS_MAX));
    const bytes = Buffer.from(JSON.stringify(value));
    if (random.chance(0.03)) return bytes.subarray(0, random.below(bytes.length + 1));
    if (random.chance(0.03)) bytes[random.below(bytes.length)] = random.below(256);
    return bytes;
  }
}

/** Routes that answer without a token. */
export function openDoors(
  random: SeededRandom,
  owners: readonly PrivateKeyAccount[],
): readonly Door[] {
  const address = (): string => random.pick(owners).address;
  const userCode = 'BCDF-GHJK-LMNP';
  const deviceCode = `${userCode}.${'A'.repeat(43)}`;
  const signed = { address: address(), message: 'a', signature: `0x${'1b'.repeat(65)}` };
  const at = (method: string, path: string, ...bodies: readonly unknown[]): Door => ({
    method,
    path: () => path,
    ...(bodies.length > 0 && { bodies }),
  });
  return [
    at('post', '/v1/init', true),
    at('post', '/v1/status', { code: deviceCode }),
    { method: 'get', path: () => `/v1/status?code=${encodeURIComponent(textOf(random))}` },
    at('post', '/v1/login/nonce', { address: address() }),
    at('post', '/v1/login', signed),
    at('post', '/v1/approve/nonce', { code: userCode, address: address() }),
    at('post', '/v1/approve', { code: userCode, ...signed }),
    at('post', '/v1/logout', {}),
    at('post', '/v1/logout/all', {}),
    at('get', '/wallet/approve?code=<script>'.replace('<', '%3C').replace('>', '%3E')),
  ];
}

interface Inside {
  readonly agents: readonly string[];
  readonly owners: readonly string[];
  /** Of wallets that may be stopped. */
  readonly stoppable: readonly string[];
  readonly caip2: string;
  readonly rules: object;
  /** Sellers, most of them hostile. */
  readonly sellers: readonly string[];
  /** A payment to sign, as typed data. */
  readonly payment: () => object;
}

/** What the bearer of a token is let through for. */
export function insideDoors(random: SeededRandom, inside: Inside): readonly Door[] {
  const { agents, owners, caip2, rules, sellers } = inside;
  const wallet = '/v1/wallets/me';
  const at = (
    method: string,
    path: string,
    tokens: readonly string[],
    ...bodies: readonly unknown[]
  ): Door => ({ method, path: () => path, tokens, ...(bodies.length > 0 && { bodies }) });
  const rpc = (method: string, params: unknown): object => ({ method, caip2, params });
  const signing = [
    ...Array.from({ length: 20 }, () =>
      rpc('eth_signTypedData_v4', { typed_data: inside.payment() }),
    ),
    ...[1800, 500, 120, 20].map((structs) =>
      rpc('eth_signTypedData_v4', { typed_data: dearTypedData(structs) }),
    ),
    rpc('personal_sign', { message: 'x'.repeat(60_000) }),
    rpc('personal_sign', ['0x6869']),
    rpc('eth_sendTransaction', {
      transaction: { to: `0x${'d1'.repeat(20)}`, value: '0', data: `0x${'00'.repeat(5000)}` },
    }),
    rpc('eth_call', { transaction: { to: `0x${'d1'.repeat(20)}`, data: '0x' } }),
    rpc('eth_getBalance', {}),
  ];
  const buying = (url: string, count: number): object[] =>
    Array.from({ length: count }, (_, number) => ({
      url,
      maxAmount: '1',
      intentId: `fuzz-${number}-${random.below(1000)}`,
      ...(random.chance(0.3) && { headers: { accept: 'text/plain' }, method: 'POST', body: 'x' }),
    }));
  const call = (name: string, args: object): object => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args },
  });
  return [
    at('get', wallet, agents),
    at('get', `${wallet}/balance`, agents),
    at('get', `${wallet}/policy`, agents),
    at('put', `${wallet}/policy`, owners, rules),
    at('post', `${wallet}/stop`, inside.stoppable, {}),
    at('post', `${wallet}/rpc`, agents, ...signing),
    at('post', `${wallet}/rpc`, agents, ...signing),
    at('post', `${wallet}/services/search`, agents, { query: 'a', limit: 3 }, {}),
    at(
      'post',
      `${wallet}/services/details`,
      agents,
      ...sellers.map((resource) => ({ resource, payTo: `0x${'d1'.repeat(20)}` })),
    ),
    at('post', `${wallet}/payments/quote`, agents, ...sellers.map((url) => ({ url }))),
    at('post', `${wallet}/payments`, agents, ...sellers.flatMap((url) => buying(url, 5))),
    {
      method: 'get',
      path: () => `${wallet}/payments?limit=${encodeURIComponent(textOf(random))}`,
      tokens: agents,
    },
    {
      method: 'get',
      path: () => `${wallet}/payments/${encodeURIComponent(textOf(random))}`,
      tokens: agents,
    },
    {
      ...at(
        'post',
        '/mcp',
        agents,
        call('wallet_get', {}),
        {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/list',
        },
        call('payment_quote', { url: sellers[0] ?? '' }),
        call('policy_get', {}),
      ),
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
    },
  ];
}

/** A URL cannot hold half a surrogate pair. */
function textOf(random: SeededRandom): string {
  return hostileText(random)
    .slice(0, HEADER_MAX)
    .replaceAll(/[\ud800-\udfff]/gu, '?');
}
