import { type Hex, parseEventLogs, type TransactionReceipt } from 'viem';
import { BATCH_SETTLEMENT } from '../../../sandbox/deploy.js';
import { ESCROW_ABI } from '../../support/channels.js';
import { describeAll, type Expectations } from '../invariants.js';
import type { Heard } from '../order.js';
import type { Stage } from '../stage.js';
import type { Act, Shop } from './shop.js';

const READ = { address: BATCH_SETTLEMENT, abi: ESCROW_ABI } as const;

/** Compares what the escrow holds and has logged with all answers to sellers and buyers. */
export async function violationsOfShop(
  stage: Stage,
  shop: Shop,
  expected: Expectations,
): Promise<readonly string[]> {
  const violations: string[] = [];
  for (const act of shop.acts) {
    const found = [
      ...wrongAnswers(stage, act, shop, expected),
      ...(await withoutEffect(stage, act, expected)),
    ];
    if (found.length > 0) violations.push(`${describe(act)}: ${[...new Set(found)].join('; ')}`);
  }
  for (const { id, signed } of shop.channels) {
    const [, claimed] = await readChannel(stage, id);
    const shown = shop.acts.flatMap((act) =>
      isDone(act) ? act.rows.filter(({ channel }) => channel.id === id) : [],
    );
    for (const { total } of shown) {
      if (claimed < total) violations.push(`${id}: ${claimed} claimed, and told of ${total}`);
    }
    if (claimed > signed) violations.push(`${id}: ${claimed} claimed, ${signed} signed`);
  }
  const [claimed, settled] = await stage.world.client.readContract({
    ...READ,
    functionName: 'receivers',
    args: [shop.receiver.address, shop.token],
  });
  const received = await stage.world.balance(shop.token, shop.receiver.address);
  if (received !== settled) violations.push(`paid ${received}, settled ${settled}`);
  if (settled !== claimed) violations.push(`paid ${settled} of ${claimed}`);
  return violations;
}

/** Transactions of lanes that the escrow took and that changed nothing. */
export async function noOps(stage: Stage, first: bigint): Promise<number> {
  const { client } = stage.world;
  const signers = new Set(stage.signers.map((address) => address.toLowerCase()));
  const last = await client.getBlockNumber({ cacheTime: 0 });
  let count = 0;
  for (let blockNumber = first; blockNumber <= last; blockNumber += 1n) {
    const { transactions } = await client.getBlock({ blockNumber, includeTransactions: true });
    for (const { from, to, hash } of transactions) {
      if (
        !signers.has(from.toLowerCase()) ||
        to?.toLowerCase() !== BATCH_SETTLEMENT.toLowerCase()
      ) {
        continue;
      }
      const { logs } = await client.getTransactionReceipt({ hash });
      if (logs.length === 0) count += 1;
    }
  }
  return count;
}

const successesOf = ({ orders }: Act): readonly Heard[] =>
  orders.flatMap(({ heard }) => heard).filter(({ isSuccess }) => isSuccess);

export const isDone = (act: Act): boolean => successesOf(act).length > 0;

/** Every action has an end, and the same one for all who ask. */
function wrongAnswers(
  { losses, world }: Stage,
  act: Act,
  shop: Shop,
  { isLedgerWhole, hasReorgs }: Expectations,
): string[] {
  const violations: string[] = [];
  const isWhole = isLedgerWhole && losses.length === 0;
  const last = act.orders.at(-1);
  const isRivalDone = shop.acts.some(
    (other) =>
      other !== act && other.channel === act.channel && other.trick === 'rival' && isDone(other),
  );
  const mayBeRefused =
    (act.trick === 'rival' && isRivalDone) || (act.manner === 'deposit' && !isWhole);
  if (last?.end !== 'success' && !(last?.end !== undefined && mayBeRefused)) {
    violations.push(`it ends with ${last?.end ?? 'nothing'}`);
  }
  const wasTold = act.orders.some(({ isBuyer }) => isBuyer);
  for (const order of act.orders) {
    const firstAt = order.heard.find(({ isSuccess }) => isSuccess)?.at;
    const later = firstAt === undefined ? [] : order.heard.filter(({ at }) => at >= firstAt);
    if (
      wasTold &&
      isWhole &&
      later.some(({ reason }) => reason !== undefined && !OPEN.has(reason))
    ) {
      violations.push('it was done, and a repeat failed');
    }
  }
  for (const { network } of act.orders.flatMap(({ heard }) => heard)) {
    if (network !== `eip155:${world.chainId}`) violations.push(`the network ${String(network)}`);
  }
  // The same message asks for another payout once more is claimed.
  if (act.manner === 'settle') return violations;
  const told = successesOf(act);
  const hashes = new Set(told.map(({ transaction }) => transaction).filter((one) => one !== ''));
  if (hashes.size > 1 && isWhole && !hasReorgs) violations.push(`${hashes.size} hashes were told`);
  const amounts = new Set(
    told.flatMap(({ amount }) => (amount === undefined ? [] : textOf(amount))),
  );
  if (amounts.size > 1) violations.push(`${[...amounts].join(' and ')} were told`);
  return violations;
}

