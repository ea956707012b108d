import { describe, expect, it } from '@jest/globals';
import { encodeFunctionData, type Hex, keccak256, parseAbi, recoverAddress, toBytes } from 'viem';
import { aPermit2Authorization } from '../../../../test/builders/protocol/payment/accepted-payment.js';
import {
  anAcceptedUpto,
  anUptoAuthorization,
  anUptoPayment,
  readUpto,
  UPTO_LANE,
  UPTO_NOW,
  UPTO_PAYEE,
  UPTO_PAYER,
  UPTO_TOKEN,
  type UptoOptions,
} from '../../../../test/builders/protocol/schemes/upto/upto.js';
import { uintWord } from '../../evm/abi-words.js';
import type { Call } from '../../evm/calls.js';
import type { CallOutcome, ChainReader, Effect, Settlement } from '../../evm/chain-reader.js';
import { DEFAULT_SCHEME_CONTRACTS, UPTO_PERMIT2_PROXY } from '../../evm/contracts.js';
import { uptoDigest } from '../../evm/typed-data.js';
import { UPTO_SETTLE, UPTO_SETTLE_WITH_PERMIT, uptoSettlementCall } from '../../evm/upto-calls.js';
import { decodePayment, encodePayment } from '../../payment/accepted-payment-codec.js';
import { identityOf, termsOf } from '../../payment/identity.js';
import { callOf, transferOf } from '../../payment/payment-facts.js';
import { presentedAuthorizations } from '../presented.js';
import { actionOf, schemeNamed } from '../registry.js';
import type { Verdict } from '../verdict.js';

const STRANGER = `0x${'99'.repeat(20)}`;
const SHAPE = 'unsupported_payload_type';
const REQUIREMENTS = 'invalid_payment_requirements';
const NONCE_BITMAP = '0x4fe02b44';
const ABI = parseAbi([
  'struct TokenPermissions { address token; uint256 amount; }',
  'struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
  'struct Witness { address to; address facilitator; uint256 validAfter; }',
  'struct Permit2612 { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
  'function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(Permit2612 permit2612, Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
]);

interface World {
  readonly effect?: Effect;
  /** Wei of the token that the payer has, and has approved. */
  readonly balance?: bigint;
  readonly allowance?: bigint;
  /** `undefined` where its word cannot be read. */
  readonly isNonceUsed?: boolean | undefined;
  readonly missing?: string;
  readonly lane?: Hex | undefined;
}

function aWorld(world: World = {}): { chain: ChainReader; simulated: Settlement[] } {
  const { effect = { status: 'paid', gasUsed: undefined }, balance = 5000n } = world;
  const { allowance = 5000n, missing } = world;
  const isNonceUsed = 'isNonceUsed' in world ? world.isNonceUsed : false;
  const simulated: Settlement[] = [];
  const word = (value: bigint): CallOutcome => ({
    status: 'returned',
    data: `0x${uintWord(value)}`,
  });
  const call = ({ data }: Call): Promise<CallOutcome> => {
    if (data.startsWith(NONCE_BITMAP)) {
      if (isNonceUsed === undefined) return Promise.resolve({ status: 'returned', data: '0x' });
      return Promise.resolve(word(isNonceUsed ? 1n << 77n : 0n));
    }
    if (data.startsWith('0x70a08231')) return Promise.resolve(word(balance));
    if (data.startsWith('0xdd62ed3e')) return Promise.resolve(word(allowance));
    return Promise.resolve(word(1n));
  };
  const chain: ChainReader = {
    chainId: 56,
    schemeContracts: DEFAULT_SCHEME_CONTRACTS,
    call,
    hasCode: () => Promise.resolve(false),
    isContract: (address) => Promise.resolve(address !== missing),
    newestTime: () => Promise.resolve(BigInt(UPTO_NOW)),
    simulate: (settlement) => {
      simulated.push(settlement);
      return Promise.resolve(effect);
    },
  };
  return { chain, simulated };
}

