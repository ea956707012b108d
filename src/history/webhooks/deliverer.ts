import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import { settleAll } from '../../platform/concurrency/timing.js';
import { type FetchAnswer, FetchError, type SafeFetch } from '../../platform/fetch/safe-fetch.js';
import { PayeeAccess } from '../../platform/http/payee-access.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import { DELIVERY_STORE, type DeliveryOutcome, type DeliveryStore } from './delivery-store.js';
import { challengeIn } from './event-body.js';
import { LANE_EVENTS } from './lane-levels.js';
import { WebhookSecrets } from './signature.js';
import { type Answered, CHALLENGE_EVENT, type Delivery, type Webhook } from './webhook.js';
import { WebhookFetch } from './webhook-fetch.js';
import { LOGGED_WEBHOOKS, type WebhookObserver } from './webhook-observer.js';

/** Time limit of one attempt, up to the last byte of the answer. */
const ATTEMPT_MS = 10_000;
/**
 * After a crash another process continues after this time. It is longer than an attempt and the storing of its
 * outcome.
 */
const LEASE_MS = 30_000;
/** Parallel attempts to one endpoint, each for another settlement. */
const AT_ONCE = 8;
/** After this time other endpoints have their turn. */
const ROUND_MS = 20_000;
/** Stored characters of an answer. */
const ANSWER_CHARACTERS = 256;
const GONE = 410;

/**
 * Delivers events to an endpoint: in order for one settlement, in parallel for several. An attempt whose outcome
 * could not be stored is repeated with the same event id.
 */
@Injectable()
export class Deliverer {
  #isStopping = false;
  #rounds = 0;

