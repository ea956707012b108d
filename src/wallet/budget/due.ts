import type { Address } from 'viem';
import { z } from 'zod';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { authorizationId, type Spending } from '../rules/spending.js';

/** A spending whose outcome is read from the chain after its deadline. */
export interface Due {
  /** Lower case. */
  readonly wallet: Address;
  readonly spending: Spending;
}

/** Lower case when it is read. */
export const storedAddress = z.string().transform((text, context): Address => {
  const read = readAddress(text);
  if (read !== undefined) return read;
  context.addIssue('must be an address');
  return z.NEVER;
});

/** A spending as it is stored: amounts and nonces as decimal texts. */
export const StoredSpending = z.object({
  id: z.string(),
  chainId: z.int(),
  method: z.enum(['eip3009', 'permit2', 'transaction']),
  asset: storedAddress,
  payTo: storedAddress,
  amount: z
    .string()
    .regex(/^\d{1,78}$/)
    .transform(BigInt),
  nonce: z
    .string()
    .regex(/^\d{1,78}$/)
    .transform(BigInt),
  deadline: z.int(),
});

const StoredDue = z.tuple([z.literal(1), storedAddress, StoredSpending]);

export function storedSpending(spending: Spending): z.input<typeof StoredSpending> {
  const { id, chainId, method, asset, payTo, amount, nonce, deadline } = spending;
  return {
    id,
    chainId,
    method,
    asset,
    payTo,
    amount: amount.toString(),
    nonce: nonce.toString(),
    deadline,
  };
}

/** Deterministic, because the text is a member of a set. */
export function writeDue({ wallet, spending }: Due): string {
  return JSON.stringify([1, wallet, storedSpending(spending)]);
}

/** `undefined` for a text that {@link writeDue} did not write: the id has to match its terms. */
export function readDue(text: string): Due | undefined {
  const stored = parseJson(text);
  const read = StoredDue.safeParse(stored);
  if (!read.success) return undefined;
  const [, wallet, spending] = read.data;
  const { chainId, method, asset, nonce } = spending;
  if (method === 'transaction') return undefined;
  const id = authorizationId({ chainId, method, asset, nonce });
  return spending.id === id ? { wallet, spending } : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
