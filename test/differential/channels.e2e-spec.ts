import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sandboxAccount } from '../../sandbox/accounts.js';
import type { Body, Json } from '../support/payments.js';
import { World } from '../support/world.js';
import type { Case } from './cases.js';
import {
  channelCases,
  channelSettles,
  type ChannelStage,
  setChannelStage,
} from './channel-cases.js';
import { CHANNEL_DIFFERENCES } from './channel-differences.js';
import { Reference } from './reference.js';

/** Reasons of the reference, without their prefix; the others follow a transaction that fails. */
const EXPECTED_REASONS = [
  'authorizer_not_configured',
  'channel_id_mismatch',
  'channel_not_found',
  'claim_simulation_failed',
  'cumulative_below_claimed',
  'cumulative_exceeds_balance',
  'deposit_simulation_failed',
  'eip2612_amount_mismatch',
  'erc3009_authorization_required',
  'insufficient_balance',
  'missing_eip712_domain',
  'network_mismatch',
  'nothing_to_settle',
  'payload_authorization_valid_after',
  'payload_authorization_valid_before',
  'payload_type',
  'permit2_allowance_required',
  'permit2_amount_mismatch',
  'permit2_deadline_expired',
  'permit2_invalid_signature',
  'permit2_invalid_spender',
  'receive_authorization_signature',
  'receiver_authorizer_mismatch',
  'receiver_mismatch',
  'refund_no_balance',
  'refund_simulation_failed',
  'rpc_read_failed',
  'scheme',
  'token_mismatch',
  'voucher_signature',
  'withdraw_delay_mismatch',
  'withdraw_delay_out_of_range',
];

const REFERENCE_SIGNER = sandboxAccount(3);

/** With the sandbox's own contracts on the chain. */
describe('messages about channels at the reference facilitator', () => {
  let world: World;
  let reference: Reference['client'];
  let stage: ChannelStage;

  beforeAll(async () => {
    world = await World.start();
    reference = new Reference(world.anvil.url, world.chainId, 'local', REFERENCE_SIGNER.key).client;
    stage = await setChannelStage(world);
  });
  afterAll(() => world.stop());

  async function answerTo(
    act: 'verify' | 'settle',
    { paymentPayload, paymentRequirements }: Body,
  ): Promise<string> {
    try {
      return said(await reference[act](paymentPayload as never, paymentRequirements as never));
    } catch {
      return 'throws';
    }
  }

  it('are answered with every reason that it gives', async () => {
    const answers: string[] = [];
    for (const { body } of await channelCases(stage)) answers.push(await answerTo('verify', body));
    for (const { body } of await channelSettles(stage)) {
      answers.push(await answerTo('settle', body));
    }
    const missing = EXPECTED_REASONS.filter(
      (reason) =>
        !answers.some((answer) => answer.includes(` invalid_batch_settlement_evm_${reason}`)),
    );
    expect(missing).toEqual([]);
    // And with successes of each kind, with the state of the channel.
    const state = 'balance "0" totalClaimed "0" withdrawRequestedAt 0 refundNonce "0", a payer';
    expect(answers).toContain(`valid ${state}`);
    expect(answers).toContain(
      'success 1000 balance "1000" totalClaimed "0" withdrawRequestedAt 0 refundNonce "0", a payer, a transaction',
    );
    expect(answers).toContain(
      'success 700 balance "300" totalClaimed "300" withdrawRequestedAt 0 refundNonce "1", a payer, a transaction',
    );
    expect(answers).toContain('success, a transaction');
    expect(answers.length).toBeGreaterThanOrEqual(200);
  });
});

describe('messages about channels at this service and at the reference facilitator', () => {
  let world: World;
  let url: string;
  let reference: Reference['client'];

  beforeAll(async () => {
    world = await World.start();
    reference = new Reference(world.anvil.url, world.chainId, 'local', REFERENCE_SIGNER.key).client;
    ({ url } = await world.service());
  });
  afterAll(() => world.stop());

  async function ours(act: 'verify' | 'settle', body: Body): Promise<string> {
    const response = await fetch(`${url}/${act}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return said((await response.json()) as object);
  }

  async function theirs(act: 'verify' | 'settle', body: Body): Promise<string> {
    const { paymentPayload, paymentRequirements } = body;
    try {
      return said(await reference[act](paymentPayload as never, paymentRequirements as never));
    } catch {
      return 'throws';
    }
  }

  function difference(
    { name, whenThrown }: Case,
    act: 'verify' | 'settle',
    said: { readonly own: string; readonly other: string },
  ): readonly string[] {
    const { own, other } = said;
    const expected = CHANNEL_DIFFERENCES[`${act} ${name}`] ?? other;
    const isExpected =
      other === 'throws' && CHANNEL_DIFFERENCES[`${act} ${name}`] === undefined
        ? whenThrown !== undefined && own.includes(` ${whenThrown}`)
        : own === expected;
    return isExpected ? [] : [`${act} ${name}: theirs ${other}, ours ${own}`];
  }

  it('are verified alike', async () => {
    const cases = await channelCases(await setChannelStage(world));
    const differences: string[] = [];
    for (const one of cases) {
      const [own, other] = [await ours('verify', one.body), await theirs('verify', one.body)];
      differences.push(...difference(one, 'verify', { own, other }));
    }
    expect(differences).toEqual([]);
    expect(cases.length).toBeGreaterThanOrEqual(100);
  });

  it('are settled alike, on channels of their own', async () => {
    const [own, other] = [
      await channelSettles(await setChannelStage(world)),
      await channelSettles(await setChannelStage(world)),
    ];
    const differences: string[] = [];
    for (const [index, one] of own.entries()) {
      const another = other[index]?.body ?? one.body;
      const answers = {
        own: await ours('settle', one.body),
        other: await theirs('settle', another),
      };
      differences.push(...difference(one, 'settle', answers));
    }
    expect(differences).toEqual([]);
    expect(own.length).toBeGreaterThanOrEqual(40);
  });
});

/** An answer without what has to differ: transactions, channels and payers of each side. */
function said(answer: object): string {
  const { isValid, success, invalidReason, errorReason, ...more } = answer as Json;
  const { payer, amount, transaction, extra } = more;
  const verdict = { true: 'valid', false: 'invalid' }[String(isValid)];
  const { channelState, ...state } = { ...(extra as object) } as Json;
  // Names of this service's own stand beside them.
  const reported = Object.entries({ ...state, ...(channelState as object) })
    .filter(([name]) => !['channelId', 'settlementId', 'logIndex', 'batchSize'].includes(name))
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return [
    verdict ?? (success === true ? 'success' : 'failure'),
    invalidReason ?? errorReason,
    amount,
    ...reported,
    typeof payer === 'string' && ', a payer',
    typeof transaction === 'string' && transaction !== '' && ', a transaction',
  ]
    .filter((part) => typeof part === 'string')
    .join(' ')
    .replaceAll(' ,', ',');
}
