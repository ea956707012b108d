import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** The file that a token gives access to. */
interface Access {
  readonly authorizationId: string;
  /** Lower case. */
  readonly payer: string;
  /** See `fileTagOf`. */
  readonly fileTag: string;
  /** Unix seconds. */
  readonly until: number;
}

const Claims = z.object({ a: z.string(), p: z.string(), f: z.string(), u: z.number() });
/** Longer tokens are refused. */
const TOKEN_MAX = 1024;

/** Signs the tokens for repeated downloads (`Hub-Access`), and derives the idempotency keys of settlements. */
export class SalesSecret {
  constructor(
    private readonly secret: string,
    private readonly hubAddress: string,
  ) {}

  tokenOf({ authorizationId, payer, fileTag, until }: Access): string {
    const claims = JSON.stringify({ a: authorizationId, p: payer, f: fileTag, u: until });
    const text = Buffer.from(claims).toString('base64url');
    return `${text}.${this.#mac('access', text)}`;
  }

  /** @returns `undefined` for a foreign or expired token. */
  accessOf(token: string, now: number): Access | undefined {
    const [text = '', mac = '', ...rest] = token.length > TOKEN_MAX ? [] : token.split('.');
    if (rest.length > 0 || !isEqual(mac, this.#mac('access', text))) return undefined;
    const { a, p, f, u } = Claims.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
    return u > now ? { authorizationId: a, payer: p, fileTag: f, until: u } : undefined;
  }

  /** Not guessable, because the facilitator answers success to anyone who knows it. */
  idempotencyKeyOf(sha256: string, payer: string, authorizationId: string): string {
    return this.#mac('settle', [sha256, payer, authorizationId].join('.'));
  }

  #mac(purpose: 'access' | 'settle', text: string): string {
    return createHmac('sha256', this.secret)
      .update(`${this.hubAddress}\n${purpose}\n${text}`)
      .digest('base64url');
  }
}

function isEqual(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}
