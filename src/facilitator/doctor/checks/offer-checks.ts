import { formatUnits, zeroAddress } from 'viem';
import { contractsOf, type SchemeContracts } from '../../../protocol/evm/contracts.js';
import { isSameDomain } from '../../../protocol/evm/token/token-domain.js';
import { speaksEip3009, type TokenFacts } from '../../../protocol/evm/token/token-facts.js';
import type { DoctorFinding, Severity } from '../dto/doctor-report.response.js';
import { about, shown } from '../finding.js';
import type { Offer } from './offer.js';

/** The kind of account at the payee's address. */
export type PayeeKind =
  /** An account with a key, also one with delegated code (EIP-7702). */
  | 'account'
  /** A contract that verifies signatures (ERC-1271): a smart wallet. */
  | 'wallet'
  | 'contract';

/** The facts on chain about one offer. */
export interface OfferFacts {
  /** `undefined` where there is no contract at the asset's address. */
  readonly token: TokenFacts | undefined;
  readonly payee: PayeeKind;
  /** Whether the token refuses a transfer of zero to the payee; `undefined` where that was not determined. */
  readonly isPayeeRefused: boolean | undefined;
  readonly contracts: SchemeContracts;
}

/** A made-up address for a chain's own coin. */
const NATIVE = `0x${'e'.repeat(40)}`;
/** Seconds: a verify wants six, a settle takes some blocks, and clocks differ. */
const TIMEOUT_LEAST = 10;
const TIMEOUT_GOOD = 60;
/** In whole tokens. A price outside this range is more likely a mistake in the decimals. */
const DUST_DECIMALS = 6;
const FORTUNE = 100_000n;

/** The errors of one offer, compared with the chain. */
export function offerFindings(offer: Offer, facts: OfferFacts): readonly DoctorFinding[] {
  const at = new Place(offer);
  checkTimeout(offer, at);
  checkFlow(offer, at);
  checkScheme(offer, at);
  checkPayee(offer, facts, at);
  if (facts.token === undefined) checkMissing(offer, at);
  else {
    checkToken(offer, facts.token, at);
    checkAmount(offer, facts.token, at);
  }
  return at.findings;
}

class Place {
  readonly findings: DoctorFinding[] = [];

  constructor(private readonly offer: Offer) {}

  add(
    [severity, code]: readonly [Severity, string],
    field: string,
    {
      expected,
      got,
      fix,
    }: { readonly expected: string; readonly got: unknown; readonly fix: string },
  ): void {
    const path = `${this.offer.path}.${field}`;
    this.findings.push(about(code, severity, { path, expected, got, fix }));
  }
}

function checkTimeout({ maxTimeoutSeconds: got }: Offer, at: Place): void {
  if (got >= TIMEOUT_GOOD) return;
  const severity = got < TIMEOUT_LEAST ? 'error' : 'warning';
  at.add([severity, 'timeout_too_short'], 'maxTimeoutSeconds', {
    expected: `at least ${TIMEOUT_GOOD}, better 300`,
    got,
    fix: 'The signature expires after this time. Verify, your handler, the settle and clock differences have to fit in.',
  });
}

function checkFlow({ extra }: Offer, at: Place): void {
  const got = extra['paymentFlow'];
  const known = [undefined, null, 'authorization', 'upfront', 'escrow'];
  if (known.includes(got as string | undefined)) {
    if (got !== 'escrow') return;
    at.add(['error', 'flow_not_served'], 'extra.paymentFlow', {
      expected: 'authorization or upfront',
      got,
      fix: 'This facilitator holds no money in escrow.',
    });
    return;
  }
  at.add(['error', 'flow_unknown'], 'extra.paymentFlow', {
    expected: 'authorization, upfront or escrow',
    got,
    fix: 'Clients drop an offer with another flow. Leave it out.',
  });
}

function checkScheme({ scheme, extra }: Offer, at: Place): void {
  if (scheme !== 'upto' || typeof extra['facilitatorAddress'] === 'string') return;
  at.add(['error', 'facilitator_address_missing'], 'extra.facilitatorAddress', {
    expected: 'an account that /supported names for this network',
    got: extra['facilitatorAddress'],
    fix: 'Use the stock server of the scheme: it reads the address from the facilitator at its start.',
  });
}

