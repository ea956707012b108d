import { randomBytes } from 'node:crypto';
import { type Address, parseUnits } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { sandboxClient, USD_NAME, USD_VERSION } from './deploy.js';
import type { SandboxState } from './state.js';
import { mint } from './tokens.js';

/** Rules of a sandbox wallet, in whole SUSD. */
export interface Allowance {
  readonly perPayment: string;
  readonly budget: string;
}

/** A wallet that is ready to be paid from. */
export interface ReadyWallet {
  readonly address: Address;
  /** Of its agent. */
  readonly token: string;
}

/** What the sandbox's wallet is started with; its secrets are new each time, as its chain is. */
export function walletSettings(
  network: string,
  { usd, coin }: Pick<SandboxState, 'usd' | 'coin'>,
  dir: string,
  sellerPorts: readonly number[],
): Record<string, string> {
  return {
    WALLET_PROVIDER: 'local',
    WALLET_TOKEN_SECRET: randomBytes(32).toString('hex'),
    WALLET_SEAL_SECRET: randomBytes(32).toString('hex'),
    WALLET_KEYSTORE_SECRET: randomBytes(32).toString('hex'),
    WALLET_KEYSTORE_DIR: `${dir}/keys`,
    WALLET_AUDIT_DIR: `${dir}/audit`,
    WALLET_ASSETS: `${network}/${usd}=SUSD:18:${USD_NAME}:${USD_VERSION},${network}/${coin}=SCOIN:18`,
    // Owners may be smart wallets there.
    WALLET_CONTRACT_OWNERS: network,
    // The demo sellers are on this machine, where a wallet otherwise pays none.
    WALLET_FETCH_ALLOW: sellerPorts.map((port) => `127.0.0.1:${port}`).join(','),
    // Developer tools that run in a browser are served from this machine.
    WALLET_MCP_ORIGINS: 'localhost,127.0.0.1',
  };
}

/** What an owner does with its own key: sign in, set rules, let an agent in. Nothing approves itself. */
export class WalletOwner {
  constructor(
    private readonly serviceUrl: string,
    private readonly account: PrivateKeyAccount,
  ) {}

  /** A wallet with money, rules and an agent that may pay from it. */
  async prepareWallet(
    { rpcUrl, usd }: Pick<SandboxState, 'rpcUrl' | 'usd'>,
    { perPayment, budget }: Allowance,
  ): Promise<ReadyWallet> {
    const login = await this.#signed('/v1/login/nonce', {});
    const { token: ownerToken } = await this.#ask('POST', '/v1/login', login);
    const client = sandboxClient(rpcUrl);
    const asset = `eip155:${await client.getChainId()}/${usd}`;
    const limit = { perPayment: inUnits(perPayment), budget: inUnits(budget) };
    const rules = { limits: [{ asset, ...limit }] };
    await this.#ask('PUT', '/v1/wallets/me/policy', rules, String(ownerToken));
    const token = await this.#letAgentIn();
    const { ethereum } = await this.#ask('GET', '/v1/wallets/me', undefined, token);
    const address = ethereum as Address;
    await mint(client, usd, address, parseUnits('100', 18));
    return { address, token };
  }

  async #letAgentIn(): Promise<string> {
    const { code, user_code: userCode } = await this.#ask('POST', '/v1/init', {});
    const approval = await this.#signed('/v1/approve/nonce', { code: userCode });
    await this.#ask('POST', '/v1/approve', { code: userCode, ...approval });
    const { token } = await this.#ask('POST', '/v1/status', { code });
    return String(token);
  }

  async #signed(path: string, asked: object): Promise<Record<string, string>> {
    const { address } = this.account;
    const challenge = await this.#ask('POST', path, { ...asked, address });
    const message = String(challenge['message']);
    return { address, message, signature: await this.account.signMessage({ message }) };
  }

  async #ask(
    method: string,
    path: string,
    body?: unknown,
    token?: string,
  ): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.serviceUrl}${path}`, {
      method,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answered = (await response.json()) as Record<string, unknown>;
    if (response.ok) return answered;
    throw new Error(`${method} ${path}: ${response.status} ${String(answered['error'])}`);
  }
}

function inUnits(amount: string): string {
  return parseUnits(amount, 18).toString();
}
