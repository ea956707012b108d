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

/** EIP-712 domain of receipts. The name differs from the x402 domain for receipts of sellers. */
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

/** Signs facts of the ledger that the chain shows too. */
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
    // Names and values are equal in both forms, except the id: bytes in EIP-712, text in JSON.
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

/** PKCS #8 prefix of an Ed25519 private key of 32 bytes (RFC 8410). */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * Two keys from one secret: the secp256k1 key itself, and a derived Ed25519 key, because JOSE libraries no longer
 * support secp256k1.
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
