import { describe, expect, it } from '@jest/globals';
import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem';
import {
  aChannelChain,
  aContext,
  ESCROW,
  SELLER,
  TOKEN,
} from '../../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import { addressWord, uintWord } from '../../evm/abi-words.js';
import type { CallOutcome } from '../../evm/chain-reader.js';
import type { ReceiptLog } from '../../evm/logs.js';
import { refuse, type VerifyScope } from '../verdict.js';
import { SETTLED_TOPIC } from './escrow.js';
import { type Payout, PAYOUT_EVIDENCE, payoutCallOf, toBePaid, verifyPayout } from './payout.js';
import { readPayout } from './read-claim.js';

const outcomeOf = (claimed: bigint, settled: bigint): CallOutcome => ({
  status: 'returned',
  data: `0x${uintWord(claimed)}${uintWord(settled)}`,
});

async function verdictOf(totals: CallOutcome, missing?: Address, scope: VerifyScope = 'full') {
  const claim = readPayout({ payload: { type: 'settle', receiver: SELLER, token: TOKEN } });
  if (claim === undefined) throw new Error('not read');
  const { chain: bare } = aChannelChain(missing === undefined ? {} : { missing });
  const chain = { ...bare, call: () => Promise.resolve(totals) };
  const upTo = await toBePaid(claim, chain);
  if (typeof upTo === 'string') return refuse(upTo);
  return verifyPayout({ ...claim, upTo }, aContext(chain), scope);
}

const reasonOf = async (...asked: Parameters<typeof verdictOf>): Promise<string> => {
  const verdict = await verdictOf(...asked);
  return verdict.isValid
    ? String(verdict.brings?.get(TOKEN))
    : verdict.reason.replace('invalid_batch_settlement_evm_', 'BS:');
};

describe('a payout', () => {
  it('is of all that was claimed and not paid out', async () => {
    expect(await verdictOf(outcomeOf(700n, 200n))).toMatchObject({
      isValid: true,
      brings: new Map([[TOKEN, [500n]]]),
      authorization: { from: SELLER, token: TOKEN, upTo: 700n },
    });
  });

  it.each<[string, Parameters<typeof verdictOf>, string]>([
    ['with nothing due', [outcomeOf(200n, 200n)], 'BS:nothing_to_settle'],
    ['of a receiver that never claimed', [outcomeOf(0n, 0n)], 'BS:nothing_to_settle'],
    ['that cannot be read', [{ status: 'returned', data: '0x' }], 'BS:rpc_read_failed'],
    ['that reverts', [{ status: 'reverted', data: '0x' }], 'BS:rpc_read_failed'],
    ['without an escrow', [outcomeOf(7n, 0n), ESCROW], 'unsupported_scheme'],
    ['without a token', [outcomeOf(7n, 0n), TOKEN], 'unsupported_scheme'],
  ])('%s is refused', async (_, asked, reason) => {
    expect(await reasonOf(...asked)).toBe(reason);
  });

  it('is refused as done where something was paid, and not where nothing was ever claimed', async () => {
    expect(await verdictOf(outcomeOf(200n, 200n))).toMatchObject({ isDone: true });
    expect(await verdictOf(outcomeOf(0n, 0n))).toMatchObject({ isDone: false });
  });

  it('has the same terms after it was paid', async () => {
    expect(await verdictOf(outcomeOf(700n, 700n), undefined, 'terms')).toMatchObject({
      isValid: true,
      authorization: { from: SELLER, token: TOKEN, upTo: 700n },
    });
  });

  it('is a call of the escrow, and is done once its total was paid out', async () => {
    const verdict = await verdictOf(outcomeOf(700n, 200n));
    if (!verdict.isValid) throw new Error('refused');
    const payout = verdict.authorization as Payout;
    const abi = parseAbi(['function settle(address receiver, address token)']);
    expect(payoutCallOf(payout)).toEqual({
      to: ESCROW.toLowerCase(),
      data: encodeFunctionData({ abi, args: [SELLER, TOKEN] }),
    });
    expect(PAYOUT_EVIDENCE.callOf(payout).data.slice(0, 10)).toBe('0x21ff6389');
    expect(PAYOUT_EVIDENCE.isDone(outcomeOf(700n, 700n), payout)).toBe(true);
    // More was claimed and paid meanwhile.
    expect(PAYOUT_EVIDENCE.isDone(outcomeOf(950n, 900n), payout)).toBe(true);
    expect(PAYOUT_EVIDENCE.isDone(outcomeOf(950n, 699n), payout)).toBe(false);
    expect(PAYOUT_EVIDENCE.isDone({ status: 'returned', data: '0x' }, payout)).toBeUndefined();
  });

  it('is shown by its event of the escrow, whatever the total was judged to be', async () => {
    const verdict = await verdictOf(outcomeOf(700n, 200n));
    if (!verdict.isValid) throw new Error('refused');
    const payout = verdict.authorization as Payout;
    const word = (address: Address): Hex => `0x${addressWord(address)}`;
    const settled: ReceiptLog = {
      address: ESCROW.toLowerCase() as Address,
      topics: [SETTLED_TOPIC, word(SELLER), word(TOKEN), word(ESCROW)],
      data: `0x${uintWord(100n)}`,
      logIndex: 3,
    };
    const isShown = (more: Partial<ReceiptLog>) =>
      PAYOUT_EVIDENCE.isShownIn?.([{ ...settled, ...more }], payout);
    expect(isShown({})).toBe(true);
    expect(isShown({ address: TOKEN })).toBe(false);
    // The escrow never writes such a log; a node that is wrong shows it.
    expect(isShown({ data: '0x' })).toBe(false);
    expect(isShown({ data: `0x${uintWord(100n).slice(0, 62)}` })).toBe(false);
    expect(isShown({ topics: [SETTLED_TOPIC, word(ESCROW), word(TOKEN), word(ESCROW)] })).toBe(
      false,
    );
    expect(isShown({ topics: [SETTLED_TOPIC, word(SELLER), word(ESCROW), word(ESCROW)] })).toBe(
      false,
    );
  });

  it.each([{}, { receiver: '0x12' }, { token: null }, { type: 'claim' }])(
    'is not read with %j',
    (more) => {
      const sent = { type: 'settle', receiver: SELLER, token: undefined, ...more };
      expect(readPayout({ payload: sent })).toBeUndefined();
    },
  );
});