  constructor(
    @Inject(DELIVERY_STORE) private readonly store: DeliveryStore,
    private readonly secrets: WebhookSecrets,
    @Inject(PayeeAccess) private readonly payees: PayeeAccess,
    @Inject(WebhookFetch) private readonly fetcher: Pick<SafeFetch, 'fetch'>,
    @Inject(LOGGED_WEBHOOKS) private readonly observer: WebhookObserver,
    @Inject(ProcessRegistry) private readonly processes: Pick<ProcessRegistry, 'processId'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Finishes running attempts, and starts no new ones. */
  stop(): void {
    this.#isStopping = true;
  }

  /**
   * Delivers what is due.
   *
   * @returns milliseconds until the next delivery; `undefined` if none is planned.
   * @throws ArchiveError
   */
  async round(endpointId: string): Promise<number | undefined> {
    const { store, clock } = this;
    // Two jobs may start two rounds for one endpoint in this process, so each round has its own holder id.
    this.#rounds += 1;
    const holder = `${this.processes.processId}.${this.#rounds}`;
    const until = clock.now() + ROUND_MS;
    try {
      do {
        // Read before each delivery, because the webhook may have been disabled or changed.
        const webhook = await store.take(endpointId, holder, LEASE_MS);
        if (webhook === undefined) return undefined;
        const heads = await store.heads(webhook, AT_ONCE);
        if (heads.length === 0) break;
        await settleAll(heads.map((delivery) => this.#deliver(webhook, delivery)));
      } while (clock.now() < until && !this.#isStopping);
      return await store.nextInMs(endpointId);
    } finally {
      await store.release(endpointId, holder);
    }
  }

  async #deliver(webhook: Webhook, delivery: Delivery): Promise<void> {
    const { store, payees, observer } = this;
    // Checked with the present API keys: a key gets no event that it may no longer read.
    const problem = refusalOf(webhook.owner, delivery, payees);
    if (problem !== undefined) {
      await store.record(webhook.id, delivery.sequence, { state: 'withheld', problem });
      observer.attempted('withheld');
      return;
    }
    const answered = await this.#attempt(webhook, delivery);
    const outcome = {
      ...this.#outcomeOf(answered, delivery.attempts + 1),
      ...(delivery.type === CHALLENGE_EVENT && { challengedUrl: webhook.url }),
    };
    await store.record(webhook.id, delivery.sequence, outcome);
    observer.attempted(outcome.state === 'waiting' ? 'refused' : outcome.state);
    if (outcome.state === 'delivered') return;
    const reason = answered.status === GONE ? 'gone' : 'failing';
    if (await store.disable(webhook.id, reason)) observer.disabled(webhook, reason);
  }

  async #attempt(webhook: Webhook, { eventId, type, body }: Delivery): Promise<Answered> {
    const { secrets, fetcher, clock } = this;
    const seconds = Math.floor(clock.now() / 1000);
    const headers = secrets.headersOf(webhook.id, webhook.secretNames, { eventId, body, seconds });
    const request = { url: webhook.url, method: 'POST', headers, body } as const;
    try {
      const answer = await fetcher.fetch(request, AbortSignal.timeout(ATTEMPT_MS));
      const answered = readAnswer(answer);
      return type === CHALLENGE_EVENT && answered.problem === undefined && !isEcho(answer, body)
        ? { ...answered, problem: 'The URL did not answer with the challenge.' }
        : answered;
    } catch (error) {
      if (error instanceof FetchError) return { problem: error.message };
      throw error;
    }
  }

  #outcomeOf(answered: Answered, attempts: number): DeliveryOutcome {
    if (answered.problem === undefined) return { ...answered, state: 'delivered' };
    const pauseMs = pauseAfter(attempts, Math.random());
    return pauseMs === undefined
      ? { ...answered, state: 'failed' }
      : { ...answered, state: 'waiting', pauseMs };
  }
}

/** Why an owner may not get an event; `undefined` if allowed. */
function refusalOf(
  owner: string,
  { type, payTo }: Delivery,
  payees: PayeeAccess,
): string | undefined {
  const isOfLane = LANE_EVENTS.some((name) => name === type);
  if (isOfLane && !payees.isOperator(owner)) return 'the API key does not have the scope admin';
  return payTo === undefined || payees.payeesOfOwner(owner).has(payTo)
    ? undefined
    : 'the API key may not see this payee';
}

function readAnswer({ status, body }: FetchAnswer): Answered {
  const text = body.toString('utf8', 0, 4 * ANSWER_CHARACTERS);
  // PostgreSQL stores no zero character, and other control characters are useless here.
  const answer = text.replaceAll(/[^\P{C}\n\t]/gu, '').slice(0, ANSWER_CHARACTERS);
  const problem = status >= 200 && status < 300 ? undefined : problemOf(status);
  return { status, ...(answer !== '' && { answer }), ...(problem !== undefined && { problem }) };
}

/** Accepts only the challenge itself, as text or in a JSON field. A server that echoes every body has not agreed. */
function isEcho({ body }: FetchAnswer, sent: string): boolean {
  const challenge = challengeIn(sent);
  const text = body.toString().trim();
  if (text === challenge) return true;
  try {
    return (JSON.parse(text) as { readonly challenge?: unknown } | null)?.challenge === challenge;
  } catch {
    return false;
  }
}

function problemOf(status: number): string {
  return status >= 300 && status < 400
    ? 'The URL redirects, and redirects are not followed.'
    : 'The URL answered with a status other than 2xx.';
}

/** Seconds between failed attempts: three days in all. */
const PAUSES = [
  5,
  30,
  120,
  600,
  1800,
  ...[1, 2, 4, 8, 12, 20, 24].map((hours) => hours * 3600),
] as const;
/** Random spread, so that deliveries that failed together are not retried together. */
const SPREAD = 0.1;

/** Most attempts to deliver one event to one endpoint. */
export const ATTEMPTS_MAX = PAUSES.length + 1;

/**
 * Milliseconds until the next attempt.
 *
 * @param attempts - number of failed attempts.
 * @param random - in [0, 1).
 * @returns `undefined` after the last attempt.
 */
export function pauseAfter(attempts: number, random: number): number | undefined {
  const seconds = PAUSES[attempts - 1];
  return seconds === undefined ? undefined : Math.round(seconds * 1000 * (1 + SPREAD * random));
}
