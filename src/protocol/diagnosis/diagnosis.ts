import { isCaip2, NETWORK_NAMES } from '../payment/network.js';
import { type Fault, type Reason, type ReasonFacts, REASONS, type Retry } from '../reasons.js';
import type { Finding } from './finding.js';

/** The fields of `extensions.diagnosis` in a refusal, for programs. */
export interface Diagnosis {
  /** Where in the request's body; absent where no single field is at fault. */
  readonly path?: string;
  readonly expected?: string;
  readonly got?: string;
  /** Who has to change something before the same request can succeed. */
  readonly fault: Fault;
  /** Whether sending the same request again can end better. */
  readonly retry: Retry;
  /** The reason in the project's documentation. */
  readonly docs: string;
  /** By which the payee was paid exactly this, though not by this service. */
  readonly transaction?: string;
}

interface Explanation {
  /** At most {@link MESSAGE_MAX_CHARACTERS} long. */
  readonly message: string;
  readonly diagnosis: Diagnosis;
}

export const MESSAGE_MAX_CHARACTERS = 300;

/**
 * Says what is wrong with one payment.
 *
 * @param finding - where, if that is known.
 * @param cause - a sentence on what was found out beyond the reason.
 */
export function explain(reason: Reason, finding?: Finding, cause?: string): Explanation {
  const facts: ReasonFacts = REASONS[reason];
  const meaning = cause === undefined ? facts.meaning : `${facts.meaning} ${cause}`;
  const general = diagnosisOf(reason);
  if (finding === undefined) return { message: bounded(meaning), diagnosis: general };
  const { path, expected, fix } = finding;
  const got = 'got' in finding ? echo(finding.got) : undefined;
  const where = `${path}: expected ${expected}${got === undefined ? '' : `, got ${got}`}.`;
  const what = [where, ...(fix === undefined ? [] : [fix])].join(' ');
  const whole = `${meaning} ${what}`;
  return {
    message: whole.length <= MESSAGE_MAX_CHARACTERS ? whole : bounded(what),
    diagnosis: { path, expected, ...(got !== undefined && { got }), ...general },
  };
}

/**
 * Says of an authorization that was used elsewhere that its payee has been paid: who pays once more pays twice. Whether
 * anything was delivered for it only the seller knows.
 */
export function explainPaidElsewhere(reason: Reason, transaction: string): Explanation {
  const { docs } = diagnosisOf(reason);
  return {
    message: `The payee was paid exactly this by transaction ${transaction}, which this facilitator did not send. Do not pay again: the seller looks up whether it has delivered for it.`,
    diagnosis: { fault: 'seller', retry: 'never', docs, transaction },
  };
}

/**
 * Says of a used authorization that the transaction which used it could not be read in time. That transaction may have paid the
 * payee, so a new payment is not advised.
 */
export function explainUnknownUse(reason: Reason): Explanation {
  const { docs } = diagnosisOf(reason);
  return {
    message:
      'The authorization was used on chain, by a transaction that could not be read in time. That transaction may have paid the payee. Look for it on the chain, or ask again, before another payment is signed.',
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

/** A hash with its prefix. A longer one says nothing to a reader. */
const HEX_MAX_CHARACTERS = 66;
/** 2^256 and its sign. */
const DECIMAL_MAX_CHARACTERS = 79;
const HEX = /^0x[0-9a-fA-F]*$/;
const DECIMAL = /^-?\d+$/;
/** Schemes of the x402 specification, whether they are served here or not. */
const SCHEME_NAMES = ['exact', 'upto', 'batch-settlement', 'permit', 'permit2', 'eip3009'];
const WORDS: ReadonlySet<string> = new Set([...SCHEME_NAMES, ...NETWORK_NAMES]);

/**
 * A value of a request as an answer may repeat it: a short hexadecimal or decimal one, or a known word. Other values
 * are only described, so that a caller cannot put text of its own into an answer of this service.
 */
export function echo(value: unknown): string {
  if (typeof value === 'string') return echoText(value);
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) ? String(value) : 'a number that is no safe integer';
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
  return `${kind} of ${text.length} characters`;
}
