import {
  CannotAnswerError,
  ChainUnavailableError,
  EndpointsDisagreeError,
} from '../../protocol/errors.js';
import type { BlockPoint } from './chain-queries.js';
import type { ChainView } from './chain-view.js';
import type { EndpointStatement } from './disagreements.js';
import { type EndpointHealth, isPresent } from './endpoint-health.js';
import { attempt } from './hedge.js';
import type { Ability } from './refusals.js';

/** The claim of one endpoint about a fact. */
export interface Claim<T> {
  readonly value: T;
  /** Equal for equal facts: block hash, status, evidence. */
  readonly key: string;
  /**
   * The block hash that a claim is about. Endpoints may be at different blocks for a moment, and
   * none of them is wrong: claims of different subjects wait; claims of one subject that differ are
   * a disagreement.
   */
  readonly subject?: string;
}

/**
 * The subject of a claim about the state at a block. Endpoints that are a block apart differ about the newest block,
 * and neither is wrong.
 *
 * @param key - of the claim.
 */
export function subjectAt(at: BlockPoint, key: string): string {
  if (at === 'latest') return key;
  return 'blockHash' in at ? at.blockHash : String(at.blockNumber);
}

export interface Question<T> {
  /** For alerts and metrics: a few fixed words, nothing from outside. */
  readonly what: string;
  /** The ability that an endpoint needs to answer it. */
  readonly ability?: Ability;
  /** Throws {@link ChainUnavailableError} where the endpoint does not answer now. */
  readonly read: (view: ChainView) => Promise<Claim<T>>;
  /** The claim of an endpoint that was read before. */
  readonly known?: { readonly view: ChainView; readonly claim: Claim<T> };
}

/** Notes that endpoints disagree. @param what - a few fixed words, nothing from outside. */
export type NoteDisagreement = (what: string, answers: readonly EndpointStatement[]) => void;

export interface QuorumContext {
  readonly chainId: number;
  /** In the order to ask them. */
  readonly views: readonly ChainView[];
  readonly onDisagreement: NoteDisagreement;
  /** Called when a required endpoint did not answer: it may be stuck and has to be measured. */
  readonly onMissingEndpoint: () => void;
}

/** Enough for a healthy node; a slower one counts as silent here. */
const ENDPOINT_TIMEOUT_MS = 1000;

/** Characters of an answer in the log. */
const MAX_ANSWER = 200;

interface EndpointClaim<T> {
  readonly view: ChainView;
  readonly claim: Claim<T>;
}

/**
 * Asks two endpoints and believes what both say. A third one decides if they differ. If the others are absent (they
 * have not answered for a while, are stuck, or have proved unable to answer this), one is believed alone, so that the
 * loss of a node does not stop settling.
 *
 * @throws ChainUnavailableError when no endpoint, or no second one, answers now: ask again soon.
 * @throws EndpointsDisagreeError when no two agree.
 */
export async function quorumRead<T>(context: QuorumContext, question: Question<T>): Promise<T> {
  const asked = ableAmong(presentAmong(context.views), question);
  const claims: EndpointClaim<T>[] = question.known === undefined ? [] : [question.known];
  const waiting = asked.filter(({ health }) => health !== question.known?.view.health);
  /** An endpoint that has proved unable to answer a question takes no part in its quorum. */
  const unable = new Set<EndpointHealth>();
  let isAnyMissing = false;
  while (waiting.length > 0 && !isSettled(claims)) {
    const answers = await Promise.all(
      waiting.splice(0, Math.max(1, 2 - claims.length)).map((view) => ask(view, question)),
    );
    claims.push(...answers.flatMap((one) => one.claims ?? []));
    for (const { view, isUnable } of answers) if (isUnable) unable.add(view.health);
    isAnyMissing ||= answers.some((one) => one.claims === undefined && !one.isUnable);
  }
  const agreed = agreedAmong(claims);
  if (claims.length > 1) {
    if (differ(claims)) {
      const answers = claims.map(({ view, claim }) => statementOf(view, claim.key));
      context.onDisagreement(question.what, answers);
    }
    if (agreed !== undefined) return agreed.value;
    throw differ(claims)
      ? new EndpointsDisagreeError(context.chainId, question.what)
      : new ChainUnavailableError(context.chainId, question.what);
  }
  const [only] = claims;
  if (isAnyMissing) context.onMissingEndpoint();
  // An endpoint that was present a moment ago gets a second chance before it counts as absent.
  const mayComeBack = isAnyMissing && isAnySilentPresent(asked, claims, unable);
  if (only === undefined || mayComeBack) {
    throw new ChainUnavailableError(context.chainId, question.what);
  }
  return only.claim.value;
}

