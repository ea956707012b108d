import { CreateKeyCommand, GetPublicKeyCommand, KMSClient, SignCommand } from '@aws-sdk/client-kms';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { addressOfSpki, recoverableSignature } from '../../src/platform/signing/ecdsa-der.js';
import { FaultyWay } from '../support/faulty-way.js';
import { post } from '../support/http.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/**
 * Against a third-party emulator of AWS KMS, where `AWS_KMS_ENDPOINT` is its URL.
 * Which one, and how it is started: docs/running.md, "Trying it without an account".
 */
const EMULATOR = process.env['AWS_KMS_ENDPOINT'];
const SETTLEMENTS = Number(process.env['KMS_SETTLEMENTS'] ?? 1000);
const AT_ONCE = 64;
/** Milliseconds for all of them; a requester that still asks by then reports its last answer. */
const LONGEST_MS = 280_000;
const AMOUNT = 1000n;
const CREDENTIALS = { accessKeyId: 'nobody', secretAccessKey: 'nothing' };
const REGION = 'eu-central-1';

(EMULATOR === undefined ? describe.skip : describe)('an emulator of AWS KMS', () => {
  let world: World;
  let way: FaultyWay;
  let key: { readonly arn: string; readonly address: Address };

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.5 });
    way = await FaultyWay.to(EMULATOR ?? '');
    const place = { endpoint: EMULATOR ?? '', region: REGION, credentials: CREDENTIALS };
    const client = new KMSClient(place);
    const made = await client.send(
      new CreateKeyCommand({ KeySpec: 'ECC_SECG_P256K1', KeyUsage: 'SIGN_VERIFY' }),
    );
    const arn = made.KeyMetadata?.Arn ?? '';
    const { PublicKey } = await client.send(new GetPublicKeyCommand({ KeyId: arn }));
    key = { arn, address: addressOfSpki(PublicKey ?? Buffer.alloc(0)) ?? '0x' };
    await expectItSignsDigests(client);
    await world.client.setBalance({ address: key.address, value: 10n ** 20n });
  });
  afterAll(async () => {
    await way.stop();
    await world.stop();
  });

  /** Some hash a digest once more. What they sign is no transaction, and every lane refuses it. */
  async function expectItSignsDigests(client: KMSClient): Promise<void> {
    const digest = Buffer.alloc(32, 7);
    const { Signature } = await client.send(
      new SignCommand({
        KeyId: key.arn,
        Message: digest,
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      }),
    );
    const signature = recoverableSignature(Signature ?? Buffer.alloc(0), digest, key.address);
    if (signature === undefined)
      throw new Error('This emulator does not sign the digest it is given (MessageType=DIGEST).');
  }

  it.each([
    ['in batches', {}],
    ['each with a signature of its own', { BATCH_MAX_ITEMS: '1' }],
  ])(
    `settles ${SETTLEMENTS} payments %s, throttled and cut off, each once`,
    async (how, more: Record<string, string>) => {
      const service = await world.service({
        SIGNER_KEYS: `aws-kms:${key.arn}@${key.address}`,
        AWS_KMS_ENDPOINT: way.url,
        AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
        AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
        SETTLE_WAIT_MS: '30000',
        ...more,
      });
      const payer = newAccount();
      await world.fund(payer.address, AMOUNT * BigInt(SETTLEMENTS));
      const payTo = newAccount().address;
      const { chainId, usd: token } = world;
      const terms = { payer, chainId, token, payTo, amount: AMOUNT, validFor: 600 };
      const left = await Promise.all(Array.from({ length: SETTLEMENTS }, () => eip3009Body(terms)));
      const nonceBefore = await world.client.getTransactionCount({ address: key.address });
      way.reset();
      way.throttledPercent = 20;
      const transactions = new Set<unknown>();
      let done = 0;
      const since = Date.now();
      const settled = async (body: Body): Promise<unknown> => {
        for (;;) {
          const { body: answer } = await post(`${service.url}/settle`, body);
          if (answer['success'] === true) return answer['transaction'];
          // A payment that was not sent, or is on its way, is asked for again: no other answer is allowed here.
          const { errorReason } = answer;
          expect(['settlement_not_sent', 'settlement_pending']).toContain(errorReason);
          if (Date.now() - since > LONGEST_MS) throw new Error(`still ${String(errorReason)}`);
        }
      };
      const requester = async (): Promise<void> => {
        for (let body = left.pop(); body !== undefined; body = left.pop()) {
          transactions.add(await settled(body));
          done += 1;
          // Cut twice, for as long as it takes the lane to be out and to come back.
          if (done === Math.floor(SETTLEMENTS / 3) || done === Math.floor((2 * SETTLEMENTS) / 3)) {
            way.isCut = true;
            setTimeout(() => (way.isCut = false), 4000);
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, requester));
      const seconds = (Date.now() - since) / 1000;
      expect(await world.balance(token, payTo)).toBe(AMOUNT * BigInt(SETTLEMENTS));
      expect(way.throttled).toBeGreaterThan(0);
      expect(way.cut).toBeGreaterThan(0);
      const nonces =
        (await world.client.getTransactionCount({ address: key.address })) - nonceBefore;
      // No signature without an answer has become a transaction.
      expect(transactions.size).toBe(nonces);
      console.log(
        JSON.stringify({
          how,
          settlements: done,
          seconds,
          transactions: transactions.size,
          nonces,
          signatures: way.passed,
          throttled: way.throttled,
          cut: way.cut,
        }),
      );
      await service.stop();
    },
    LONGEST_MS + 20_000,
  );
});
