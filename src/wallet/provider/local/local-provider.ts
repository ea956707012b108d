import { hashMessage, type Hex } from 'viem';
import { privateKeyToAccount, sign } from 'viem/accounts';
import type { WantedTransaction } from '../../rules/spending.js';
import type { DigestedTypedData } from '../../rules/typed-data-digest.js';
import { WalletError } from '../../wallet-error.js';
import type { TransactionSender } from '../transaction-sender.js';
import type { CustodialWallet, SignableMessage, WalletProvider } from '../wallet-provider.js';
import type { Keystore } from './keystore.js';

/** Keys in encrypted files on this machine. */
export class LocalProvider implements WalletProvider {
  readonly kind = 'local';
  /** The keystore is read for every signature, and fails only then. */
  readonly condition = undefined;

  constructor(
    private readonly keystore: Keystore,
    private readonly sender: TransactionSender,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  async start(): Promise<void> {
    await this.keystore.open();
    // It runs in parallel with requests, because each key takes a tenth of a second.
    this.keystore.renewIfRotated().catch(this.onFailure);
  }

  stop(): void {
    // Holds nothing open.
  }

  async find(subject: string): Promise<CustodialWallet | undefined> {
    const address = await this.keystore.addressOf(subject);
    return address && { id: subject, address };
  }

  async create(subject: string): Promise<CustodialWallet> {
    const { address } = await this.keystore.create(subject);
    return { id: subject, address };
  }

  async signTypedData(wallet: CustodialWallet, { digest }: DigestedTypedData): Promise<Hex> {
    if (digest === undefined)
      throw new WalletError('provider_refused', 'The typed data cannot be hashed.');
    return this.#sign(wallet, digest);
  }

  signMessage(wallet: CustodialWallet, message: SignableMessage): Promise<Hex> {
    return this.#sign(wallet, hashMessage(message));
  }

  sendTransaction(
    wallet: CustodialWallet,
    wanted: WantedTransaction,
    key: string,
    isRepeat: boolean,
  ): Promise<Hex> {
    return this.sender.send({
      wallet,
      wanted,
      key,
      isRepeat,
      sign: async (unsigned) =>
        privateKeyToAccount(await this.#keyOf(wallet)).signTransaction(unsigned),
    });
  }

  async #sign(wallet: CustodialWallet, digest: Hex): Promise<Hex> {
    return sign({ hash: digest, privateKey: await this.#keyOf(wallet), to: 'hex' });
  }

  async #keyOf(wallet: CustodialWallet): Promise<Hex> {
    const key = await this.keystore.unlock(wallet.id);
    if (key?.address !== wallet.address) {
      throw new WalletError(
        'provider_refused',
        'The keystore does not have the key of this wallet.',
      );
    }
    return key.key.reveal();
  }
}