/** @param answer - cut where it is too long for a log line. */
export function statementOf({ health }: ChainView, answer: string): EndpointStatement {
  return { endpoint: health.endpoint.name, answer: answer.slice(0, MAX_ANSWER) };
}

/** The answers of all endpoints; silent ones are left out. */
export async function eachAnswer<T>(
  views: readonly ChainView[],
  read: (view: ChainView) => Promise<T>,
): Promise<readonly T[]> {
  const answers = await Promise.all(
    presentAmong(views).map((view) => attempt(() => read(view.within(ENDPOINT_TIMEOUT_MS)))),
  );
  return answers.flatMap((done) => (done === undefined ? [] : [done.value]));
}

/** If none is present, all are asked. */
function presentAmong(views: readonly ChainView[]): readonly ChainView[] {
  const present = views.filter(({ health }) => isPresent(health));
  return present.length === 0 ? views : present;
}

/**
 * Endpoints that have proved unable to answer this are still asked, without waiting for them. If no other one can, all
 * are asked.
 */
function ableAmong<T>(present: readonly ChainView[], question: Question<T>): readonly ChainView[] {
  const { ability } = question;
  if (ability === undefined) return present;
  const able = present.filter(({ health }) => !health.refusals.has(ability));
  if (able.length === 0) return present;
  const asked = new Set(able);
  for (const view of present) {
    if (!asked.has(view)) ask(view, question).catch(() => undefined);
  }
  return able;
}

interface Answer<T> {
  readonly view: ChainView;
  readonly claims: EndpointClaim<T> | undefined;
  readonly isUnable: boolean;
}

async function ask<T>(view: ChainView, { read, ability }: Question<T>): Promise<Answer<T>> {
  try {
    const claim = await read(view.within(ENDPOINT_TIMEOUT_MS));
    return { view, claims: { view, claim }, isUnable: false };
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    // A refusal of another question proves nothing about this one.
    const isOfThis = ability === undefined || view.health.refusals.has(ability);
    return { view, claims: undefined, isUnable: isOfThis && error instanceof CannotAnswerError };
  }
}

function isSettled<T>(claims: readonly EndpointClaim<T>[]): boolean {
  return agreedAmong(claims) !== undefined;
}

/** The claim on which two of them agree. */
function agreedAmong<T>(claims: readonly EndpointClaim<T>[]): Claim<T> | undefined {
  return claims.find(({ claim: { key } }, index) =>
    claims.some((other, place) => place > index && other.claim.key === key),
  )?.claim;
}

/** Whether two of them differ about the same subject. */
function differ<T>(claims: readonly EndpointClaim<T>[]): boolean {
  return claims.some(({ claim }) =>
    claims.some(({ claim: other }) => other.subject === claim.subject && other.key !== claim.key),
  );
}

function isAnySilentPresent<T>(
  asked: readonly ChainView[],
  claims: readonly EndpointClaim<T>[],
  unable: ReadonlySet<EndpointHealth>,
): boolean {
  return asked.some(
    ({ health }) =>
      isPresent(health) &&
      !unable.has(health) &&
      claims.every(({ view }) => view.health !== health),
  );
}
