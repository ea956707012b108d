import { hashMessage, type Hex, keccak256, toHex } from 'viem';
import type { RecoverSigner } from '../../core/exact/verdict.js';
import type { Journal } from '../audit/journal.js';
import type { SignableMessage, WalletProvider } from '../provider/wallet-provider.js';
import { decodeTransaction } from '../rules/decode-transaction.js';
import { decodeTypedData, digestOf, type KnownContracts } from '../rules/decode-typed-data.js';
import type { TypedData, WantedTransaction } from '../rules/spending.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import type { Authorizer, Wish } from './authorizer.js';

/** Signs what the rules allow, and checks what the provider gives back. */
export class WalletSigner {
  constructor(
    private readonly provider: WalletProvider,
    private readonly authorizer: Authorizer,
    private readonly known: KnownContracts,
    private readonly recoverSigner: RecoverSigner,
    private readonly journal: Journal,
    private readonly now: () => number,
  ) {}

  /** EIP-712, for an agent that brings its own data. */
  async signTypedData(session: Session, typedData: TypedData, key: string): Promise<Hex> {
    const { address } = session.wallet;
    const wish: Wish = {
      signable: decodeTypedData(typedData, address, this.known),
      what: 'eth_signTypedData_v4',
      digest: digestOf(typedData) ?? '0x',
    };
    const authorized = await this.authorizer.authorize(session, wish);
    const signature = await this.signAuthorized(session, typedData, key);
    if (authorized.kind === 'charged') await this.#noteSigned(session, authorized.spending.id);
    return signature;
  }

  /** Signs typed data that has passed the authorizer already. */
  async signAuthorized({ wallet }: Session, typedData: TypedData, key: string): Promise<Hex> {
    const signature = await this.provider.signTypedData(wallet, typedData, key);
    return this.#checked(wallet.address, digestOf(typedData) ?? '0x', signature);
  }

  /** EIP-191 `personal_sign`. */
  async signMessage(session: Session, message: SignableMessage, key: string): Promise<Hex> {
    const digest = hashMessage(message);
    await this.authorizer.authorize(session, {
      signable: { kind: 'scoped', scope: 'personal_sign', what: 'a message' },
      what: 'personal_sign',
      digest,
    });
    const signature = await this.provider.signMessage(session.wallet, message, key);
    return this.#checked(session.wallet.address, digest, signature);
  }

  async sendTransaction(session: Session, wanted: WantedTransaction, key: string): Promise<Hex> {
    const signable = decodeTransaction(wanted, this.known, key, this.now());
    const digest = keccak256(toHex(JSON.stringify(wanted, decimals)));
    const what = 'eth_sendTransaction';
    const authorized = await this.authorizer.authorize(session, { signable, what, digest });
    const isRepeat = authorized.kind === 'charged' && authorized.isRepeat;
    return this.provider.sendTransaction(session.wallet, wanted, key, isRepeat);
  }

  #noteSigned({ owner, wallet }: Session, spending: string): Promise<void> {
    const at = this.now();
    return this.journal.append({ event: 'signed', at, owner, wallet: wallet.address, spending });
  }

  /** A provider that signs with another key, or something else, is not believed. */
  #checked(address: string, digest: Hex, signature: Hex): Hex {
    if (this.recoverSigner(digest, signature) === address) return signature;
    throw new WalletError(
      'outcome_unknown',
      "The provider gave a signature that is not the wallet's.",
    );
  }
}

function decimals(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