/** Says nothing about the action yet. */
const OPEN = new Set(['settlement_pending', 'network_unavailable', 'rate_limited', 'queue_full']);

/** What a success names has happened, in the transaction that it names. */
async function withoutEffect(
  stage: Stage,
  act: Act,
  { hasReorgs, isLedgerWhole }: Expectations,
): Promise<string[]> {
  const violations: string[] = [];
  const told = successesOf(act);
  const hashes = new Set(told.map(({ transaction }) => String(transaction)));
  for (const hash of hashes) {
    if (hash === '') {
      // Where the record is lost, and no node finds the transaction, the state alone shows that it is done.
      const isWhole =
        isLedgerWhole && stage.losses.length === 0 && !(await stage.ledger.hasGoneBack());
      if (act.manner !== 'claim' && isWhole) violations.push('a success without a hash');
      continue;
    }
    const receipt = await receiptOf(stage, hash as Hex);
    if (receipt === undefined) {
      if (!hasReorgs) violations.push(`${hash} is not on the chain`);
      continue;
    }
    if (receipt.status !== 'success') {
      // After a reorganization the transaction of a copier can come first, and ours fails. Another answer names the copier's.
      if (hasReorgs && act.trick === 'copied' && (await isAnyPaid(stage, hashes))) continue;
      violations.push(`${hash} has reverted`);
    }
    const same = told.filter(({ transaction }) => transaction === hash);
    for (const amount of new Set(same.map((heard) => heard.amount))) {
      violations.push(...(await missing(stage, act, receipt, amount)));
    }
  }
  return violations;
}

async function isAnyPaid(stage: Stage, hashes: Iterable<string>): Promise<boolean> {
  const receipts = await Promise.all([...hashes].map((hash) => receiptOf(stage, hash as Hex)));
  return receipts.some((receipt) => receipt?.status === 'success');
}

async function missing(
  stage: Stage,
  act: Act,
  receipt: TransactionReceipt,
  amount: unknown,
): Promise<string[]> {
  const violations: string[] = [];
  const logs = parseEventLogs({ abi: ESCROW_ABI, logs: receipt.logs });
  const { blockNumber, transactionHash: hash } = receipt;
  for (const { channel, total } of act.rows) {
    const [, claimed] = await readChannel(stage, channel.id, blockNumber);
    if (claimed < total) violations.push(`${hash} claims ${claimed} of ${total}`);
  }
  if (act.manner === 'claim') return violations;
  const of = {
    deposit: 'Deposited',
    settle: 'Settled',
    refund: 'Refunded',
  }[act.manner];
  const shown = logs.filter(
    ({ eventName, args }) =>
      eventName === of && (!('channelId' in args) || args.channelId === act.channel?.id),
  );
  // Details that no node tells now are left out of a success.
  if (amount === undefined) return violations;
  const amounts = shown.map(({ args }) => ('amount' in args ? String(args.amount) : ''));
  if (!amounts.includes(textOf(amount))) {
    violations.push(`${hash} shows ${of} of ${amounts.join(' ')}, told of ${textOf(amount)}`);
  }
  if (act.manner === 'deposit' && amount !== act.amount?.toString()) {
    violations.push(`told that ${textOf(amount)} of ${act.amount} was deposited`);
  }
  return violations;
}

const textOf = (sent: unknown): string => (typeof sent === 'string' ? sent : JSON.stringify(sent));

function receiptOf({ world }: Stage, hash: Hex): Promise<TransactionReceipt | undefined> {
  return world.client.getTransactionReceipt({ hash }).catch(() => undefined);
}

function readChannel(
  { world }: Stage,
  id: Hex,
  blockNumber?: bigint,
): Promise<readonly [bigint, bigint]> {
  return world.client.readContract({
    ...READ,
    functionName: 'channels',
    args: [id],
    ...(blockNumber !== undefined && { blockNumber }),
  });
}

function describe({ manner, trick, orders, rows, amount }: Act): string {
  const what = [...rows.map(({ total }) => total), amount ?? ''].join(' ');
  const heard = orders.map(({ requests, end }) => `[${describeAll(requests)} -> ${end ?? 'open'}]`);
  return `${manner}${trick === undefined ? '' : ` (${trick})`} ${what} ${heard.join(' ')}`;
}