function checkPayee({ payTo, asset }: Offer, facts: OfferFacts, at: Place): void {
  const fault = (code: string, fix: string, severity: Severity = 'error'): void => {
    const expected = 'an account of yours that can move the token';
    at.add([severity, code], 'payTo', { expected, got: payTo, fix });
  };
  const contract = contractsOf(facts.contracts).find(([, address]) => address === payTo);
  if (payTo === zeroAddress)
    fault('pays_nobody', 'Name your address: a payment to the zero address is lost.');
  else if (payTo === asset)
    fault('pays_the_token', 'Name your address: the token contract cannot spend what it receives.');
  else if (contract !== undefined) {
    fault(
      'pays_a_contract_of_x402',
      `Name your address: this is ${contract[0]}, where anybody may take it.`,
    );
  } else if (facts.isPayeeRefused === true) {
    fault(
      'payee_refused_by_token',
      'Name another address: the token refuses transfers to this one.',
    );
  } else if (facts.payee === 'contract') {
    const fix =
      'Make sure that this contract can move the token. It does not verify signatures as contract wallets do (ERC-1271).';
    fault('pays_a_contract', fix, 'warning');
  }
}

function checkMissing({ asset }: Offer, at: Place): void {
  const isNative = asset === zeroAddress || asset === NATIVE;
  at.add(['error', isNative ? 'asset_is_native' : 'asset_is_no_contract'], 'asset', {
    expected: 'a token (ERC-20) on this network',
    got: asset,
    fix: isNative
      ? 'The native coin of a chain has no payment by signature. Name a token.'
      : 'There is no contract at this address on this network. Compare the network: the same token has other addresses elsewhere.',
  });
}

function checkToken(offer: Offer, token: TokenFacts, at: Place): void {
  if (offer.method !== 'eip3009') return;
  const speaks = speaksEip3009(token);
  if (speaks === 'no') {
    at.add(['error', 'token_without_eip3009'], 'extra.assetTransferMethod', {
      expected: '"permit2": the token has no transfer by signature (EIP-3009)',
      got: offer.extra['assetTransferMethod'],
      fix:
        offer.version === 1
          ? 'Version 1 needs EIP-3009: name another token, or offer this one in version 2.'
          : 'Add assetTransferMethod: "permit2" to extra. Buyers approve Permit2 once.',
    });
    return;
  }
  checkDomain(offer, token, at);
  if (token.eip3009.bytes === 'no') {
    at.add(['note', 'no_contract_wallets'], 'asset', {
      expected: 'transferWithAuthorization with a signature as bytes, for contract wallets',
      got: token.symbol ?? offer.asset,
      fix: 'Buyers with a key can pay. Contract wallets cannot pay with this token.',
    });
  }
}

function checkDomain({ extra }: Offer, { domain, name, version }: TokenFacts, at: Place): void {
  const own = domain ?? { name, version };
  for (const field of ['name', 'version'] as const) {
    const got = extra[field];
    const expected = own[field];
    const isMissing = typeof got !== 'string' || got === '';
    // A domain that could not be read is no reason to refuse another name.
    if (!isMissing && (domain === undefined || got === expected)) continue;
    at.add(['error', isMissing ? `${field}_missing` : `${field}_differs`], `extra.${field}`, {
      expected:
        expected === undefined ? `the ${field} of the token’s EIP-712 domain` : shown(expected),
      got,
      fix: 'Buyers sign for this name and version, and the token checks them to the letter.',
    });
  }
}

/** @returns whether the amount is plausible as a price in this token. */
function checkAmount({ amount, amountField }: Offer, token: TokenFacts, at: Place): void {
  const { decimals } = token;
  if (amount === 0n) {
    at.add(['warning', 'costs_nothing'], amountField, {
      expected: 'more than 0',
      got: amount,
      fix: 'A free resource needs no payment.',
    });
    return;
  }
  if (decimals === undefined) {
    at.add(['warning', 'decimals_unknown'], 'asset', {
      expected: 'a token with decimals()',
      got: token.symbol,
      fix: 'Check that it is a token (ERC-20): wallets cannot show the price.',
    });
    return;
  }
  const symbol = token.symbol === undefined ? 'of the token' : shown(token.symbol);
  const price = `${formatUnits(amount, decimals)} ${symbol}`;
  const isDust = decimals > DUST_DECIMALS && amount < 10n ** BigInt(decimals - DUST_DECIMALS);
  const isFortune = amount > FORTUNE * 10n ** BigInt(decimals);
  if (!isDust && !isFortune) return;
  const meant = isDust ? DUST_DECIMALS : 18;
  at.add(['warning', isDust ? 'amount_looks_small' : 'amount_looks_large'], amountField, {
    expected: `atomic units of a token with ${decimals} decimals`,
    got: amount,
    fix: `This is ${price}. With ${meant} decimals it would be ${formatUnits(amount, meant)}: were these decimals meant?`,
  });
}

/** Whether the offer names the EIP-712 domain of the token, so that a permit of the token can be signed. */
export function isDomainOf(offer: Offer, { domain }: TokenFacts): boolean | undefined {
  const { name, version } = offer.extra;
  if (domain === undefined) return undefined;
  if (typeof name !== 'string' || typeof version !== 'string') return false;
  return isSameDomain(domain, { name, version });
}
