import { isCaip2, NETWORK_NAMES } from '../payment/network.js';

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
