import { createHash } from 'node:crypto';
import type { Hex } from 'viem';
import type { Session } from '../session.js';

/**
 * The nonce of a link begins with its family, so that the hub can revoke together what was made together: 8 bytes for
 * all tokens up to a revocation of all, 8 more for one token.
 */
export function generationFamily(generation: number): Hex {
  return `0x${generation.toString(16).padStart(16, '0')}`;
}

export function tokenFamily({ generation, tokenId }: Pick<Session, 'generation' | 'tokenId'>): Hex {
  const token = createHash('sha256').update(tokenId).digest('hex').slice(0, 16);
  return `${generationFamily(generation)}${token}`;
}
