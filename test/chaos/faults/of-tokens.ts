import { randomUUID } from 'node:crypto';
import { eip3009Body, newAccount } from '../../support/payments.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { ask, delay, newCallerAddress } from '../client.js';
import type { Stage } from '../stage.js';
import type { Fault } from './fault.js';

const ANSWER_TIMEOUT_MS = 12_000;

/** Payments in a hostile token: the service only promises an answer. */
export const hostileTokens: Fault = {
  kind: 'hostile tokens',
  name: 'hostile tokens',
  expectations: { isUndisturbed: true },
  run: async (stage, random) => {
    await Promise.all(
      Array.from({ length: random.between(4, 10) }, () => presentHostile(stage, random)),
    );
  },
};

/** Verifies, and settles in one of its ways, at once and again. */
async function presentHostile(stage: Stage, random: SeededRandom): Promise<void> {
  const token = random.pick(stage.hostile);
  const payer = random.pick(token.payers);
  const payTo = newAccount().address;
  const { chainId } = stage.world;
  const body = await eip3009Body({ payer, chainId, token: token.address, payTo, amount: 1000n });
  const from = newCallerAddress();
  const isAsync = random.chance(0.4);
  await delay(random.below(800));
  for (let round = 0; round < 2; round += 1) {
    const url = random.pick(stage.urls());
    if (random.chance(0.5)) {
      await ask(`${url}/verify`, { method: 'POST', body, from, timeoutMs: ANSWER_TIMEOUT_MS });
    }
    const answer = await ask(`${url}/settle`, {
      method: 'POST',
      body,
      from,
      headers: isAsync ? { prefer: 'respond-async' } : {},
      timeoutMs: ANSWER_TIMEOUT_MS,
    });
    stage.otherRequests += 1;
    if (answer?.json['success'] === true && token.name === 'takes all') {
      stage.found.push('a token that moves nothing was settled');
    }
  }
}

/** As many as one transaction takes, each with as much gas as one settlement may need. */
export const fatBatch: Fault = {
  kind: 'a batch of much gas',
  name: 'a batch of much gas',
  run: async (stage, random) => {
    await delay(random.below(500));
    const bodies = await Promise.all(
      Array.from({ length: 32 }, () =>
        eip3009Body({
          payer: random.pick(stage.payers),
          chainId: stage.world.chainId,
          token: stage.fat,
          payTo: newAccount().address,
          amount: 1n,
        }),
      ),
    );
    const answers = await Promise.all(
      bodies.map((body) =>
        ask(`${random.pick(stage.urls())}/settle`, {
          method: 'POST',
          body,
          headers: { 'idempotency-key': randomUUID() },
          timeoutMs: ANSWER_TIMEOUT_MS,
        }),
      ),
    );
    stage.otherRequests += bodies.length;
    const landed = answers.filter((answer) => answer?.json['success'] === true).length;
    stage.notes.push(`${landed} of 32 landed at once`);
  },
};
