import { PENDING_MS, REORG_MS } from '../../src/facilitator/simulation/outcomes.js';
import type { Delivery, GradeBuyer, SignedPayment } from './buyer.js';
import { NotPlayable } from './buyer.js';
import type { GradeFacilitator, Heard, Role } from './facilitator.js';

/** What a seller may do wrong, and how to mend it. */
export const FAULTS = {
  delivers_twice: {
    what: 'delivers twice for one payment',
    fix: 'Deliver for a settle that said success to this very request, and for nothing that is remembered of the payment.',
  },
  delivers_without_success: {
    what: 'delivers without success',
    fix: 'Deliver when settle answered success: true. settlement_pending and duplicate_settlement are no successes, nor is verify.',
  },
  loses_paid_sale: {
    what: 'loses a paid sale',
    fix: 'When settle said success, deliver; when it did not answer, ask it again for the same payment as soon as the buyer comes back.',
  },
  charges_again: {
    what: 'charges again on retry',
    fix: 'When a buyer comes back with the same payment, settle it again. Do not ask for another one while the first may have landed.',
  },
  hangs: {
    what: 'hangs',
    fix: 'Give requests to the facilitator a time limit (longer than the 20 s a settle may take), and answer the buyer when it is over.',
  },
} as const;
export type Fault = keyof typeof FAULTS;

/** What one play has shown. */
export interface Played {
  readonly name: string;
  readonly faults: readonly { readonly fault: Fault; readonly seen: string }[];
  readonly seconds: number;
}

interface Stage {
  readonly heard: Heard;
  readonly payment: SignedPayment;
  present(): Promise<Delivery>;
}

interface Play {
  readonly name: string;
  readonly outcome: Role['outcome'];
  run(stage: Stage): Promise<readonly Delivery[]>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** Beyond the moment at which something changes. */
const MARGIN_MS = 500;
const AT_ONCE = 4;

const once = async (stage: Stage): Promise<readonly Delivery[]> => [await stage.present()];

/** Presents a payment; once more later where nothing was delivered: it may have landed. */
const againAfter =
  (ms: number) =>
  async (stage: Stage): Promise<readonly Delivery[]> => {
    const first = await stage.present();
    if (first.isDelivered) return [first];
    await pause(ms);
    return [first, await stage.present()];
  };

/** Once success was answered, none of the rest may be delivered. */
const PLAYS: readonly Play[] = [
  {
    name: 'the same payment again after it was delivered',
    outcome: 'reorg',
    run: async (stage) => [await stage.present(), await stage.present(), await stage.present()],
  },
  {
    name: `the same payment ${AT_ONCE} times at once`,
    outcome: 'reorg',
    run: (stage) => Promise.all(Array.from({ length: AT_ONCE }, () => stage.present())),
  },
  {
    name: 'a payment that a reorg takes back, presented again',
    outcome: 'reorg',
    run: async (stage) => {
      const first = await stage.present();
      await pause(REORG_MS + MARGIN_MS);
      return [first, await stage.present()];
    },
  },
  { name: 'a payment that verify refuses', outcome: 'refused', run: once },
  { name: 'a payment that reverts', outcome: 'reverted', run: once },
  { name: 'a payment that expires', outcome: 'expired', run: once },
  { name: 'a payment that was sold to another request', outcome: 'duplicate', run: once },
  {
    name: 'a payment that is pending and lands, presented again',
    outcome: 'pending',
    run: againAfter(PENDING_MS + MARGIN_MS),
  },
  {
    name: 'a payment that settles slowly',
    outcome: 'slow',
    run: againAfter(MARGIN_MS),
  },
  {
    name: 'a facilitator that does not answer, and the payment presented again',
    outcome: 'timeout',
    run: againAfter(MARGIN_MS),
  },
];

/**
 * Plays every outcome against a seller. The one that may hang comes last, when nothing else waits for the seller.
 *
 * @param onPlayed - is called as each play ends.
 * @throws NotPlayable
 */
export async function playAll(
  buyer: GradeBuyer,
  facilitator: GradeFacilitator,
  onPlayed: (played: Played) => void,
): Promise<readonly Played[]> {
  await purchase(buyer, facilitator);
  const play = async (one: Play): Promise<Played> => {
    const played = await playOne(one, buyer, facilitator);
    onPlayed(played);
    return played;
  };
  const [silent, others] = [PLAYS.slice(-1), PLAYS.slice(0, -1)];
  const played = await Promise.all(others.map(play));
  for (const one of silent) played.push(await play(one));
  return played;
}

/** Without a first purchase the rest would say nothing. */
async function purchase(buyer: GradeBuyer, facilitator: GradeFacilitator): Promise<void> {
  const payment = await buyer.sign();
  const heard = facilitator.play(payment.payer, 'reorg');
  const { status } = await buyer.present(payment);
  if (heard.verifies === 0 && heard.settles === 0) {
    throw new NotPlayable(
      `The seller answered ${status ?? 'nothing'} to a payment without asking this facilitator. Set ${facilitator.url} as its facilitator, start it again and repeat this.`,
    );
  }
  if (heard.settles === 0) {
    throw new NotPlayable(
      `The seller answered ${status ?? 'nothing'} to a payment that verify found good, and did not settle it.`,
    );
  }
}

async function playOne(
  play: Play,
  buyer: GradeBuyer,
  facilitator: GradeFacilitator,
): Promise<Played> {
  const { name, outcome } = play;
  const begun = performance.now();
  const payment = await buyer.sign();
  const heard = facilitator.play(payment.payer, outcome);
  const settlesAt: number[] = [];
  const deliveries = await play.run({
    heard,
    payment,
    present: async () => {
      settlesAt.push(heard.settles);
      return buyer.present(payment);
    },
  });
  const settledAgain = settlesAt.length > 1 && heard.settles > (settlesAt.at(-1) ?? 0);
  const faults = faultsOf(outcome, deliveries, heard, settledAgain);
  return { name, faults, seconds: (performance.now() - begun) / 1000 };
}

/** Outcomes at which the payment has landed, so that its buyer has to get something. */
const LANDS: ReadonlySet<Role['outcome']> = new Set([
  'pending',
  'slow',
  'timeout',
  'reorg',
] as const);

/** @param settledAgain - whether the last time it was presented the seller asked for a settle. */
function faultsOf(
  outcome: Role['outcome'],
  deliveries: readonly Delivery[],
  { successes }: Heard,
  settledAgain: boolean,
): Played['faults'] {
  const faults: { fault: Fault; seen: string }[] = [];
  const delivered = deliveries.filter(({ isDelivered }) => isDelivered).length;
  const statuses = deliveries.map(({ status }) => status ?? 'nothing').join(', ');
  const seen = `answers: ${statuses}; told success: ${successes}; delivered: ${delivered}`;
  if (deliveries.some(({ status }) => status === undefined)) faults.push({ fault: 'hangs', seen });
  if (delivered > 1) faults.push({ fault: 'delivers_twice', seen });
  if (delivered > 0 && successes === 0) faults.push({ fault: 'delivers_without_success', seen });
  if (delivered > 0 || !LANDS.has(outcome)) return faults;
  const last = deliveries.at(-1)?.status;
  if (last === undefined) return faults;
  // Asked for money again, without a look at what became of the first.
  if (successes === 0 && !settledAgain && last === 402)
    faults.push({ fault: 'charges_again', seen });
  else faults.push({ fault: 'loses_paid_sale', seen });
  return faults;
}
