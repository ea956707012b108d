import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, CompactSign, type JWK } from 'jose';
import type { Hex } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { ReceiptConfig } from '../../platform/config/receipt-settings.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import {
  PRIMARY_TYPE,
  type ReceiptKeys,
  type SettlementReceipt,
  type SignedReceipt,
} from './dto/receipt.response.js';
import { wordOf } from './settlement-receipt.js';

/** As EIP-712 signs a receipt. The domain has a name of its own: x402 knows receipts of sellers too. */
const DOMAIN = { name: 'x402 settlement receipt', version: '1' } as const;
const TYPES = {
  [PRIMARY_TYPE]: [
    { name: 'settlementId', type: 'bytes32' },
    { name: 'network', type: 'string' },
    { name: 'scheme', type: 'string' },
    { name: 'asset', type: 'address' },
    { name: 'payer', type: 'address' },
    { name: 'payTo', type: 'address' },
    { name: 'amount', type: 'uint256' },
    { name: 'authorized', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'terms', type: 'bytes32' },
    { name: 'transaction', type: 'bytes32' },
    { name: 'logIndex', type: 'uint256' },
    { name: 'blockNumber', type: 'uint256' },
    { name: 'blockHash', type: 'bytes32' },
    { name: 'finality', type: 'string' },
    { name: 'issuedAt', type: 'uint256' },
  ],
} as const;

interface SigningKey {
  readonly account: PrivateKeyAccount;
  readonly privateKey: KeyObject;
  readonly jwk: JWK;
}

/** Signs what the ledger knows. It says nothing that the chain does not show. */
export class ReceiptSigner {
  private constructor(
    private readonly current: SigningKey,
    readonly keys: ReceiptKeys,
  ) {}

  static async of({ key, previous }: ReceiptConfig): Promise<ReceiptSigner> {
    const current = await signingKeyOf(key.reveal());
    const others = await Promise.all(previous.map((one) => signingKeyOf(one.reveal())));
    const all = [current, ...others];
    return new ReceiptSigner(current, {
      keys: all.map(({ jwk }) => jwk),
      x402_receipt_signers: all.map(({ account }) => account.address),
    });
  }

  async sign(receipt: SettlementReceipt): Promise<SignedReceipt> {
    const { account, privateKey, jwk } = this.current;
    const domain = { ...DOMAIN, chainId: chainIdOf(receipt.network) ?? 0 };
    // The same names and values in both, but the id: EIP-712 has bytes where JSON has text.
    const message = { ...receipt, settlementId: wordOf(receipt.settlementId) };
    const signature = await account.signTypedData({
      domain,
      types: TYPES,
      primaryType: PRIMARY_TYPE,
      message: {
        ...message,
        amount: BigInt(receipt.amount),
        authorized: BigInt(receipt.authorized),
        nonce: BigInt(receipt.nonce),
        deadline: BigInt(receipt.deadline),
        logIndex: BigInt(receipt.logIndex),
        blockNumber: BigInt(receipt.blockNumber),
        issuedAt: BigInt(receipt.issuedAt),
      },
    });
    const jws = await new CompactSign(Buffer.from(JSON.stringify(receipt)))
      .setProtectedHeader({ alg: 'EdDSA', kid: jwk.kid ?? '', typ: 'x402-receipt+jws' })
      .sign(privateKey);
    const signer = account.address;
    return {
      receipt,
      eip712: { domain, types: TYPES, primaryType: PRIMARY_TYPE, message, signer, signature },
      jws,
    };
  }
}

/** Of RFC 8410: the frame of an Ed25519 private key of 32 bytes. */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * One secret, two keys: the secp256k1 key itself, and an Ed25519 key that is derived from it, as JOSE
 * libraries no longer know secp256k1.
 */
async function signingKeyOf(secret: Hex): Promise<SigningKey> {
  const bytes = Buffer.from(secret.slice(2), 'hex');
  const seed = Buffer.from(hkdfSync('sha256', bytes, '', 'x402 receipt Ed25519', 32));
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_ED25519, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const jwk: JWK = createPublicKey(privateKey).export({ format: 'jwk' });
  const kid = await calculateJwkThumbprint(jwk);
  return {
    account: privateKeyToAccount(secret),
    privateKey,
    jwk: { ...jwk, kid, use: 'sig', alg: 'EdDSA' },
  };
}
