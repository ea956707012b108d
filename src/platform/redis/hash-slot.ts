/** Hash tag of keys of the deployment, which belong to no chain. */
export const DEPLOYMENT_TAG = 'deployment';

/** Hash tag of the keys of a chain's ledger, so that they are all in one slot. */
export const ledgerTag = (chainId: number): string => `${chainId}:0`;

const SLOTS = 16_384;
const POLYNOMIAL = 0x1021;

/**
 * The slot of every key with this hash tag: CRC16 (XMODEM) modulo 16384, by the Redis Cluster Specification.
 *
 * @param tag - the text between the braces; ASCII.
 */
export function slotOf(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ POLYNOMIAL;
    }
    crc &= 0xffff;
  }
  return crc % SLOTS;
}
