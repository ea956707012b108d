import { type Fault, type Reason, type ReasonFacts, REASONS, type Retry } from '../reasons.js';
import { echo } from './echo.js';
import type { Finding } from './finding.js';

/** What `extensions.diagnosis` of a refusal says to programs. */
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
}

export interface Explanation {
  /** At most {@link MESSAGE_MAX_CHARACTERS} long. */
  readonly message: string;
  readonly diagnosis: Diagnosis;
}

export const MESSAGE_MAX_CHARACTERS = 300;

/** Says what is wrong with one payment. @param finding - where, if that is known. */
export function explain(reason: Reason, finding?: Finding): Explanation {
  const { meaning }: ReasonFacts = REASONS[reason];
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

/** What is known of a reason, whatever the request was. */
export function diagnosisOf(reason: Reason): Diagnosis {
  const { fault, retry }: ReasonFacts = REASONS[reason];
  return { fault, retry, docs: `docs/errors.md#${reason}` };
}

function bounded(text: string): string {
  return text.length <= MESSAGE_MAX_CHARACTERS
    ? text
    : `${text.slice(0, MESSAGE_MAX_CHARACTERS - 1)}…`;
}
