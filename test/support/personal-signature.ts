import type { Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { GivenHeaders } from './hub-world.js';
import { nowSeconds } from './payments.js';

/** What a hub of the form `compatible` is signed in to with, as clients that sign with a wallet do it: good for ten minutes. */
export async function personalSignature(
  account: PrivateKeyAccount,
  time = nowSeconds(),
): Promise<GivenHeaders> {
  const label = Buffer.from('upload');
  const seconds = Buffer.alloc(8);
  seconds.writeBigUInt64BE(BigInt(time));
  const raw: Hex = `0x${Buffer.concat([label, seconds]).toString('hex')}`;
  const Sign = await account.signMessage({ message: { raw } });
  const Hash = `0x${label.toString('hex')}`;
  const header = { Type: 'personal_sign', Addr: account.address, Time: time, Hash, Sign };
  return { authorization: JSON.stringify(header) };
}
