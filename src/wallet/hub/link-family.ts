import { createHash } from 'node:crypto';
import type { Hex } from 'viem';
import type { Session } from '../session.js';

/**
 * The nonces of links begin with whose they are, so that the hub can take back together what was made together:
 * 8 bytes for all tokens up to a revocation of all, 8 more for one of them.
 */
export function generationFamily(generation: number): Hex {
  return `0x${generation.toString(16).padStart(16, '0')}`;
}

export function tokenFamily({ generation, tokenId }: Pick<Session, 'generation' | 'tokenId'>): Hex {
  const token = createHash('sha256').update(tokenId).digest('hex').slice(0, 16);
  return `${generationFamily(generation)}${token}`;
}
