import { Injectable } from '@nestjs/common';
import { type Address, formatUnits } from 'viem';
import { AppConfig } from '../../platform/config/app-config.js';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { DeviceCodes } from '../auth/device-codes.js';
import { type SignedMessage, SignIn, type SignInMessage } from '../auth/sign-in.js';
import { assertSince, Sessions } from '../auth/sessions.js';
import { assetName, firstPolicy, type Policy } from '../rules/policy.js';
import { WalletError } from '../wallet-error.js';

/** An owner lets an agent in, by signing a message that names the code and the rules. */
@Injectable()
export class ApprovalService {
  constructor(
    private readonly codes: DeviceCodes,
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly directory: WalletDirectory,
    private readonly config: AppConfig,
  ) {}

  /**
   * @param code - the user code.
   * @returns the message to sign and, in words, the rules it names.
   */
  async challenge(
    code: string,
    owner: Address,
  ): Promise<SignInMessage & { readonly rules: string }> {
    await this.codes.assertPending(code);
    const rules = await this.#rulesOf(owner);
    return { ...(await this.signIn.challenge(owner, statementOf(code, rules))), rules };
  }

  async approve(code: string, signed: SignedMessage): Promise<void> {
    const owner = this.signIn.signerOf(signed);
    // Rules that changed since make another statement, which nobody has signed.
    const rules = await this.#rulesOf(owner);
    const { askedAt } = await this.signIn.accept(signed, statementOf(code, rules));
    const epoch = await this.sessions.epochOf(owner);
    assertSince({ askedAt }, epoch);
    await this.codes.approve(code, { owner, epoch });
  }

  /** Of the owner's wallet, or what a new one starts with: asking makes none. */
  async #rulesOf(owner: Address): Promise<string> {
    const { wallet: config } = this.config;
    if (config === undefined) throw new WalletError('unavailable', 'The wallet is off.');
    const wallet = await this.directory.find(owner);
    const policy =
      wallet === undefined ? firstPolicy(config) : await this.directory.policyOf(owner, wallet);
    return describe(policy, config.assets);
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
  const amounts = limits.map(({ asset, perPayment, budget }) => {
    const token = assets.find((one) => assetName(one.chainId, one.address) === asset);
    const shown = (value: bigint): string => formatUnits(value, token?.decimals ?? 0);
    return `${token?.symbol ?? asset} (${asset.split('/')[0] ?? ''}): ${shown(perPayment)} a payment, ${shown(budget)} in ${windowHours} hours`;
  });
  const lists = payeeLists.map(({ name }) => name).join(', ');
  const payees = otherPayees
    ? `Payees: anybody${lists === '' ? '' : `, tighter for ${lists}`}`
    : `Payees: only ${lists === '' ? 'none' : lists}`;
  const more = scopes.length === 0 ? 'nothing else is signed' : `also signed: ${scopes.join(', ')}`;
  const state = active ? '' : ' The wallet is stopped.';
  return `Rules: ${amounts.join('; ') || 'no payments'}. ${payees}; ${more}.${state}`;
}
