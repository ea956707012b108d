import { describe, expect, it } from '@jest/globals';
import { hashTypedData, recoverAddress } from 'viem';
import {
  anOffer,
  ASSET,
  DOMAIN,
  PAYEE,
  v1Accept,
  v2Accept,
} from '../../../test/builders/facilitator/doctor/doctor.js';
import { DEFAULT_SCHEME_CONTRACTS, PERMIT2 } from '../../protocol/evm/contracts.js';
import { newTrialSigner } from '../../protocol/evm/token/token-trials.js';
import { parsePayment } from '../../protocol/payment/parse-payment.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import type { Offer } from './checks/offer.js';
import { dryRun } from './dry-run.js';
import { trialPayment } from './trial-payment.js';

const SIGNER = newTrialSigner();
const FACILITATOR = `0x${'fa'.repeat(20)}`;
const NOW = 1_800_000_000;
const CONTRACTS = DEFAULT_SCHEME_CONTRACTS;
const v1: Partial<Offer> = { version: 1, sent: v1Accept(), amountField: 'maxAmountRequired' };
const permit2Extra = { assetTransferMethod: 'permit2' };
const permit2: Partial<Offer> = {
  method: 'permit2',
  extra: permit2Extra,
  sent: v2Accept({ extra: permit2Extra }),
};
const uptoExtra = { ...permit2Extra, facilitatorAddress: FACILITATOR };
const upto: Partial<Offer> = {
  method: 'permit2',
  scheme: 'upto',
  extra: uptoExtra,
  sent: v2Accept({ scheme: 'upto', extra: uptoExtra }),
};

async function read(offer: Offer): Promise<Payment> {
  const envelope = await trialPayment(offer, SIGNER, CONTRACTS, NOW);
  const parsed = parsePayment(envelope, [offer.version], () => true, 'verify');
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.payment;
}

const TRANSFER = {
  TransferWithAuthorization: [
    ...['from', 'to'].map((name) => ({ name, type: 'address' })),
    ...['value', 'validAfter', 'validBefore'].map((name) => ({ name, type: 'uint256' })),
    { name: 'nonce', type: 'bytes32' },
  ],
};
const WITNESSED = (witness: readonly { readonly name: string; readonly type: string }[]) => ({
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: witness,
});

describe('a payment on trial', () => {
  it.each<[string, Partial<Offer>]>([
    ['version 2', {}],
    ['version 1', v1],
  ])('is signed as a buyer signs for EIP-3009: %s', async (_, more) => {
    const { claim } = await read(anOffer(more));
    const hash = hashTypedData({
      domain: { ...DOMAIN, chainId: 56, verifyingContract: ASSET },
      types: TRANSFER,
      primaryType: 'TransferWithAuthorization',
      message: { ...claim, to: PAYEE },
    });
    expect(claim).toMatchObject({ to: PAYEE, value: 10n ** 17n, validBefore: BigInt(NOW + 300) });
    const signer = await recoverAddress({ hash, signature: claim.signature ?? '0x' });
    expect(signer.toLowerCase()).toBe(SIGNER.address);
  });

  it.each<[string, Partial<Offer>, object, string[]]>([
    ['exact', permit2, { spender: CONTRACTS.permit2Proxy }, ['to', 'validAfter']],
    [
      'upto',
      upto,
      { spender: CONTRACTS.uptoProxy, facilitator: FACILITATOR },
      ['to', 'facilitator', 'validAfter'],
    ],
  ])('is signed as a buyer signs for Permit2: %s', async (_, more, expected, fields) => {
    const { claim } = await read(anOffer(more));
    expect(claim).toMatchObject({ ...expected, token: ASSET, witnessTo: PAYEE });
    const { amount, spender, nonce, deadline } = claim as never as Record<string, bigint>;
    const hash = hashTypedData({
      domain: { name: 'Permit2', chainId: 56, verifyingContract: PERMIT2 },
      types: WITNESSED(
        fields.map((name) => ({ name, type: name === 'validAfter' ? 'uint256' : 'address' })),
      ),
      primaryType: 'PermitWitnessTransferFrom',
      message: {
        permitted: { token: ASSET, amount },
        spender,
        nonce,
        deadline,
        witness: { to: PAYEE, facilitator: FACILITATOR, validAfter: 0n },
      },
    });
    const signer = await recoverAddress({ hash, signature: claim.signature ?? '0x' });
    expect(signer.toLowerCase()).toBe(SIGNER.address);
  });

  it('is good for an hour at most, whatever a seller asks for', async () => {
    const { claim } = await read(anOffer({ maxTimeoutSeconds: Number.MAX_VALUE }));
    expect(claim).toMatchObject({ validBefore: BigInt(NOW + 3600) });
  });
});

const run = (answer: Reason | undefined, more: Partial<Offer> = {}) =>
  dryRun(anOffer(more), () => Promise.resolve(answer), {
    signer: SIGNER,
    contracts: CONTRACTS,
    now: NOW,
  });

describe('a dry run', () => {
  it.each<[Reason, Partial<Offer>]>([
    ['invalid_exact_evm_insufficient_balance', {}],
    ['invalid_exact_evm_insufficient_balance', v1],
    ['permit2_insufficient_balance', permit2],
    ['permit2_allowance_required', permit2],
    ['permit2_allowance_required', upto],
  ])('is good where it ends with %s', async (reason, more) => {
    expect(await run(reason, more)).toBeUndefined();
  });

  it.each<[Reason, string]>([
    ['invalid_exact_evm_signature', 'error'],
    ['invalid_exact_evm_token_name_mismatch', 'error'],
    ['amount_too_small', 'error'],
    ['asset_not_allowed', 'error'],
    ['payee_not_allowed', 'error'],
    ['network_unavailable', 'warning'],
    ['unexpected_verify_error', 'warning'],
  ])('tells of %s', async (reason, severity) => {
    expect(await run(reason)).toMatchObject({
      code: 'verify_refuses',
      severity,
      got: `"${reason}"`,
    });
  });

  it('tells of a token that lets everybody pay', async () => {
    expect(await run(undefined)).toMatchObject({ code: 'everybody_can_pay', severity: 'error' });
  });

  it('tells of what does not parse, and judges nothing then', async () => {
    const finding = await dryRun(
      anOffer({ sent: v2Accept({ scheme: 'other' }) }),
      () => Promise.reject(new Error('judged')),
      { signer: SIGNER, contracts: CONTRACTS, now: NOW },
    );
    expect(finding).toMatchObject({ got: '"unsupported_scheme"' });
  });
});
