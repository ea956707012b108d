import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SIGNER } from '../../sandbox/accounts.js';
import { EXACT_PROXY } from '../../sandbox/deploy.js';
import type { Service } from '../../sandbox/service.js';
import { post } from '../support/http.js';
import { permit2Body } from '../support/payments.js';
import { World } from '../support/world.js';
import { allCases, type Case, type Stage } from './cases.js';
import { type Difference, DIFFERENCES } from './differences.js';
import { Reference, type ReferenceAnswer } from './reference.js';
import { setStage } from './stage.js';
import { undeployedCases } from './undeployed-cases.js';
import { uptoCases } from './upto-cases.js';

/** A chain id that V1 of the reference has a name for. */
const CHAIN_ID = 84_532;
const V1_NETWORK = 'base-sepolia';

/** Every reason that verify of the reference can give, except those of the ERC-20 approval extension. */
const EXPECTED_REASONS = [
  'asset_not_deployed_contract',
  'eip2612_asset_mismatch',
  'eip2612_deadline_expired',
  'eip2612_from_mismatch',
  'eip2612_spender_not_permit2',
  'eip6492_factory_not_allowed',
  'invalid_eip2612_extension_format',
  'invalid_exact_evm_authorization_value',
  'invalid_exact_evm_eip3009_not_supported',
  'invalid_exact_evm_insufficient_balance',
  'invalid_exact_evm_missing_eip712_domain',
  'invalid_exact_evm_network_mismatch',
  'invalid_exact_evm_nonce_already_used',
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_authorization_value_mismatch',
  'invalid_exact_evm_recipient_mismatch',
  'invalid_exact_evm_scheme',
  'invalid_exact_evm_signature',
  'invalid_exact_evm_token_name_mismatch',
  'invalid_exact_evm_token_version_mismatch',
  'invalid_exact_evm_transaction_simulation_failed',
  'invalid_permit2_recipient_mismatch',
  'invalid_permit2_signature',
  'invalid_permit2_spender',
  'invalid_upto_evm_network_mismatch',
  'invalid_upto_evm_scheme',
  'permit2_allowance_required',
  'permit2_amount_mismatch',
  'permit2_deadline_expired',
  'permit2_insufficient_balance',
  'permit2_not_yet_valid',
  'permit2_proxy_not_deployed',
  'permit2_simulation_failed',
  'permit2_token_mismatch',
  'unsupported_payload_type',
  'upto_facilitator_mismatch',
];

describe('compared with the reference facilitator on one chain', () => {
  let world: World;
  let service: Service;
  let reference: Reference;
  let stage: Stage;

  beforeAll(async () => {
    world = await World.start({ chainId: CHAIN_ID });
    const { walletFactory } = world;
    service = await world.service({ ERC6492_FACTORIES: walletFactory });
    const { url } = world.anvil;
    reference = new Reference(url, CHAIN_ID, V1_NETWORK, SIGNER.key, [walletFactory]);
    stage = await setStage(world, V1_NETWORK);
  });
  afterAll(() => world.stop());

  async function ours({ body }: Case): Promise<ReferenceAnswer> {
    const { status, body: answer } = await post(`${service.url}/verify`, body);
    expect(status).toBe(200);
    return {
      verdict: answer['isValid'] === true ? 'valid' : 'invalid',
      reason: answer['invalidReason'] as string | undefined,
      payer: answer['payer'] as string | undefined,
    };
  }

  it('gives the same verdict, reason and payer', async () => {
    const cases = [
      ...(await allCases(stage)),
      ...(await uptoCases(stage)),
      ...(await undeployedCases(stage)),
    ];
    const counts = new Map<string, number>();
    const failures: string[] = [];
    const used = new Set<Difference>();
    const compareOne = async (one: Case): Promise<void> => {
      const theirs = await reference.verify(one.body);
      const own = await ours(one);
      const reason = own.reason ?? 'valid';
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
      const failure = compare(one, theirs, own, used);
      if (failure !== undefined) failures.push(failure);
    };
    for (const one of cases) await compareOne(one);

    // A proxy that answers nothing any more: last, for it spoils every Permit2 payment.
    const { payer, payTo } = stage;
    const body = await permit2Body({ payer, chainId: CHAIN_ID, token: world.coin, payTo });
    await world.client.setCode({ address: EXACT_PROXY, bytecode: '0x60006000fd' });
    await compareOne({ name: 'permit2: proxy that reverts', body });

    const table = [...counts].sort(([a], [b]) => a.localeCompare(b));
    console.log(
      `${cases.length + 1} payments\n${table.map(([name, count]) => `${String(count).padStart(5)}  ${name}`).join('\n')}`,
    );
    expect(failures).toEqual([]);
    expect(EXPECTED_REASONS.filter((reason) => !counts.has(reason))).toEqual([]);
    expect(DIFFERENCES.filter((difference) => !used.has(difference))).toEqual([]);
    expect(cases.length).toBeGreaterThanOrEqual(150);
  });
});

const say = ({ verdict, reason }: ReferenceAnswer): string =>
  reason === undefined ? verdict : `${verdict} ${reason}`;

function compare(
  one: Case,
  theirs: ReferenceAnswer,
  own: ReferenceAnswer,
  used: Set<Difference>,
): string | undefined {
  const difference = DIFFERENCES.filter(({ cases }) => cases.test(one.name)).at(-1);
  if (difference !== undefined) {
    used.add(difference);
    const isAsListed = difference.ours.startsWith(say(own));
    const isReferenceAsListed =
      difference.reference === '*' || difference.reference.startsWith(say(theirs));
    const differs = say(theirs) !== say(own) || theirs.payer !== own.payer;
    if (isAsListed && isReferenceAsListed && (differs || difference.reference === '*')) {
      return undefined;
    }
    return `${one.name}: listed as a difference, but theirs ${say(theirs)}, ours ${say(own)}`;
  }
  if (theirs.verdict === 'throws') {
    return own.reason === one.whenThrown
      ? undefined
      : `${one.name}: theirs throws, ours ${say(own)}, expected ${one.whenThrown ?? 'no throw'}`;
  }
  return say(theirs) === say(own) && theirs.payer === own.payer
    ? undefined
    : `${one.name}: theirs ${say(theirs)} ${theirs.payer ?? ''}, ours ${say(own)} ${own.payer ?? ''}`;
}
