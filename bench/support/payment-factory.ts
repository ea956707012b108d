import { secp256k1 } from '@noble/curves/secp256k1';
import { type Address, encodeFunctionData, getAddress, type Hex, multicall3Abi, toHex } from 'viem';
import {
  EXACT_PROXY,
  MULTICALL3,
  PERMIT2,
  type SandboxClient,
  sendNow,
  UPTO_PROXY,
  USD_NAME,
  USD_VERSION,
} from '../../sandbox/deploy.js';
import { TOKEN_ABI } from '../../sandbox/tokens.js';
import { loadNativeSecp256k1 } from '../../src/platform/crypto/native-secp256k1.js';
import { keccak256Digits } from '../../src/protocol/evm/keccak.js';
import { eip3009Digest, permit2Digest, uptoDigest } from '../../src/protocol/evm/typed-data.js';
import type { SeededBytes } from './seeded-bytes.js';

/** An account that can sign quickly: benches need tens of thousands of payments. */
export interface Payer {
  readonly address: Hex;
  readonly key: Uint8Array;
}

export type Kind = 'eip3009' | 'permit2' | 'upto' | 'v1';

/** Whose payments are made. */
interface MakeOptions {
  /** How many payees share the payments; all of them when absent. */
  readonly payees?: number;
  /** Who may collect them, where that is signed. */
  readonly facilitator?: Address;
}

interface MillOptions {
  readonly client: SandboxClient;
  readonly chainId: number;
  readonly v1Network: string;
  readonly usd: Address;
  readonly coin: Address;
  readonly payees: number;
  readonly payers: number;
  readonly bytes: SeededBytes;
}

const PER_TRANSACTION = 200;
/** Atomic units of every payment. */
export const AMOUNT = 1000n;

/** Makes payments that were never seen before, by payers with money and approvals. */
export class PaymentFactory {
  private constructor(
    private readonly options: MillOptions,
    readonly payers: readonly Payer[],
    readonly payees: readonly Hex[],
  ) {}

  static async build(options: MillOptions): Promise<PaymentFactory> {
    const { bytes } = options;
    const payers = Array.from({ length: options.payers }, () => newPayer(bytes));
    const payees = Array.from({ length: options.payees }, () => newPayer(bytes).address);
    const factory = new PaymentFactory(options, payers, payees);
    await factory.#fund();
    return factory;
  }

  /** Balances by minting through Multicall3; approvals by writing the storage of the plain token. */
  async #fund(): Promise<void> {
    const { client, usd, coin } = this.options;
    const owners = [...this.payers.map(({ address }) => address), ...this.payees];
    for (let at = 0; at < owners.length; at += PER_TRANSACTION) {
      const calls = owners.slice(at, at + PER_TRANSACTION).flatMap((owner) =>
        [usd, coin].map((target) => ({
          target,
          allowFailure: false,
          callData: encodeFunctionData({
            abi: TOKEN_ABI,
            functionName: 'mint',
            args: [owner, 10n ** 24n],
          }),
        })),
      );
      const data = encodeFunctionData({
        abi: multicall3Abi,
        functionName: 'aggregate3',
        args: [calls],
      });
      await sendNow(client, { to: MULTICALL3, data });
    }
    await Promise.all(this.payers.map(({ address }) => this.#approve(address)));
  }

  /** `allowance[owner][Permit2]` is the fifth variable of SandboxCoin (slot 4). */
  async #approve(owner: Hex): Promise<void> {
    const { client, coin } = this.options;
    const inner = slotOf(owner, `0x${4n.toString(16).padStart(64, '0')}`);
    const value: Hex = `0x${'7'.padEnd(64, 'f')}`;
    await client.setStorageAt({ address: coin, index: slotOf(PERMIT2, inner), value });
  }

  tokenOf(kind: Kind): Address {
    return kind === 'permit2' || kind === 'upto' ? this.options.coin : this.options.usd;
  }

  /** Bodies as the wire carries them. */
  make(kind: Kind, count: number, options: MakeOptions = {}): string[] {
    const { payees = this.payees.length, facilitator } = options;
    return Array.from({ length: count }, (_, index) => {
      const payer = this.payers[index % this.payers.length];
      const payTo = this.payees[index % payees];
      if (payer === undefined || payTo === undefined) throw new Error('a factory without people');
      if (kind === 'permit2') return this.#permit2(payer, payTo, undefined);
      if (kind !== 'upto') return this.#eip3009(payer, payTo, kind);
      if (facilitator === undefined) throw new Error('upto names who may collect');
      return this.#permit2(payer, payTo, facilitator);
    });
  }

