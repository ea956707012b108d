import { eip3009Body, newNonce } from '../../support/payments.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { ask, delay, newCallerAddress } from '../client.js';
import type { Payment } from '../deals.js';
import type { Fault } from '../faults/fault.js';
import { Order } from '../order.js';
import type { Stage } from '../stage.js';
import type { Bought } from './memory.js';
import { keepsItsKey } from './revisit.js';

const SOLD_MS = 30_000;
/** It is final, archived, and taken out of the ledger in the evictor's next round. */
const ARCHIVED_MS = 60_000;
const LOOK_EVERY_MS = 250;
const LOOK_TIMEOUT_MS = 3000;

export const ARCHIVED_KEY = 'the key of an archived payment comes with another one';

/**
 * Sold under a key, and known to the archive alone before anything goes wrong: the ledger does not
 * know any more that the key is taken.
 */
export function archivedKey(): Fault {
  let sold: Bought | undefined;
  return {
    kind: ARCHIVED_KEY,
    name: ARCHIVED_KEY,
    prepare: async (stage, random) => {
      sold = await archivedPurchase(stage, random);
    },
    run: async (stage, random) => {
      await delay(random.between(0, 1500));
      if (sold === undefined) throw new Error('nothing was bought');
      stage.found.push(...(await keepsItsKey(stage, sold)));
    },
  };
}

async function archivedPurchase(stage: Stage, random: SeededRandom): Promise<Bought> {
  const payment = await aPayment(stage, random);
  const from = newCallerAddress();
  const order = new Order({
    payment,
    urls: () => stage.urls(),
    random,
    from,
    headersOf: (caller) => stage.headersOf(caller),
    hasKey: true,
  });
  await order.pursue(Date.now() + SOLD_MS);
  const transaction = order.heard.find(({ isSuccess }) => isSuccess)?.transaction;
  const [id] = order.heardAnswers.keys();
  if (typeof transaction !== 'string' || id === undefined || order.key === undefined)
    throw new Error(`nothing was wrong, and yet not sold: ${order.end ?? 'no end'}`);
  await archived(stage, id);
  return { payment, key: order.key, from, transaction, run: 'this run', at: Date.now() };
}

async function aPayment(stage: Stage, random: SeededRandom): Promise<Payment> {
  const { chainId, usd: token } = stage.world;
  const payer = random.pick(stage.payers);
  const payTo = stage.newPayee();
  const amount = BigInt(random.between(1, 5000));
  const nonce = newNonce();
  const body = await eip3009Body({ payer, chainId, token, payTo, amount, nonce });
  return { body, method: 'eip3009', token, payer: payer.address, payTo, amount, nonce };
}

/** Waits until it has left the ledger, and its key looks as if it had been bound long ago. */
async function archived(stage: Stage, id: string): Promise<void> {
  const deadline = Date.now() + ARCHIVED_MS;
  for (;;) {
    await stage.ledger.age(Date.now());
    const [api] = stage.urls();
    const answer = await ask(`${api}/v2/settlements/${id}`, { timeoutMs: LOOK_TIMEOUT_MS });
    if (answer?.json['source'] === 'archive') return;
    if (Date.now() > deadline) throw new Error(`${id} did not leave the ledger`);
    await delay(LOOK_EVERY_MS);
  }
}
