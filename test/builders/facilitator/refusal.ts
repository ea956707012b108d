import { refusalOf, type Refused } from '../../../src/facilitator/refusal.js';
import { DEFAULT_SCHEME_CONTRACTS, PERMIT2 } from '../../../src/protocol/evm/contracts.js';
import { parsePayment, readEnvelope } from '../../../src/protocol/payment/parse-payment.js';
import type { Payment } from '../../../src/protocol/payment/payment.js';
import type { Reason } from '../../../src/protocol/reasons.js';
import { actionOf } from '../../../src/protocol/schemes/registry.js';

/** Requests for tests of refusals, and for `docs/errors.md`. */

export type Json = Record<string, unknown>;
export type Path = readonly string[];

const PAYER = `0x${'a1'.repeat(20)}`;
export const PAYEE = `0x${'b2'.repeat(20)}`;
export const OTHER = `0x${'c3'.repeat(20)}`;
export const TOKEN = `0x${'d4'.repeat(20)}`;
const NONCE = `0x${'e5'.repeat(32)}`;
const SIGNATURE = `0x${'22'.repeat(65)}`;
const PROXY = DEFAULT_SCHEME_CONTRACTS.permit2Proxy;
/** Unix seconds at which they are judged. */
export const NOW = 1_800_000_000;

const requirementsV2 = {
  scheme: 'exact',
  network: 'eip155:56',
  amount: '1000',
  asset: TOKEN,
  payTo: PAYEE,
  maxTimeoutSeconds: 60,
  extra: { name: 'USD', version: '1' },
};
const eip3009 = {
  signature: SIGNATURE,
  authorization: {
    from: PAYER,
    to: PAYEE,
    value: '1000',
    nonce: NONCE,
    validAfter: '0',
    validBefore: String(NOW + 600),
  },
};
export const permit2 = {
  signature: SIGNATURE,
  permit2Authorization: {
    from: PAYER,
    permitted: { token: TOKEN, amount: '1000' },
    spender: PROXY,
    nonce: '7',
    deadline: String(NOW + 600),
    witness: { to: PAYEE, validAfter: '0' },
  },
};
const withPermit = {
  eip2612GasSponsoring: {
    info: {
      from: PAYER,
      asset: TOKEN,
      spender: PERMIT2,
      amount: '1000',
      nonce: '0',
      deadline: String(NOW + 600),
      signature: SIGNATURE,
      version: '1',
    },
  },
  erc20ApprovalGasSponsoring: {
    info: {
      from: PAYER,
      asset: TOKEN,
      spender: PERMIT2,
      amount: '1000',
      signedTransaction: '0x02',
      version: '1',
    },
  },
};
export const bodyV2 = (payload: Json = eip3009): Json => ({
  x402Version: 2,
  paymentPayload: { x402Version: 2, accepted: requirementsV2, payload, extensions: withPermit },
  paymentRequirements: requirementsV2,
});
export const bodyUpto = (): Json => {
  const requirements = { ...requirementsV2, scheme: 'upto' };
  const { permit2Authorization } = permit2;
  const { uptoProxy } = DEFAULT_SCHEME_CONTRACTS;
  const witness = { ...permit2Authorization.witness, facilitator: OTHER };
  const payload = {
    ...permit2,
    permit2Authorization: { ...permit2Authorization, spender: uptoProxy, witness },
  };
  return {
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted: requirements, payload },
    paymentRequirements: requirements,
  };
};
export const bodyV1 = (): Json => {
  const { amount, ...rest } = { ...requirementsV2, network: 'bsc' };
  return {
    x402Version: 1,
    paymentPayload: { x402Version: 1, scheme: 'exact', network: 'bsc', payload: eip3009 },
    paymentRequirements: { ...rest, maxAmountRequired: amount },
  };
};

/** The same body with another value, or without one, at a place. */
export function changed(body: Json, path: string, value: unknown): Json {
  // No two places of it may be one object.
  const copy = JSON.parse(JSON.stringify(body)) as Json;
  const names: Path = path.split('.');
  const last = names.at(-1) ?? '';
  const parent = names.slice(0, -1).reduce((at, name) => at[name] as Json, copy);
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else parent[last] = value;
  return copy;
}

export interface Asked {
  readonly versions?: readonly (1 | 2)[];
  /** Of a check that needs the chain, the clock or the signature. */
  readonly reason?: Reason;
}

export function refused(
  body: Json,
  { versions = [1, 2], reason }: Asked = {},
): Refused & { reason: Reason } {
  const envelope = readEnvelope(body);
  if (envelope === undefined) throw new Error('no envelope');
  const parsed = parsePayment(envelope, versions, (chainId) => chainId === 56);
  const said = parsed.ok ? (reason ?? mismatch(parsed.payment)) : parsed.reason;
  if (said === undefined) throw new Error('it is not refused');
  return { reason: said, ...refusalOf(said, { envelope, versions, parsed }, [56], NOW) };
}

function mismatch(payment: Payment): Reason | undefined {
  const { claim } = payment;
  return actionOf(claim).termsMismatch(payment, claim, {
    schemeContracts: DEFAULT_SCHEME_CONTRACTS,
  });
}