  #eip3009(payer: Payer, payTo: Hex, kind: 'eip3009' | 'v1'): string {
    const { chainId, usd, v1Network, bytes } = this.options;
    const nonce = toHex(bytes.next(32));
    const validBefore = BigInt(Math.floor(Date.now() / 1000) + 3000);
    const digest = eip3009Digest(
      {
        from: payer.address,
        to: payTo,
        value: AMOUNT,
        validAfter: 0n,
        validBefore,
        nonce,
      },
      { name: USD_NAME, version: USD_VERSION, chainId, token: usd },
    );
    const payload = {
      signature: sign(digest, payer),
      authorization: {
        from: getAddress(payer.address),
        to: getAddress(payTo),
        value: AMOUNT.toString(),
        validAfter: '0',
        validBefore: validBefore.toString(),
        nonce,
      },
    };
    const common = {
      scheme: 'exact',
      asset: usd,
      payTo: getAddress(payTo),
      maxTimeoutSeconds: 300,
      extra: { name: USD_NAME, version: USD_VERSION },
    };
    if (kind === 'v1') {
      return JSON.stringify({
        x402Version: 1,
        paymentPayload: { x402Version: 1, scheme: 'exact', network: v1Network, payload },
        paymentRequirements: {
          ...common,
          network: v1Network,
          maxAmountRequired: AMOUNT.toString(),
          resource: 'https://seller.example/report',
          description: 'A report',
          mimeType: 'application/json',
        },
      });
    }
    return bodyV2({ ...common, network: `eip155:${chainId}`, amount: AMOUNT.toString() }, payload);
  }

  /** @param facilitator - of `upto`; `undefined` for `exact`. */
  #permit2(payer: Payer, payTo: Hex, facilitator: Address | undefined): string {
    const { chainId, coin, bytes } = this.options;
    const nonce = BigInt(toHex(bytes.next(32)));
    const deadline = BigInt(Math.floor(Date.now() / 1000) + 3000);
    const spender = facilitator === undefined ? EXACT_PROXY : UPTO_PROXY;
    const authorization = {
      method: 'permit2',
      from: payer.address,
      token: coin,
      amount: AMOUNT,
      spender,
      nonce,
      deadline,
      witnessTo: payTo,
      witnessValidAfter: 0n,
      signature: '0x',
      sponsoredPermit: undefined,
    } as const;
    const digest =
      facilitator === undefined
        ? permit2Digest(authorization, chainId)
        : uptoDigest({ ...authorization, scheme: 'upto', facilitator }, chainId);
    const payload = {
      signature: sign(digest, payer),
      permit2Authorization: {
        from: getAddress(payer.address),
        permitted: { token: coin, amount: AMOUNT.toString() },
        spender,
        nonce: nonce.toString(),
        deadline: deadline.toString(),
        witness: {
          to: getAddress(payTo),
          ...(facilitator !== undefined && { facilitator: getAddress(facilitator) }),
          validAfter: '0',
        },
      },
    };
    return bodyV2(
      {
        scheme: facilitator === undefined ? 'exact' : 'upto',
        network: `eip155:${chainId}`,
        amount: AMOUNT.toString(),
        asset: coin,
        payTo: getAddress(payTo),
        maxTimeoutSeconds: 300,
        extra: {
          assetTransferMethod: 'permit2',
          ...(facilitator !== undefined && { facilitatorAddress: getAddress(facilitator) }),
        },
      },
      payload,
    );
  }
}

/** A message of x402 V2 to a facilitator. */
export function bodyV2(requirements: object, payload: object): string {
  return JSON.stringify({
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      resource: { url: 'https://seller.example/report', description: 'A report' },
      accepted: requirements,
      payload,
    },
    paymentRequirements: requirements,
  });
}

function newPayer(bytes: SeededBytes): Payer {
  const key = bytes.next(32);
  const publicKey = secp256k1.getPublicKey(key, false);
  return { key, address: `0x${keccak256Digits(publicKey.subarray(1)).slice(24)}` };
}

const native = loadNativeSecp256k1();

/** r, s and the parity of y: natively where that loads, for a bench signs tens of thousands. */
export function sign(digest: Hex, { key }: Payer): Hex {
  if (native !== undefined) {
    const { signature, recid } = native.ecdsaSign(Buffer.from(digest.slice(2), 'hex'), key);
    return `0x${Buffer.from(signature).toString('hex')}${vOf(recid)}`;
  }
  const signature = secp256k1.sign(digest.slice(2), key);
  return `0x${signature.toCompactHex()}${vOf(signature.recovery)}`;
}

function vOf(recovery: number): string {
  return recovery === 0 ? '1b' : '1c';
}

/** Storage slot of a mapping's entry for an address (Solidity layout). */
function slotOf(owner: Address, slot: Hex): Hex {
  const bytes = Buffer.from(owner.slice(2).toLowerCase().padStart(64, '0') + slot.slice(2), 'hex');
  return `0x${keccak256Digits(bytes)}`;
}
