import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { PrivyClient } from '@privy-io/node';
import { type Address, hashMessage, type Hex } from 'viem';
import type { z } from 'zod';
import type { PrivyConfig } from '../../../platform/config/wallet-settings.js';
import { boundedFetch } from '../../../platform/fetch/bounded-fetch.js';
import { StartError } from '../../../protocol/errors.js';
import type { RecoverSigner } from '../../../protocol/schemes/verdict.js';
import type { WantedTransaction } from '../../rules/spending.js';
import { type DigestedTypedData, digestOf } from '../../rules/typed-data-digest.js';
import { WalletError } from '../../wallet-error.js';
import type { WalletObserver } from '../../wallet-observer.js';
import type { TransactionSender, UnsignedTransaction } from '../transaction-sender.js';
import type {
  CustodialWallet,
  ProviderCondition,
  SignableMessage,
  WalletProvider,
} from '../wallet-provider.js';
import { plainTypedData } from './plain-typed-data.js';
import {
  PrivyPolicy,
  PrivySignature,
  PrivySignedTransaction,
  PrivyWallet,
  PrivyWalletPage,
} from './privy-answers.js';
import { PrivyCalls, PrivyRefusal, WrongAnswer } from './privy-calls.js';
import { errorOf } from './privy-failure.js';
import type { PolicyRule } from './privy-policy.js';
import { assertSigned, wireTransaction } from './privy-transaction.js';

/** Interval of probes of Privy, so that health is known without a payment. */
const PROBE_MS = 15_000;
/** A request that was delayed for longer is not executed any more. */
const REQUEST_EXPIRY_MS = 300_000;
const PROBE_SUBJECT = 'probe';

/**
 * Keys in the custody of Privy. Each wallet is owned by the service's authorization key, without which the app secret
 * alone signs nothing, and has its own policy that limits each payment. Every signature of Privy is checked against the
 * wallet's address before it is used.
 */
export class PrivyProvider implements WalletProvider {
  readonly kind = 'privy';
  readonly #client: PrivyClient;
  readonly #calls: PrivyCalls;
  readonly #publicKey: string;
  #probe: NodeJS.Timeout | undefined;

