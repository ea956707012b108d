import { createHash } from 'node:crypto';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { GivenHeaders } from './hub-world.js';
import { nowSeconds } from './payments.js';

/** What `BuildAuth` of da-sdk-go makes, as its `doRequest` sends it: the hex of the JSON that Go writes. */
export async function goSignature(
  account: PrivateKeyAccount,
  time = nowSeconds(),
): Promise<GivenHeaders> {
  const label = Buffer.from('hub');
  const seconds = Buffer.alloc(8);
  seconds.writeBigUInt64BE(BigInt(time));
  const digest = createHash('sha256').update(label).update(seconds).digest('hex');
  const signature = Buffer.from((await account.sign({ hash: `0x${digest}` })).slice(2), 'hex');
  // go-ethereum writes the parity itself.
  signature[64] = (signature[64] ?? 0) - 27;
  const auth = {
    Type: '',
    Addr: account.address.toLowerCase(),
    Time: time,
    Hash: label.toString('base64'),
    Sign: signature.toString('base64'),
  };
  return { authorization: Buffer.from(JSON.stringify(auth)).toString('hex') };
}
