import { CreateKeyCommand, GetPublicKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { addressOfSpki } from '../../src/platform/signing/ecdsa-der.js';
import { FaultyWay } from '../support/faulty-way.js';
import { post } from '../support/http.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/**
 * Against an emulator of AWS KMS that somebody else has written, where its URL is given:
 * `pip install 'moto[server,kms]' && moto_server -p 4599`, `AWS_KMS_ENDPOINT=http://127.0.0.1:4599`.
 */
const EMULATOR = process.env['AWS_KMS_ENDPOINT'];
const SETTLEMENTS = Number(process.env['KMS_SETTLEMENTS'] ?? 1000);
const AT_ONCE = 64;
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
    await world.client.setBalance({ address: key.address, value: 10n ** 20n });
  });
  afterAll(async () => {
    await way.stop();
    await world.stop();
  });

  it(`settles ${SETTLEMENTS} payments, throttled and cut off, each once`, async () => {
    const service = await world.service({
      SIGNER_KEYS: `aws-kms:${key.arn}@${key.address}`,
      AWS_KMS_ENDPOINT: way.url,
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
      SETTLE_WAIT_MS: '30000',
    });
    const payer = newAccount();
    await world.fund(payer.address, AMOUNT * BigInt(SETTLEMENTS));
    const payTo = newAccount().address;
    const { chainId, usd: token } = world;
    const bodies: Body[] = [];
    for (let n = 0; n < SETTLEMENTS; n += 1) {
      bodies.push(
        await eip3009Body({ payer, chainId, token, payTo, amount: AMOUNT, validFor: 600 }),
      );
    }
    way.throttledPercent = 20;
    const transactions = new Set<unknown>();
    const left = [...bodies];
    let done = 0;
    const since = Date.now();
    const requester = async (): Promise<void> => {
      for (let body = left.pop(); body !== undefined; body = left.pop()) {
        let answer = await post(`${service.url}/settle`, body);
        while (answer.body['success'] !== true) {
          // What was not sent, or is on its way, is asked for again: nothing else may be heard here.
          expect(['settlement_not_sent', 'settlement_pending']).toContain(
            answer.body['errorReason'],
          );
          answer = await post(`${service.url}/settle`, body);
        }
        transactions.add(answer.body['transaction']);
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
    const nonces = await world.client.getTransactionCount({ address: key.address });
    console.log(
      JSON.stringify({
        ...{ settlements: done, seconds, transactions: transactions.size, nonces },
        ...{ signatures: way.passed, throttled: way.throttled, cut: way.cut },
      }),
    );
  }, 300_000);
});
