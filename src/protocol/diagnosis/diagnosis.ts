import { isCaip2, NETWORK_NAMES } from '../payment/network.js';
import { type Fault, type Reason, type ReasonFacts, REASONS, type Retry } from '../reasons.js';
import type { Finding } from './finding.js';

/** The fields of `extensions.diagnosis` in a refusal, for programs. */
export interface Diagnosis {
  /** The place in the request's body; absent where no single field is at fault. */
  readonly path?: string;
  readonly expected?: string;
  readonly got?: string;
  /** The party that has to change something before the same request can succeed. */
  readonly fault: Fault;
  /** Whether the same request may succeed later. */
  readonly retry: Retry;
  /** The reason in the project's documentation. */
  readonly docs: string;
  /** The transaction of another sender that paid the payee exactly this amount. */
  readonly transaction?: string;
}

interface Explanation {
  /** At most {@link MESSAGE_MAX_CHARACTERS} long. */
  readonly message: string;
  readonly diagnosis: Diagnosis;
}

/** Room for the meaning of each reason, its place, numbers of 256 bits and advice. */
export const MESSAGE_MAX_CHARACTERS = 600;

/**
 * Explains what is wrong with one payment.
 *
 * @param finding - the place of the fault, if it is known.
 * @param cause - one sentence of detail beyond the reason.
 */
export function explain(reason: Reason, finding?: Finding, cause?: string): Explanation {
  const facts: ReasonFacts = REASONS[reason];
  const meaning = cause === undefined ? facts.meaning : `${facts.meaning} ${cause}`;
  const general = diagnosisOf(reason);
  if (finding === undefined) return { message: bounded(meaning), diagnosis: general };
  const { path, expected, fix } = finding;
  const got = 'got' in finding ? echo(finding.got) : undefined;
  const where = `${path}: expected ${expected}${got === undefined ? '' : `, got ${got}`}.`;
  const whole = [meaning, where, ...(fix === undefined ? [] : [fix])].join(' ');
  return {
    message: bounded(whole),
    diagnosis: { path, expected, ...(got !== undefined && { got }), ...general },
  };
}

/**
 * For an authorization that another sender used: its payee was paid, and a second payment would pay twice. Only the
 * seller knows whether it delivered for it.
 */
export function explainPaidElsewhere(reason: Reason, transaction: string): Explanation {
  const { docs } = diagnosisOf(reason);
  return {
    message: `Transaction ${transaction} paid the payee exactly this amount. This facilitator did not send it. Do not pay again: ask the seller whether it delivered for this transaction.`,
    diagnosis: { fault: 'seller', retry: 'never', docs, transaction },
  };
}

/**
 * For a used authorization whose transaction could not be read in time. That transaction may have paid the payee, so a
 * new payment is not advised.
 */
export function explainUnknownUse(reason: Reason): Explanation {
  const { docs } = diagnosisOf(reason);
  return {
    message:
      'A transaction used this authorization on chain, but could not be read in time. The transaction may have paid the payee. Before signing another payment, look for the transaction on the chain, or repeat the request.',
    diagnosis: { fault: 'chain', retry: 'same', docs },
  };
}

/** The facts of a reason that hold for every request. */
export function diagnosisOf(reason: Reason): Diagnosis {
  const { fault, retry }: ReasonFacts = REASONS[reason];
  return { fault, retry, docs: `docs/errors.md#${reason}` };
}

function bounded(text: string): string {
  return text.length <= MESSAGE_MAX_CHARACTERS
    ? text
    : `${text.slice(0, MESSAGE_MAX_CHARACTERS - 1)}…`;
}

/** A 32-byte hash with its prefix; longer values help no reader. */
const HEX_MAX_CHARACTERS = 66;
/** 2^256 and its sign. */
const DECIMAL_MAX_CHARACTERS = 79;
const HEX = /^0x[0-9a-fA-F]*$/;
const DECIMAL = /^-?\d+$/;
/** Schemes of the x402 specification, served here or not. */
const SCHEME_NAMES = ['exact', 'upto', 'batch-settlement', 'permit', 'permit2', 'eip3009'];
const WORDS: ReadonlySet<string> = new Set([...SCHEME_NAMES, ...NETWORK_NAMES]);

/**
 * A value of a request in a form that an answer may repeat: a short hexadecimal or decimal number, or a known word.
 * Other values are only described, so that a caller cannot place text in an answer of this service.
 */
export function echo(value: unknown): string {
  if (typeof value === 'string') return echoText(value);
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) ? String(value) : 'a number that is not a safe integer';
  }
  if (typeof value === 'bigint') return echoText(value.toString());
  if (typeof value === 'boolean') return String(value);
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : 'an object';
}

function echoText(text: string): string {
  if (text === '') return 'empty text';
  if (text.length <= HEX_MAX_CHARACTERS && (HEX.test(text) || isCaip2(text))) return text;
  if (text.length <= DECIMAL_MAX_CHARACTERS && DECIMAL.test(text)) return text;
  if (WORDS.has(text)) return text;
  const kind = text.length <= 20_000 && HEX.test(text) ? 'hexadecimal text' : 'text';
  return lengthOf(text, kind);
}

/** A text by its length. */
export function lengthOf({ length }: string, kind = 'text'): string {
  return `${kind} of ${length} ${length === 1 ? 'character' : 'characters'}`;
}