async function verdictOf(
  options: UptoOptions = {},
  world: World = {},
  scope: 'full' | 'terms' = 'full',
): Promise<{ verdict: Verdict; simulated: readonly Settlement[] }> {
  const { chain, simulated } = aWorld(world);
  const payment = await anUptoPayment(options);
  const address = 'lane' in world ? world.lane : UPTO_LANE;
  const verdict = await actionOf(payment.claim).verify(
    payment,
    payment.claim,
    {
      chain,
      now: UPTO_NOW,
      maxGas: 300_000n,
      walletFactories: new Set(),
      sender: address && { address, gasPriceWei: 5n, balanceWei: 7n },
      recoverSigner: async (hash, signature) => {
        try {
          return (await recoverAddress({ hash, signature })).toLowerCase() as Hex;
        } catch {
          return undefined;
        }
      },
    },
    scope,
  );
  return { verdict, simulated };
}

async function reasonOf(options: UptoOptions = {}, world: World = {}): Promise<string> {
  const { verdict } = await verdictOf(options, world);
  return verdict.isValid ? 'valid' : verdict.reason;
}

describe('the scheme upto', () => {
  describe('on the wire', () => {
    it('has the selectors and the witness of the proxy', () => {
      expect([UPTO_SETTLE, UPTO_SETTLE_WITH_PERMIT]).toEqual(['ff11e7b4', '016c1748']);
      const type = 'Witness(address to,address facilitator,uint256 validAfter)';
      expect(
        keccak256(
          toBytes(
            `PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness)TokenPermissions(address token,uint256 amount)${type}`,
          ),
        ),
      ).toHaveLength(66);
      expect(keccak256(toBytes(type))).toBe(
        '0xd4171c445a74218b01d4fd8af34ff1106580ea1e36ff837e64484bfaa2253b75',
      );
    });

    it('hashes what a wallet signs', async () => {
      const payment = await anUptoPayment();
      const { signature } = payment.claim;
      const authorization = anUptoAuthorization({ signature: signature ?? '0x' });
      const hash = uptoDigest(authorization, 56);
      const signer = await recoverAddress({ hash, signature: authorization.signature });
      expect(signer.toLowerCase()).toBe(UPTO_PAYER);
    });

    it.each(['settle', 'settleWithPermit'] as const)('calls %s with the amount', (functionName) => {
      const r: Hex = `0x${'01'.repeat(32)}`;
      const s: Hex = `0x${'02'.repeat(32)}`;
      const permit2612 = { value: 1000n, deadline: 5n, v: 28, r, s };
      const isSponsored = functionName === 'settleWithPermit';
      const authorization = anUptoAuthorization({
        sponsoredPermit: isSponsored ? permit2612 : undefined,
      });
      const { token, amount, nonce, deadline, from, signature } = authorization;
      const shared = [
        { permitted: { token, amount }, nonce, deadline },
        400n,
        from,
        { to: UPTO_PAYEE, facilitator: UPTO_LANE, validAfter: 0n },
        signature,
      ] as const;
      const data = isSponsored
        ? encodeFunctionData({ abi: ABI, functionName, args: [permit2612, ...shared] })
        : encodeFunctionData({ abi: ABI, functionName, args: shared });
      const call = uptoSettlementCall(authorization, 400n);
      expect(call).toEqual({ to: UPTO_PERMIT2_PROXY, data });
      // Any caller can present it; the amount is always the one that was taken.
      expect(presentedAuthorizations(call.to, call.data, DEFAULT_SCHEME_CONTRACTS)).toEqual([
        { method: 'permit2', token, from, to: UPTO_PAYEE, amount: 400n, nonce },
      ]);
    });

    it('presents nothing at another address', () => {
      const { data } = uptoSettlementCall(anUptoAuthorization(), 1n);
      expect(presentedAuthorizations(UPTO_TOKEN, data, DEFAULT_SCHEME_CONTRACTS)).toEqual([]);
    });
  });

  describe('is parsed', () => {
    it.each<[string, UptoOptions, string]>([
      ['a permit of another shape', { witness: { facilitator: undefined } }, SHAPE],
      ['a number where a text is due', { permit: { nonce: 77 } }, SHAPE],
      ['a malformed facilitator', { witness: { facilitator: '0x1' } }, 'invalid_payload'],
      ['a malformed maximum', { permitted: { amount: '1e3' } }, 'invalid_payload'],
      ['a number as amount', { amount: 400 }, REQUIREMENTS],
      ['a negative amount', { amount: '-1' }, REQUIREMENTS],
      ['a share', { amount: '50%' }, REQUIREMENTS],
      ['a hexadecimal amount', { amount: '0x10' }, REQUIREMENTS],
      ['an amount above uint256', { amount: '9'.repeat(78) }, REQUIREMENTS],
    ])('%s is refused', async (_, options, reason) => {
      expect(await readUpto(options)).toMatchObject({ ok: false, reason });
    });

    it('is not of V1', () => {
      expect(schemeNamed('upto', 1)).toBeUndefined();
    });
  });

  describe('is verified', () => {
    it('with the maximum, from the account that the payer named', async () => {
      const { verdict, simulated } = await verdictOf({ purpose: 'verify' });
      expect(verdict).toMatchObject({ isValid: true, payerHasCode: false });
      expect(simulated).toHaveLength(1);
      expect(simulated[0]).toMatchObject({ amount: 1000n, sender: { address: UPTO_LANE } });
      expect(simulated[0]?.isSenderBound).toBe(true);
    });

    it.each<[string, UptoOptions, World, string]>([
      ['scheme', { accepted: { scheme: 'exact' } }, {}, 'invalid_upto_evm_scheme'],
      ['network', { accepted: { network: 'eip155:97' } }, {}, 'invalid_upto_evm_network_mismatch'],
      ['spender', { permit: { spender: STRANGER } }, {}, 'invalid_permit2_spender'],
      ['payee', { witness: { to: STRANGER } }, {}, 'invalid_permit2_recipient_mismatch'],
      ['facilitator', { witness: { facilitator: STRANGER } }, {}, 'upto_facilitator_mismatch'],
      ['no lane', {}, { lane: undefined }, 'upto_facilitator_mismatch'],
      ['deadline', { permit: { deadline: `${UPTO_NOW + 5}` } }, {}, 'permit2_deadline_expired'],
      ['start', { witness: { validAfter: `${UPTO_NOW + 1}` } }, {}, 'permit2_not_yet_valid'],
      ['less', { amount: '999' }, {}, 'permit2_amount_mismatch'],
      ['more', { amount: '1001' }, {}, 'permit2_amount_mismatch'],
      ['token', { permitted: { token: STRANGER } }, {}, 'permit2_token_mismatch'],
      ['no token', {}, { missing: UPTO_TOKEN }, 'asset_not_deployed_contract'],
      ['signature', { signature: `0x${'11'.repeat(65)}` }, {}, 'invalid_permit2_signature'],
      ['no proxy', {}, { missing: UPTO_PERMIT2_PROXY }, 'permit2_proxy_not_deployed'],
      ['poor', {}, { effect: { status: 'unpaid' }, balance: 999n }, 'permit2_insufficient_balance'],
      [
        'not approved',
        {},
        { effect: { status: 'unpaid' }, allowance: 999n },
        'permit2_allowance_required',
      ],
      ['no cause', {}, { effect: { status: 'unpaid' } }, 'permit2_simulation_failed'],
    ])('refuses: %s', async (_, options, world, reason) => {
      expect(await reasonOf({ purpose: 'verify', ...options }, world)).toBe(reason);
    });

    it('names the first fault in the order of the reference', async () => {
      const faults: [UptoOptions, string][] = [
        [{ accepted: { scheme: 'exact' } }, 'invalid_upto_evm_scheme'],
        [{ permit: { spender: STRANGER } }, 'invalid_permit2_spender'],
        [{ witness: { to: STRANGER } }, 'invalid_permit2_recipient_mismatch'],
        [{ witness: { facilitator: STRANGER } }, 'upto_facilitator_mismatch'],
        [{ permit: { deadline: '1' } }, 'permit2_deadline_expired'],
        [{ witness: { validAfter: `${UPTO_NOW + 1}` } }, 'permit2_not_yet_valid'],
        [{ amount: '1' }, 'permit2_amount_mismatch'],
        [{ permitted: { token: STRANGER } }, 'permit2_token_mismatch'],
        [{ signature: '0x1234' }, 'invalid_permit2_signature'],
      ];
      for (const [index, [, reason]] of faults.entries()) {
        let options: UptoOptions = {};
        for (const [fault] of faults.slice(index)) {
          const permit = { ...options.permit, ...fault.permit };
          const witness = { ...options.witness, ...fault.witness };
          options = { ...options, ...fault, permit, witness };
        }
        expect(await reasonOf({ ...options, purpose: 'verify' })).toBe(reason);
      }
    });
  });

  describe('is settled', () => {
    it('with the amount that was used', async () => {
      const { verdict, simulated } = await verdictOf({ amount: '400' });
      expect(verdict).toMatchObject({ isValid: true });
      const data = simulated[0]?.call.data;
      if (!verdict.isValid) throw new Error(verdict.reason);
      expect(data).toBe(
        uptoSettlementCall(verdict.authorization as ReturnType<typeof anUptoAuthorization>, 400n)
          .data,
      );
    });

    it('although the payer has less than the maximum by now', async () => {
      expect(await reasonOf({ amount: '400' }, { balance: 400n })).toBe('valid');
    });

    it('never above what was signed, and a bad signature is named before that', async () => {
      const above = { amount: '1001' };
      const exceeds = 'invalid_upto_evm_payload_settlement_exceeds_amount';
      expect(await reasonOf(above)).toBe(exceeds);
      const signature: Hex = `0x${'11'.repeat(65)}`;
      const unsigned = { ...above, signature };
      expect(await reasonOf(unsigned)).toBe('invalid_permit2_signature');
      const { verdict, simulated } = await verdictOf(above, {}, 'terms');
      expect([verdict, simulated]).toEqual([expect.objectContaining({ reason: exceeds }), []]);
    });

    it('for nothing: without a simulation, where the nonce is free', async () => {
      const { verdict, simulated } = await verdictOf({ amount: '0' }, { balance: 0n });
      expect(verdict.isValid).toBe(true);
      expect(simulated).toEqual([]);
      for (const isNonceUsed of [true, undefined]) {
        const reason = await reasonOf({ amount: '0' }, { isNonceUsed });
        expect(reason).toBe('permit2_invalid_nonce');
      }
      expect(await reasonOf({ amount: '0', signature: '0x12' })).toBe('invalid_permit2_signature');
    });

    it('not for nothing of nothing: that is what the proxy refuses', async () => {
      const nothing = { amount: '0', permitted: { amount: '0' } };
      const { simulated } = await verdictOf(nothing);
      expect(simulated).toHaveLength(1);
    });

    it('by who was asked for it, whatever became of the lanes since', async () => {
      const { verdict } = await verdictOf({ amount: '400' }, { lane: undefined }, 'terms');
      expect(verdict.isValid).toBe(true);
    });
  });

  describe('is known to the engine', () => {
    it('by the same authorization as a payment of exact, and by other terms', async () => {
      const payment = await anUptoPayment({ amount: '400' });
      const identity = identityOf(payment);
      const { authorizationId, termsTag } = termsOf(56, UPTO_TOKEN, anUptoAuthorization());
      expect(identity).toMatchObject({ authorizationId, termsTag });
      const exact = termsOf(56, UPTO_TOKEN, aPermit2Authorization({ from: UPTO_PAYER }));
      expect(exact.authorizationId).toBe(authorizationId);
      expect(exact.termsTag).not.toBe(termsTag);
      const other = termsOf(56, UPTO_TOKEN, anUptoAuthorization({ facilitator: UPTO_PAYEE }));
      expect(other.termsTag).not.toBe(termsTag);
      // The charged amount is not part of the signed terms.
      const more = identityOf(await anUptoPayment({ amount: '500' }));
      expect(more).toEqual(identity);
    });

    it('is stored and read again whole', () => {
      const payment = anAcceptedUpto();
      expect(decodePayment(encodePayment(payment))).toEqual(payment);
    });

    it('moves what is charged, by a call that only its facilitator may send', () => {
      const payment = anAcceptedUpto();
      const transfer = { asset: UPTO_TOKEN, payer: UPTO_PAYER, payTo: UPTO_PAYEE, amount: 400n };
      expect(transferOf(payment)).toEqual(transfer);
      expect(callOf(payment).data).toContain(uintWord(400));
      const action = actionOf(payment.authorization);
      expect(action.soleSenderOf?.(payment.authorization)).toBe(UPTO_LANE);
      expect(action.mayShare(anUptoAuthorization())).toBe(false);
    });
  });
});
