import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { sandboxAccount, SIGNER } from '../../sandbox/accounts.js';
import type { Service } from '../../sandbox/service.js';
import { post } from '../support/http.js';
import type { Body, Json } from '../support/payments.js';
import { World } from '../support/world.js';
import { allCases, type Case, payloadOf, type Stage } from './cases.js';
import { Reference, type Settled } from './reference.js';
import { SETTLE_DIFFERENCES, type SettleDifference } from './settle-differences.js';
import { setStage } from './stage.js';
import { undeployedSettles } from './undeployed-settles.js';
import { uptoCases, uptoCharges } from './upto-cases.js';

const CHAIN_ID = 84_532;
const V1_NETWORK = 'base-sepolia';
const REFERENCE_SIGNER = sandboxAccount(3);
/** What one facilitator settles would be what the other one finds: an approval that was not there before. */
const LEAVES_TRACES = /sponsored/i;

/** Each facilitator settles a payment of its own, made in the same way. */
describe('settles compared with those of the reference facilitator', () => {
  let world: World;
  let service: Service;
  let reference: Reference;
  let stage: Stage;
  let factory: Hex;

  beforeAll(async () => {
    world = await World.start({ chainId: CHAIN_ID });
    factory = await world.deployTest('MoodyFactory');
    service = await world.service({ ERC6492_FACTORIES: factory });
    const { url } = world.anvil;
    reference = new Reference(url, CHAIN_ID, V1_NETWORK, REFERENCE_SIGNER.key, [factory]);
    stage = await setStage(world, V1_NETWORK);
  });
  afterAll(() => world.stop());

  async function casesFor(facilitator: typeof SIGNER): Promise<readonly Case[]> {
    const { address } = facilitator;
    const cases = [
      ...(await allCases(stage)),
      ...(await uptoCases(stage, address)),
      ...(await uptoCharges(stage, address)),
      ...(await undeployedSettles(stage, factory)),
    ];
    return cases.filter(({ name }) => !LEAVES_TRACES.test(name));
  }

  /** What a payment goes through before it is settled, at one of the two. */
  async function verifiedFirst(
    { body, meanwhile }: Case,
    verify: (body: Body) => Promise<unknown>,
  ): Promise<void> {
    if (meanwhile === undefined) return;
    await verify(body);
    await meanwhile();
  }

  async function settle({ body }: Case): Promise<Settled> {
    const { status, body: answer } = await post(`${service.url}/settle`, body);
    expect(status).toBe(200);
    return {
      verdict: answer['success'] === true ? 'success' : 'failure',
      reason: answer['errorReason'] as string | undefined,
      payer: answer['payer'] as string | undefined,
      amount: answer['amount'] as string | undefined,
      hasTransaction: answer['transaction'] !== '',
    };
  }

  it('come to the same end, for the same reason, with the same amount', async () => {
    const [mine, theirs] = [await casesFor(SIGNER), await casesFor(REFERENCE_SIGNER)];
    expect(mine.map(({ name }) => name)).toEqual(theirs.map(({ name }) => name));
    const used = new Set<SettleDifference>();
    const failures: string[] = [];
    const counts = new Map<string, number>();
    for (const [index, one] of mine.entries()) {
      const other = theirs[index];
      if (other === undefined) throw new Error('as many cases for both');
      await verifiedFirst(one, (body) => post(`${service.url}/verify`, body));
      await verifiedFirst(other, (body) => reference.verify(body));
      const [own, its] = await Promise.all([settle(one), reference.settle(other.body)]);
      const said = own.reason ?? 'success';
      counts.set(said, (counts.get(said) ?? 0) + 1);
      const failure = compare(one, other, its, own, used);
      if (failure !== undefined) failures.push(failure);
    }
    const table = [...counts].sort(([a], [b]) => a.localeCompare(b));
    console.log(
      `${mine.length} settles\n${table.map(([name, count]) => `${String(count).padStart(5)}  ${name}`).join('\n')}`,
    );
    expect(failures).toEqual([]);
    expect(SETTLE_DIFFERENCES.filter((one) => !used.has(one))).toEqual([]);
    expect(mine.length).toBeGreaterThanOrEqual(200);
  });
});

/** Of a message only its beginning: the reference repeats what the node said. */
const say = ({ verdict, reason, amount }: Settled): string =>
  [verdict, reason?.split('\n')[0], amount].filter((part) => part !== undefined).join(' ');

function compare(
  one: Case,
  other: Case,
  theirs: Settled,
  own: Settled,
  used: Set<SettleDifference>,
): string | undefined {
  const [ours, its] = [sayAll(one, own), sayAll(other, theirs)];
  if (ours === its) return undefined;
  const listed = SETTLE_DIFFERENCES.find(
    (difference) =>
      difference.cases.test(one.name) &&
      difference.reference.test(its) &&
      difference.ours.test(ours),
  );
  if (listed !== undefined) {
    used.add(listed);
    return undefined;
  }
  if (theirs.verdict === 'throws' && own.reason === one.whenThrown) return undefined;
  return `${one.name}: theirs ${its}, ours ${ours}`;
}

function sayAll({ body }: Case, settled: Settled): string {
  // Some cases have no payload at all.
  const { authorization, permit2Authorization } = { ...(payloadOf(body) as Json | undefined) };
  const { from } = { ...(authorization as object), ...(permit2Authorization as object) } as Json;
  const { payer, hasTransaction } = settled;
  const whose = payer === from ? '' : payer === undefined ? ', no payer' : `, payer ${payer}`;
  return `${say(settled)}${whose}${hasTransaction ? ', a transaction' : ''}`;
}
