import { Inject, Injectable } from '@nestjs/common';
import { hashMessage, type Hex, keccak256, toHex } from 'viem';
import type { RecoverSigner } from '../../protocol/schemes/verdict.js';
import type { SignableMessage, WalletProvider } from '../provider/wallet-provider.js';
import { decodeTransaction } from '../rules/decode-transaction.js';
import { decodeTypedData, type KnownContracts } from '../rules/decode-typed-data.js';
import type { TypedData, WantedTransaction } from '../rules/spending.js';
import { type DigestedTypedData, withDigest } from '../rules/typed-data-digest.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import {
  KNOWN_CONTRACTS,
  RECOVER_WALLET_SIGNER,
  WALLET_CLOCK,
  WALLET_PROVIDER,
  type WalletClock,
} from '../wallet-tokens.js';
import { Authorizer, type SigningRequest } from './authorizer.js';

/** Signs what the rules allow, and checks the provider's signatures. */
@Injectable()
export class WalletSigner {
  constructor(
    @Inject(WALLET_PROVIDER) private readonly provider: WalletProvider,
    private readonly authorizer: Authorizer,
    @Inject(KNOWN_CONTRACTS) private readonly known: KnownContracts,
    @Inject(RECOVER_WALLET_SIGNER) private readonly recoverSigner: RecoverSigner,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /** EIP-712, for data of the agent. */
  async signTypedData(session: Session, typedData: DigestedTypedData, key: string): Promise<Hex> {
    const { wallet } = session;
    const wish: SigningRequest = {
      signable: decodeTypedData(typedData, wallet.address, this.known),
      what: 'eth_signTypedData_v4',
      get digest() {
        return digestToSign(typedData);
      },
    };
    const authorized = await this.authorizer.authorize(session, wish);
    const signature = await this.#signTypedData(session, typedData, key);
    if (authorized.kind === 'charged' && !authorized.isSigned) {
      await this.authorizer.noteSigned(session, authorized.spending);
    }
    return signature;
  }

  /** Signs typed data that has passed the authorizer. */
  signAuthorized(session: Session, typedData: TypedData, key: string): Promise<Hex> {
    return this.#signTypedData(session, withDigest(typedData), key);
  }

  /** EIP-191 `personal_sign`. */
  async signMessage(session: Session, message: SignableMessage, key: string): Promise<Hex> {
    await this.authorizer.authorize(session, {
      signable: { kind: 'scoped', scope: 'personal_sign', what: 'a message' },
      what: 'personal_sign',
      get digest() {
        return hashMessage(message);
      },
    });
    const signature = await this.provider.signMessage(session.wallet, message, key);
    return this.#checked(session.wallet.address, hashMessage(message), signature);
  }

  async sendTransaction(session: Session, wanted: WantedTransaction, key: string): Promise<Hex> {
    const signable = decodeTransaction(wanted, this.known, key, this.now());
    const authorized = await this.authorizer.authorize(session, {
      signable,
      what: 'eth_sendTransaction',
      get digest() {
        return keccak256(toHex(JSON.stringify(wanted, decimals)));
      },
    });
    const isRepeat = authorized.kind === 'charged' && authorized.isRepeat;
    return this.provider.sendTransaction(session.wallet, wanted, key, isRepeat);
  }

  async #signTypedData(
    { wallet }: Session,
    typedData: DigestedTypedData,
    key: string,
  ): Promise<Hex> {
    const digest = digestToSign(typedData);
    const signature = await this.provider.signTypedData(wallet, typedData, key);
    return this.#checked(wallet.address, digest, signature);
  }

  /** A signature by another key, or over other data, is rejected. */
  #checked(address: string, digest: Hex, signature: Hex): Hex {
    if (this.recoverSigner(digest, signature) === address) return signature;
    throw new WalletError(
      'outcome_unknown',
      'The custody provider returned a signature of another account.',
    );
  }
}

/** @throws WalletError for data that cannot be hashed, and so cannot be signed. */
function digestToSign({ digest }: DigestedTypedData): Hex {
  if (digest !== undefined) return digest;
  throw WalletError.refused({
    rule: 'unsignable',
    message: 'The wallet did not sign: the request is not valid EIP-712 typed data.',
  });
}

function decimals(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
