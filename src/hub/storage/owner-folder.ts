import { createHash } from 'node:crypto';

/**
 * The folder of an owner's volumes. Owners are any text; a folder's name is the owner itself only where
 * that cannot mean anything else on any file system, and a digest otherwise. No two owners share one.
 */
export function folderOf(owner: string): string {
  if (/^0x[0-9a-f]{1,64}$/.test(owner)) return owner;
  return `sha256-${createHash('sha256').update(owner).digest('hex')}`;
}

/**
 * Where an owner's volumes begin to be numbered: the first four bytes, big-endian, of
 * SHA-256(checksum address of the hub ‖ owner), as the original hub has it.
 */
export function firstVolumeOf(hubAddress: string, owner: string): number {
  return createHash('sha256').update(hubAddress).update(owner).digest().readUInt32BE(0);
}
