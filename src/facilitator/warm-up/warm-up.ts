import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { Pool } from 'undici';
import type { Address, Hex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { EvmChain } from '../../platform/chain/evm-chain.js';
import type { AdmissionLists } from '../../platform/config/admission-settings.js';
import { signDigest, signTransaction } from '../../platform/crypto/sign-transaction.js';
import { sendJson } from '../../platform/http/json.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../../protocol/evm/contracts.js';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import { identityOf } from '../../protocol/payment/identity.js';
import { parsePayment, readEnvelope } from '../../protocol/payment/parse-payment.js';
import { batchCallOf } from '../../protocol/payment/payment-facts.js';
import { BLANK_RECORD } from '../../settlement/ledger/settlement-store.js';
import { trialPayment } from '../doctor/trial-payment.js';
import { acceptedPayment } from '../settle/claiming.js';
import { PaymentVerifier } from '../verify/payment-verifier.js';
import { SignerRecovery } from '../verify/signer-recovery.js';
import { answerRpc, CHAIN_ID, MADE_UP_TOKEN, madeUpNetwork } from './made-up-chain.js';

/** Most code of a payment is compiled after this many payments. */
const PAYMENTS_MAX = 256;
const LASTS_MAX_MS = 1000;
const AT_ONCE = 32;

const ADMITS_ALL: AdmissionLists = {
  assetsAllow: undefined,
  assetsDeny: new Set(),
  payeesAllow: undefined,
  payeesDeny: new Set(),
  minAmounts: new Map(),
  allowsPaymentsToOneself: true,
};

/**
 * Runs made-up payments before the port opens, so that V8 compiles most code of a payment. The first 300 settles then
 * take less processor time.
 *
 * The payments arrive by HTTP at a separate server on the loopback interface. The verifier checks them against a
 * made-up node, and they are encoded and signed as one transaction. Ledger, endpoints and metrics do not see them.
 */
@Injectable()
export class WarmUp implements OnModuleInit {
  constructor(
    private readonly bodies: JsonBodyReader,
    @Inject(SignerRecovery) private readonly recovery: Pick<SignerRecovery, 'recoverSigner'>,
    private readonly logger: PinoLogger,
  ) {}

  /** Never throws: a process without warm-up is only slower at first. */
  async onModuleInit(): Promise<void> {
    const begun = performance.now();
    try {
      const payments = await this.run();
      this.logger.debug({ payments, ms: Math.round(performance.now() - begun) }, 'warmed up');
    } catch (error) {
      this.logger.warn({ err: error }, 'the warm-up failed: the first requests take longer');
    }
  }

  /** @returns how many payments were verified; all of them were valid. */
  async run(lastsMaxMs = LASTS_MAX_MS): Promise<number> {
    const until = performance.now() + lastsMaxMs;
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const limits = { headersTimeout: lastsMaxMs, bodyTimeout: lastsMaxMs };
    const client = new Pool(url, { connections: AT_ONCE, ...limits });
    const chain = new EvmChain(madeUpNetwork(url));
    chain.trust([MADE_UP_TOKEN]);
    const account = new MadeUpAccount();
    const verifier = this.#verifierOf(chain, account.address);
    const accepted: AcceptedPayment[] = [];
    server.on('request', (request, response) => {
      const isPayment = request.url === '/verify';
      const answering = isPayment
        ? this.#verify(request, response, verifier, accepted)
        : answerRpc(request, response);
      answering.catch(() => response.destroy());
    });
    try {
      await chain.probe();
      let count = 0;
      while (count < PAYMENTS_MAX && performance.now() < until) {
        const bodies = await Promise.all(Array.from({ length: AT_ONCE }, () => account.payment()));
        await Promise.all(bodies.map((body) => post(client, body)));
        if (accepted.length < AT_ONCE) throw new Error('the warm-up payment was refused');
        account.send(accepted.splice(0));
        count += AT_ONCE;
      }
      return count;
    } finally {
      server.closeAllConnections();
      server.close();
      await Promise.all([client.destroy(), chain.close()]);
    }
  }

  #verifierOf(chain: EvmChain, sender: Address): PaymentVerifier {
    return new PaymentVerifier(
      new ChainRegistry([chain]),
      this.recovery,
      {
        senderFor: () =>
          Promise.resolve({ address: sender, gasPriceWei: 1n, balanceWei: 10n ** 18n }),
        areKnown: () => true,
        isSuspended: () => false,
      },
      {
        maxGasPerSettle: 300_000n,
        walletFactories: new Set(),
        admission: ADMITS_ALL,
        builderCode: undefined,
        networks: [],
      },
    );
  }

  async #verify(
    request: IncomingMessage,
    response: ServerResponse,
    verifier: PaymentVerifier,
    accepted: AcceptedPayment[],
  ): Promise<void> {
    const envelope = readEnvelope(await this.bodies.json(request, response));
    const parsed = envelope && parsePayment(envelope, [1, 2], () => true);
    if (parsed?.ok !== true) throw new TypeError('the warm-up payment could not be read');
    const { payment } = parsed;
    verifier.refusalByLists(payment);
    const identity = identityOf(payment);
    const verification = await verifier.verify(payment, BLANK_RECORD);
    if (verification.isValid) accepted.push(acceptedPayment(payment, verification));
    sendJson(response, 200, {
      isValid: verification.isValid,
      payer: payment.payerAsSent,
      signed: identity?.signedTag,
    });
  }
}

/** A key without funds: the payer, and the account that would send the transaction. */
class MadeUpAccount {
  readonly #key = generatePrivateKey();
  readonly #bytes = Buffer.from(this.#key.slice(2), 'hex');
  readonly address = privateKeyToAddress(this.#key).toLowerCase() as Address;

  /** A body as a stock seller sends it, with a new nonce. */
  async payment(): Promise<string> {
    const terms = { scheme: 'exact', asset: MADE_UP_TOKEN, payTo: MADE_UP_TOKEN };
    const extra = { name: 'Made Up', version: '1' };
    const shared = { ...terms, maxTimeoutSeconds: 300, extra };
    const sent = { ...shared, network: `eip155:${CHAIN_ID}`, amount: '1000' };
    const envelope = await trialPayment(
      {
        ...shared,
        sent,
        path: '',
        version: 2,
        amountField: 'amount',
        method: 'eip3009',
        chainId: CHAIN_ID,
        amount: 1000n,
      },
      {
        address: this.address,
        nonce: `0x${randomBytes(32).toString('hex')}`,
        sign: (digest) => Promise.resolve(this.#sign(digest)),
      },
      DEFAULT_SCHEME_CONTRACTS,
      Math.floor(Date.now() / 1000),
    );
    return JSON.stringify(envelope);
  }

  /** Encodes and signs as a lane does. */
  send(payments: readonly AcceptedPayment[]): void {
    const fees = { maxPriorityFeePerGas: 1n, maxFeePerGas: 1n };
    const call = batchCallOf(payments, undefined);
    signTransaction({ ...call, ...fees, chainId: CHAIN_ID, nonce: 1, gas: 1n }, this.#bytes);
  }

  #sign(digest: Hex): Hex {
    const { r, s, yParity } = signDigest(Buffer.from(digest.slice(2), 'hex'), this.#bytes);
    const v = Buffer.of(27 + yParity);
    return `0x${Buffer.concat([r, s, v]).toString('hex')}`;
  }
}

/** The body is read and dropped; its content was checked where it was made. */
async function post(client: Pool, payment: string): Promise<void> {
  const { body } = await client.request({ method: 'POST', path: '/verify', body: payment });
  await body.json();
}
