import { Inject, Injectable } from '@nestjs/common';
import { type Address, formatUnits } from 'viem';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { DeviceCodes } from '../auth/device-codes.js';
import { assertSince, Sessions } from '../auth/sessions.js';
import { readSigned, type SignedMessage, SignIn, type SignInMessage } from '../auth/sign-in.js';
import { assetName, firstPolicy, type Policy } from '../rules/policy.js';
import { codeKey } from '../wallet-keys.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';

/** The owner approves an agent by signing a message that names the code and the rules. */
@Injectable()
export class ApprovalService {
  constructor(
    private readonly codes: DeviceCodes,
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly directory: WalletDirectory,
    @Inject(WALLET_SETTINGS) private readonly settings: WalletConfig,
  ) {}

  /** Starts an approval. `deviceCode` is the agent's secret; the link holds only the user code. */
  async ask(): Promise<{
    readonly deviceCode: string;
    readonly userCode: string;
    readonly url: string;
  }> {
    const { deviceCode, userCode } = await this.codes.create();
    const url = `${this.settings.publicUrl}/wallet/approve?code=${userCode}`;
    return { deviceCode, userCode, url };
  }

  /**
   * @param address - the network address of the agent.
   * @returns the token with the first answer after the approval, and never again.
   */
  async collect(
    deviceCode: string,
    address: string | undefined,
  ): Promise<{ readonly isPending: boolean; readonly token?: string }> {
    const status = await this.codes.status(deviceCode);
    if (status.state === 'pending') return { isPending: true };
    // Before the code is used up: if no wallet can be made now, the agent asks again.
    if (status.state === 'approved') await this.sessions.prepare(status.owner, address);
    // The token is made when it is collected, so no token is ever stored in Redis.
    const approval = await this.codes.collect(deviceCode);
    if (approval === undefined) return { isPending: false };
    const { owner, epoch, userCode: code } = approval;
    const token = await this.sessions.issue(owner, 'agent', { by: 'approval', epoch, code });
    return { isPending: false, token };
  }

  /**
   * @param code - the user code.
   * @returns the message to sign, and the rules in words.
   */
  async challenge(
    code: string,
    owner: Address,
  ): Promise<SignInMessage & { readonly rules: string }> {
    await this.codes.assertPending(code);
    const rules = await this.rulesOf(owner);
    const statement = statementOf(code, rules);
    return { ...(await this.signIn.challenge(owner, statement, codeKey(code))), rules };
  }

  async approve(code: string, signed: SignedMessage): Promise<void> {
    const { owner } = readSigned(signed);
    // Rules that changed meanwhile make another statement, for which there is no signature.
    const rules = await this.rulesOf(owner);
    const { askedAt } = await this.signIn.accept(signed, statementOf(code, rules), codeKey(code));
    const epoch = await this.sessions.epochOf(owner);
    assertSince({ askedAt }, epoch);
    await this.codes.approve(code, { owner, epoch });
  }

  /** The rules of the owner's wallet in words, or the first rules of a new wallet. Reading makes no wallet. */
  async rulesOf(owner: Address): Promise<string> {
    const { settings } = this;
    const wallet = await this.directory.find(owner);
    const policy =
      wallet === undefined ? firstPolicy(settings) : await this.directory.policyOf(owner, wallet);
    return describe(policy, settings.assets);
  }
}

function statementOf(code: string, rules: string): string {
  return `Let the agent with the code ${code} pay from my wallet. ${rules}`;
}

/** One line of plain text. */
function describe(
  { active, windowHours, limits, payeeLists, otherPayees, scopes }: Policy,
  assets: readonly {
    readonly chainId: number;
    readonly address: Address;
    readonly symbol: string;
    readonly decimals: number;
  }[],
): string {
  const amounts = limits.map(({ asset, perPayment, budget, askAbove }) => {
    const token = assets.find((one) => assetName(one.chainId, one.address) === asset);
    const shown = (value: bigint): string => formatUnits(value, token?.decimals ?? 0);
    const asks = askAbove === undefined ? '' : `, I am asked above ${shown(askAbove)}`;
    return `${token?.symbol ?? asset} (${asset.split('/')[0] ?? ''}): ${shown(perPayment)} a payment, ${shown(budget)} in ${windowHours} hours${asks}`;
  });
  const lists = payeeLists.map(({ name }) => name).join(', ');
  const payees = otherPayees
    ? `Payees: anybody${lists === '' ? '' : `, tighter for ${lists}`}`
    : `Payees: only ${lists === '' ? 'none' : lists}`;
  const more = scopes.length === 0 ? 'nothing else is signed' : `also signed: ${scopes.join(', ')}`;
  const state = active ? '' : ' The wallet is stopped.';
  return `Rules: ${amounts.join('; ') || 'no payments'}. ${payees}; ${more}.${state}`;
}
