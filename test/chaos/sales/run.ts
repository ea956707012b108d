import type { PrivateKeyAccount } from 'viem/accounts';
import type { GivenHeaders } from '../../support/hub-world.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { SalesStage } from './stage.js';

/** How long a buyer asks with one payment. */
const REST_TIMEOUT_MS = 90_000;
const RETRY_MS = 100;
/** A file that goes out in several pieces, and one that goes out in one. */
const LENGTHS = [40, 70_000, 2_500_000] as const;

/** One payment and what came of it. */
export interface Purchase {
  readonly name: string;
  readonly buyer: PrivateKeyAccount;
  readonly amount: bigint;
  readonly end: 'bytes' | 'refused' | 'nothing' | 'wrong bytes';
  /** What the hub said last. */
  readonly said: string;
}

interface Fault {
  readonly name: string;
  /** Does it, or sets it up to be done. */
  run(stage: SalesStage, random: SeededRandom, buyer: PrivateKeyAccount): Promise<void>;
}

/** A record of a sale as it goes to Redis; see `src/hub/sales/sale.ts`. */
const BEGUN = '"paymentPayload"';
const PAID = '"paid":{';

const killHub = (stage: SalesStage) => (): void => {
  stage.hub.kill();
};

function atStep(name: string, text: string, moment: 'before' | 'after'): Fault {
  return {
    name: `the hub is killed ${moment} ${name}`,
    run: (stage) => {
      stage.hub.redis.set(text, moment, killHub(stage));
      return Promise.resolve();
    },
  };
}

/** Moments of a sale at which a process may die. */
export const FAULTS: readonly Fault[] = [
  atStep('the sale is written', BEGUN, 'before'),
  atStep('the sale is written', BEGUN, 'after'),
  atStep('the sale is noted as paid', PAID, 'before'),
  atStep('the sale is noted as paid', PAID, 'after'),
  {
    name: 'the hub is killed when the payment is in a block',
    run: async (stage, _random, buyer) => {
      const deadline = Date.now() + 10_000;
      while ((await stage.spentBy(buyer)) === 0n && Date.now() < deadline) await pause(10);
      stage.hub.kill();
    },
  },
  {
    name: 'the hub is killed at any moment',
    run: async (stage, random) => {
      await pause(random.below(2500));
      stage.hub.kill();
    },
  },
  {
    name: 'the facilitator is killed at any moment',
    run: async (stage, random) => {
      await pause(random.below(2500));
      stage.facilitator.kill();
    },
  },
  {
    name: 'both are killed at any moment',
    run: async (stage, random) => {
      await pause(random.below(2000));
      stage.hub.kill();
      await pause(random.below(500));
      stage.facilitator.kill();
    },
  },
];

/**
 * One file, bought by a few buyers, each with one payment and as often as it takes, while something dies.
 *
 * @returns what was bought, and what must not be: paid and not downloadable, or downloaded and not paid once.
 */
export async function playRun(
  stage: SalesStage,
  random: SeededRandom,
  { name, faults }: { readonly name: string; readonly faults: readonly Fault[] },
): Promise<{ readonly purchases: readonly Purchase[]; readonly violations: readonly string[] }> {
  const text = random.hex(32).repeat(Math.ceil(random.pick(LENGTHS) / 66));
  const amount = BigInt(random.between(1, 1_000_000));
  await stage.sell(name, text, amount);
  const buyers: { readonly account: PrivateKeyAccount; readonly payment: GivenHeaders }[] = [];
  for (let count = random.between(1, 3); count > 0; count -= 1) {
    const account = await stage.payer();
    buyers.push({ account, payment: await stage.paymentFor(account, name) });
  }
  const [first] = buyers;
  if (first === undefined) throw new Error('nobody buys');
  const disturbing = Promise.all(faults.map((fault) => fault.run(stage, random, first.account)));
  const purchases = await Promise.all(
    buyers.map(({ account: buyer, payment }) =>
      buy(stage, { name, text, payment }).then((end) => ({ name, buyer, amount, ...end })),
    ),
  );
  await disturbing;
  await stage.recovered();
  return { purchases, violations: await violationsOf(stage, purchases) };
}

/** Every paid buyer has the bytes, and every buyer with the bytes has paid once. */
export async function violationsOf(
  stage: SalesStage,
  purchases: readonly Purchase[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { name, buyer, amount, end, said } of purchases) {
    const spent = await stage.spentBy(buyer);
    const due = end === 'bytes' ? amount : 0n;
    if (end === 'nothing' || end === 'wrong bytes' || spent !== due) {
      found.push(`${name}, ${buyer.address}: ${end}, paid ${spent} of ${amount}; heard ${said}`);
    }
  }
  return found;
}

async function buy(
  stage: SalesStage,
  sale: { readonly name: string; readonly text: string; readonly payment: GivenHeaders },
): Promise<Pick<Purchase, 'end' | 'said'>> {
  const deadline = Date.now() + REST_TIMEOUT_MS;
  let said = 'nothing';
  while (Date.now() < deadline) {
    const answer = await stage.read(sale.name, sale.payment);
    if (answer !== undefined) said = `${answer.status} ${answer.text.slice(0, 200)}`;
    if (answer?.status === 200) {
      if (answer.text !== sale.text) return { end: 'wrong bytes', said: '200' };
      return again(stage, sale, answer.headers.get('hub-access') ?? '');
    }
    // Of a payment that was sent once and is refused for good, nothing may ever be taken.
    if (answer?.status === 402) return { end: 'refused', said };
    await pause(RETRY_MS);
  }
  return { end: 'nothing', said };
}

/** A buyer reads the bytes again for free, by the token of the sale. */
async function again(
  stage: SalesStage,
  { name, text }: { readonly name: string; readonly text: string },
  token: string,
): Promise<Pick<Purchase, 'end' | 'said'>> {
  const deadline = Date.now() + REST_TIMEOUT_MS;
  let said = 'nothing';
  while (Date.now() < deadline) {
    const answer = await stage.read(name, { 'hub-access': token });
    if (answer?.status === 200 && answer.text === text) return { end: 'bytes', said: '200' };
    if (answer !== undefined) said = `by its token ${answer.status}`;
    if (answer?.status === 402) break;
    await pause(RETRY_MS);
  }
  return { end: 'nothing', said };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
