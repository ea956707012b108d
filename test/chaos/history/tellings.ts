import type { Conduct, Delivery } from './receiver.js';
import type { Write } from './rows.js';

/** The event for one change of a row. */
interface Event {
  readonly type: string;
  readonly state: string;
  readonly isPaid: boolean;
  readonly transaction: string | undefined;
  readonly blockHash: string | undefined;
}

const FAILED = new Set(['reverted', 'expired', 'foreign', 'withdrawn']);

const isSamePlace = (one: Write, other: Write): boolean =>
  one.transaction === other.transaction &&
  (one.blockHash === other.blockHash ||
    one.blockHash === undefined ||
    other.blockHash === undefined);

/** The states that a row went through, as events for its seller. */
export function eventsOf(writes: readonly Write[]): readonly Event[] {
  const events: Event[] = [];
  writes.forEach((write, index) => {
    const before = writes[index - 1];
    const { state, isPaid, transaction, blockHash } = write;
    const tell = (type: string): void => {
      events.push({ type: `settlement.${type}`, state, isPaid, transaction, blockHash });
    };
    const stays = before?.isPaid === true && isPaid && isSamePlace(before, write);
    if (before?.isPaid === true && !stays) tell('reorged');
    if (isPaid) {
      if (!stays) tell('included');
      const wasFinal = stays && before.state !== 'included';
      if (state !== 'included' && !wasFinal) tell('finalized');
      if (write.isUnclaimed && before?.isUnclaimed !== true) tell('unclaimed');
      return;
    }
    const hadFailed = before !== undefined && !before.isPaid && FAILED.has(before.state);
    if (FAILED.has(state) && !hadFailed) tell('failed');
  });
  return events;
}

interface Heard {
  /** The violations, regardless of later deliveries. */
  readonly wrong: readonly string[];
  /** Whether something is still to come. */
  readonly isWaiting: boolean;
}

/** The deliveries of one settlement to one receiver, compared with what happened. */
export function heardAt(
  conduct: Conduct,
  attempts: readonly Delivery[],
  expected: readonly Event[],
): Heard {
  const wrong: string[] = [];
  const firsts = attempts.filter(
    ({ id }, index) => attempts.findIndex((other) => other.id === id) === index,
  );
  firsts.forEach((delivery, index) => {
    const event = expected[index];
    if (event === undefined) wrong.push(`told ${delivery.type}, which did not happen`);
    else if (!isOf(delivery, event))
      wrong.push(`told ${delivery.type} where ${event.type} came next`);
    const again = attempts.filter(({ id }) => id === delivery.id);
    if (again.some(({ body }) => body !== delivery.body))
      wrong.push(`two bodies of one ${delivery.type}`);
    const next = firsts[index + 1];
    if (next === undefined) return;
    if (!again.some(({ acceptedAt }) => (acceptedAt ?? Infinity) < next.arrivedAt)) {
      wrong.push(`told ${next.type} before ${delivery.type} was taken`);
    }
    if (again.some(({ arrivedAt }) => arrivedAt > next.arrivedAt)) {
      wrong.push(`told ${delivery.type} again after ${next.type}`);
    }
  });
  const taken = firsts.filter(({ id }) =>
    attempts.some((delivery) => delivery.id === id && delivery.acceptedAt !== undefined),
  );
  return { wrong, isWaiting: conduct !== 'dead' && taken.length < expected.length };
}

function isOf(delivery: Delivery, event: Event): boolean {
  const { type, data } = JSON.parse(delivery.body) as {
    readonly type: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
  const { hash } = (data['block'] ?? {}) as { readonly hash?: string };
  return (
    type === event.type &&
    data['state'] === event.state &&
    data['paid'] === event.isPaid &&
    data['transaction'] === event.transaction &&
    hash === event.blockHash
  );
}