  constructor(
    private readonly config: PrivyConfig,
    private readonly rules: readonly PolicyRule[],
    private readonly sender: TransactionSender,
    private readonly recoverSigner: RecoverSigner,
    observer: Pick<WalletObserver, 'providerCalled'>,
  ) {
    this.#client = new PrivyClient({
      appId: config.appId.reveal(),
      appSecret: config.appSecret.reveal(),
      apiUrl: config.apiUrl,
      fetch: boundedFetch(config.timeoutMs),
      // The service's own time limit begins a little earlier and includes the body.
      timeout: config.timeoutMs + 1000,
      // Otherwise the SDK would wait as long as an answer tells it to.
      maxRetries: 0,
      // The SDK's log lines contain URLs and bodies.
      logLevel: 'off',
      requestExpiry: { defaultMs: REQUEST_EXPIRY_MS },
    });
    this.#calls = new PrivyCalls(config.timeoutMs, observer);
    this.#publicKey = publicKeyOf(config.authorizationKey.reveal());
  }

  get condition(): ProviderCondition | undefined {
    return this.#calls.condition;
  }

  /** Refused credentials are an error of the settings; an unreachable Privy is not. */
  async start(): Promise<void> {
    await this.#look();
    if (this.condition === 'provider_credentials_refused') {
      throw new StartError('WALLET_PRIVY_APP_ID, WALLET_PRIVY_APP_SECRET: Privy refuses them');
    }
    this.#probe = setInterval(() => void this.#look(), PROBE_MS);
    this.#probe.unref();
  }

  stop(): void {
    clearInterval(this.#probe);
  }

  async find(subject: string): Promise<CustodialWallet | undefined> {
    const externalId = externalIdOf(subject);
    const page = await this.#calls.make('find_wallet', PrivyWalletPage, () =>
      this.#client
        .wallets()
        .list({ external_id: externalId, chain_type: 'ethereum' })
        // The SDK treats a page without data as empty, and a second wallet would be made.
        .asResponse()
        .then((response) => response.json()),
    );
    const own = page.data.filter(({ external_id: name }) => name === externalId);
    if (own.length === 0) return undefined;
    const wallet = PrivyWallet.safeParse(own[0]);
    if (own.length > 1 || !wallet.success) throw unusable();
    return { id: wallet.data.id, address: wallet.data.address };
  }

  async create(subject: string): Promise<CustodialWallet> {
    const externalId = externalIdOf(subject);
    const policy = await this.#createPolicy(externalId);
    const isOurs = PrivyWallet.refine(
      (one) => one.external_id === externalId && one.policy_ids[0] === policy,
    );
    try {
      const { id, address } = await this.#calls.attempt('create_wallet', isOurs, () =>
        this.#client.wallets().create({
          chain_type: 'ethereum',
          owner: { public_key: this.#publicKey },
          policy_ids: [policy],
          external_id: externalId,
          idempotency_key: `wallet-${externalId}`,
        }),
      );
      return { id, address };
    } catch (error) {
      if (!(error instanceof PrivyRefusal)) throw error;
      const { outcome } = error.failure;
      // Another process, or an attempt with a lost answer, may have taken the name.
      const other =
        outcome === 'refused' || outcome === 'conflict' ? await this.find(subject) : undefined;
      if (other !== undefined) return other;
      throw errorOf(error.failure);
    }
  }

  async signTypedData(
    wallet: CustodialWallet,
    typedData: DigestedTypedData,
    key: string,
  ): Promise<Hex> {
    const plain = plainTypedData(typedData);
    const { digest } = typedData;
    if (digest === undefined || digestOf(plain) !== digest) {
      throw new WalletError('provider_refused', 'The typed data cannot be hashed.');
    }
    const { domain, primaryType, message } = plain;
    const types = Object.fromEntries(
      Object.entries(plain.types).map(([struct, fields]) => [struct, [...fields]]),
    );
    const { signature } = await this.#calls.make(
      'sign_typed_data',
      this.#signatureOf(wallet.address, digest),
      () =>
        this.#client
          .wallets()
          .ethereum()
          .signTypedData(wallet.id, {
            params: { typed_data: { domain, types, primary_type: primaryType, message } },
            ...this.#authorized(key),
          }),
    );
    return signature;
  }

  async signMessage(wallet: CustodialWallet, message: SignableMessage, key: string): Promise<Hex> {
    // Always as bytes, because the SDK would read a text that begins with 0x as hex.
    const bytes =
      typeof message === 'string'
        ? Buffer.from(message, 'utf8')
        : Buffer.from(message.raw.slice(2), 'hex');
    const { signature } = await this.#calls.make(
      'sign_message',
      this.#signatureOf(wallet.address, hashMessage(message)),
      () =>
        this.#client
          .wallets()
          .ethereum()
          .signMessage(wallet.id, { message: bytes, ...this.#authorized(key) }),
    );
    return signature;
  }

  /** Privy signs and this service sends: to any served network, and with the signed bytes stored first. */
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
      sign: (unsigned) => this.#signTransaction(wallet, unsigned, key),
    });
  }

  async #signTransaction(
    wallet: CustodialWallet,
    unsigned: UnsignedTransaction,
    key: string,
  ): Promise<Hex> {
    const { signed_transaction: raw } = await this.#calls.make(
      'sign_transaction',
      PrivySignedTransaction,
      async () => {
        const answer = await this.#client
          .wallets()
          .ethereum()
          .signTransaction(wallet.id, {
            params: { transaction: wireTransaction(unsigned) },
            ...this.#authorized(key),
          });
        const read = PrivySignedTransaction.safeParse(answer);
        if (!read.success) throw new WrongAnswer();
        await assertSigned(read.data.signed_transaction, unsigned, wallet.address);
        return answer;
      },
    );
    return raw;
  }

  async #createPolicy(externalId: string): Promise<string> {
    const rules = this.rules.map((rule) => ({ ...rule, conditions: [...rule.conditions] }));
    // Other rules make another policy, so after a change of settings the key must not name the old ones.
    const tag = createHash('sha256').update(JSON.stringify(rules)).digest('base64url').slice(0, 16);
    const shape = PrivyPolicy.refine((policy) => policy.rules.length === rules.length);
    const { id } = await this.#calls.make('create_policy', shape, () =>
      this.#client.policies().create({
        version: '1.0',
        name: `x402 ${externalId}`.slice(0, POLICY_NAME_MAX),
        chain_type: 'ethereum',
        rules,
        owner: { public_key: this.#publicKey },
        idempotency_key: `policy-${externalId}-${tag}`,
      }),
    );
    return id;
  }

  /** @throws nothing: an error is stored as the provider's condition. */
  async #look(): Promise<void> {
    try {
      await this.find(PROBE_SUBJECT);
    } catch (error) {
      if (!(error instanceof WalletError)) throw error;
    }
  }

  #signatureOf(address: Address, digest: Hex): typeof PrivySignature {
    return PrivySignature.refine(
      ({ signature }: z.infer<typeof PrivySignature>) =>
        this.recoverSigner(digest, signature) === address,
      'must be of the wallet',
    );
  }

  #authorized(key: string): {
    readonly authorization_context: { readonly authorization_private_keys: string[] };
    readonly idempotency_key: string;
  } {
    const keys = [this.config.authorizationKey.reveal()];
    return { authorization_context: { authorization_private_keys: keys }, idempotency_key: key };
  }
}

const POLICY_NAME_MAX = 50;

/** Privy accepts 64 characters of `[a-zA-Z0-9_-]`. */
function externalIdOf(subject: string): string {
  return `x402_${createHash('sha256').update(subject).digest('base64url').slice(0, 32)}`;
}

/** SPKI in base64, as Privy names the owner of a wallet. */
function publicKeyOf(privateKey: string): string {
  const der = Buffer.from(privateKey, 'base64');
  const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
  return key.export({ format: 'der', type: 'spki' }).toString('base64');
}

function unusable(): WalletError {
  return new WalletError(
    'provider_refused',
    'The custody provider has this wallet in an unexpected state. The operator has to check it.',
  );
}
