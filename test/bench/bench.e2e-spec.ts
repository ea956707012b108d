import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { beginAudit } from '../../bench/support/chain-audit.js';
import { forgeriesTaken } from '../../bench/support/forgeries.js';
import { type Answered, runLoad, settleProblem, verifyProblem } from '../../bench/support/load.js';
import {
  BenchStage,
  OUR_SIGNER,
  REFERENCE_SIGNER,
  type Server,
} from '../../bench/support/stage.js';
import { VoucherFactory } from '../../bench/support/voucher-factory.js';

const COUNT = 24;
const KINDS = ['eip3009', 'permit2', 'v1'] as const;

/** The benches themselves take minutes; this is what they stand on. */
describe('the stage of the benches', () => {
  let stage: BenchStage;
  let sides: readonly {
    readonly name: string;
    readonly server: Server;
    readonly signer: typeof OUR_SIGNER;
  }[];

  beforeAll(async () => {
    stage = await BenchStage.build('test', { payers: 20, payees: 5 });
    sides = [
      { name: 'ours', server: await stage.ours(), signer: OUR_SIGNER },
      { name: 'reference', server: await stage.reference(), signer: REFERENCE_SIGNER },
    ];
  });
  afterAll(() => stage.stop());

  it.each(KINDS)('has both facilitators find every %s payment good', async (kind) => {
    for (const { name, server } of sides) {
      const bodies = stage.factory.make(kind, COUNT);
      const load = { url: server.url, path: '/verify', concurrency: 8, bodies };
      const result = await runLoad({ ...load, problemOf: verifyProblem });
      expect([name, result.completed, result.failures]).toEqual([name, COUNT, {}]);
    }
  });

  it('has both facilitators find every voucher good, and none that is forged', async () => {
    const urls = Object.fromEntries(sides.map(({ name, server }) => [name, server.url]));
    const vouchers = await VoucherFactory.open(stage.factory, urls['ours'] ?? '');
    for (const [name, url] of Object.entries(urls)) {
      const load = { url, path: '/verify', concurrency: 8, bodies: vouchers.make(COUNT) };
      const result = await runLoad({ ...load, problemOf: verifyProblem });
      expect([name, result.completed, result.failures]).toEqual([name, COUNT, {}]);
    }
    expect(await forgeriesTaken(urls, vouchers.make(4))).toEqual([]);
  });

  const settleWith = async ({ server, signer }: (typeof sides)[number]) => {
    const audit = await beginAudit(stage.client, stage.factory, 'eip3009', [signer.address]);
    const answers: Answered[] = [];
    const result = await runLoad({
      url: server.url,
      path: '/settle',
      concurrency: 8,
      problemOf: settleProblem,
      bodies: stage.factory.make('eip3009', COUNT),
      onAnswer: (answer) => answers.push(answer),
    });
    return { result, answers, audit };
  };

  it('checks on chain what was settled, and notices a success that nobody told', async () => {
    const [ours, reference] = sides;
    if (ours === undefined || reference === undefined) throw new Error('a side is missing');
    const { result, answers, audit } = await settleWith(ours);
    expect([result.completed, result.failures]).toEqual([COUNT, {}]);
    expect(await audit.findings(answers)).toEqual([]);
    expect(await audit.findings(answers.slice(1))).toContain(
      `${COUNT - 1} successes were told, ${COUNT} payments landed`,
    );
    // The reference loses some now and then; that is counted, and no reason to stop.
    expect((await settleWith(reference)).result.completed).toBeGreaterThan(COUNT / 2);
  });

  it('counts a refusal as a failure, with its reason', async () => {
    const [ours] = sides;
    const [body = ''] = stage.factory.make('eip3009', 1);
    const load = { url: ours?.server.url ?? '', path: '/verify', concurrency: 1 };
    const bodies = [body.replaceAll('"amount":"1000"', '"amount":"1001"')];
    const result = await runLoad({ ...load, bodies, problemOf: verifyProblem });
    expect(result).toMatchObject({
      completed: 0,
      failed: 1,
      failures: { invalid_exact_evm_payload_authorization_value_mismatch: 1 },
    });
  });
});
