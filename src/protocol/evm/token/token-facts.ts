import type { Address } from 'viem';
import { CodeUnresponsiveError } from '../../errors.js';
import { isShortText, TOKEN_NAME_MAX, TOKEN_VERSION_MAX } from '../../payment/wire-values.js';
import { decodeBoolean, decodeText, decodeUint } from '../call-results.js';
import { authorizationStateCall, type Call, nameCall, versionCall } from '../calls.js';
import type { CallOutcome, ChainReader } from '../chain-reader.js';
import {
  domainCandidates,
  type DomainName,
  provenDomain,
  readEip712Domain,
  type TokenPlace,
} from './token-domain.js';
import {
  DECIMALS,
  DOMAIN_SEPARATOR,
  EIP712_DOMAIN,
  noncesCall,
  permitCall,
  plainCall,
  SYMBOL,
  transferCall,
  type TrialSigner,
  UNKNOWN_FUNCTION,
} from './token-trials.js';

/** `unclear`: neither proved nor excluded. */
export type Support = 'yes' | 'no' | 'unclear';

/** The properties of a token, as reported by it and as tested. */
export interface TokenFacts {
  readonly name: string | undefined;
  readonly symbol: string | undefined;
  /** The result of `version()`; a token may have a domain version without it. */
  readonly version: string | undefined;
  readonly decimals: number | undefined;
  /** The domain of its signatures, where it was determined. */
  readonly domain: DomainName | undefined;
  /** EIP-3009 by the two overloads of `transferWithAuthorization`. Contract wallets need the one with bytes. */
  readonly eip3009: { readonly vrs: Support; readonly bytes: Support };
  /** `permit` of EIP-2612: an approval by signature. */
  readonly eip2612: Support;
}

export type TokenReader = Pick<ChainReader, 'chainId' | 'call'>;

/** Twice the gas of a transfer by signature of a heavy token behind a proxy. */
const TRIAL_GAS = 300_000n;
/** ERC-20 stores decimals in a byte; no amount of 256 bits has more digits. */
const DECIMALS_MAX = 77n;
const SYMBOL_MAX = 64;

/**
 * Reads a token and tests its functions: a transfer and a permit of zero, signed by a key that owns nothing and is
 * dropped. Nothing is sent.
 *
 * @param hints - reported domains of the token.
 * @throws ChainUnavailableError
 */
export async function readTokenFacts(
  chain: TokenReader,
  token: Address,
  signer: TrialSigner,
  hints: readonly DomainName[] = [],
): Promise<TokenFacts> {
  const ask = (call: Call): Promise<CallOutcome> => askOf(chain, call);
  const plain = (selector: string): Promise<CallOutcome> => ask(plainCall(token, selector));
  const [name, symbol, version, decimals, separator, ownDomain, unknown, state, nonce] =
    await Promise.all([
      ask(nameCall(token)),
      plain(SYMBOL),
      ask(versionCall(token)),
      plain(DECIMALS),
      plain(DOMAIN_SEPARATOR),
      plain(EIP712_DOMAIN),
      plain(UNKNOWN_FUNCTION),
      ask(authorizationStateCall(token, signer.address, signer.nonce)),
      ask(noncesCall(token, signer.address)),
    ]);
  const stated = {
    name: shortText(decodeText(name), TOKEN_NAME_MAX),
    version: shortText(decodeText(version), TOKEN_VERSION_MAX),
  };
  const place = { chainId: chain.chainId, token };
  const candidates = domainCandidates(stated, readEip712Domain(ownDomain, place), hints);
  const proven = provenDomain(candidates, separator, place);
  const trial = new Trial(ask, unknown, { ...place, ...(proven ?? candidates[0] ?? NO_NAME) });
  const permitNonce = decodeUint(nonce);
  const [eip3009, eip2612] = await Promise.all([
    // Without a record of nonces a token does not support EIP-3009, whatever else it has.
    decodeBoolean(state) === undefined ? bothAlike(absence(state)) : trial.transfers(signer),
    permitNonce === undefined ? absence(nonce) : trial.permit(signer, permitNonce),
  ]);
  return {
    ...stated,
    symbol: shortText(decodeText(symbol), SYMBOL_MAX),
    decimals: decimalsOf(decimals),
    domain: proven ?? (trial.hasWorked ? candidates[0] : undefined),
    eip3009,
    eip2612,
  };
}

const NO_NAME: DomainName = { name: '', version: '' };

/** Tests the signed functions of one token. */
class Trial {
  /** Whether a signature under this domain was accepted, and a wrong one was refused. */
  hasWorked = false;

  constructor(
    private readonly ask: (call: Call) => Promise<CallOutcome>,
    /** The answer of the token to an unknown function. */
    private readonly unknown: CallOutcome,
    private readonly domain: DomainName & TokenPlace,
  ) {}

  async transfers(signer: TrialSigner): Promise<TokenFacts['eip3009']> {
    const [vrs, bytes] = await Promise.all([
      this.#try((isGood) => transferCall('vrs', signer, this.domain, { isGood })),
      this.#try((isGood) => transferCall('bytes', signer, this.domain, { isGood })),
    ]);
    // A token without revert reasons refuses known and unknown functions alike. Support is visible only if one
    // overload works.
    return vrs === 'no' && bytes === 'no' ? bothAlike('unclear') : { vrs, bytes };
  }

  permit(signer: TrialSigner, nonce: bigint): Promise<Support> {
    return this.#try((isGood) => permitCall(signer, this.domain, nonce, isGood));
  }

  async #try(callOf: (isGood: boolean) => Promise<Call>): Promise<Support> {
    const [good, bad] = await Promise.all(
      [true, false].map(async (isGood) => this.ask(await callOf(isGood))),
    );
    if (good?.status === 'returned' && bad !== undefined && bad.status !== 'returned') {
      this.hasWorked = true;
      return 'yes';
    }
    // The token accepts any signature, or answers any call.
    if (good?.status !== 'reverted') return 'unclear';
    if (this.unknown.status !== 'reverted' || this.unknown.data === undefined) return 'unclear';
    // An existing function refuses with its own reason.
    return good.data === this.unknown.data ? 'no' : 'yes';
  }
}

const bothAlike = (support: Support): TokenFacts['eip3009'] => ({ vrs: support, bytes: support });

/** The support of a function whose call did not return the required value. */
function absence({ status }: CallOutcome): Support {
  return status === 'halted' ? 'unclear' : 'no';
}

async function askOf(chain: TokenReader, call: Call): Promise<CallOutcome> {
  try {
    return await chain.call(call, TRIAL_GAS);
  } catch (error) {
    // The node answers other calls, so the code of this token does not finish.
    if (error instanceof CodeUnresponsiveError) return { status: 'halted' };
    throw error;
  }
}

function shortText(text: string | undefined, most: number): string | undefined {
  return isShortText(text, most) ? text : undefined;
}

function decimalsOf(outcome: CallOutcome): number | undefined {
  const value = decodeUint(outcome);
  return value !== undefined && value <= DECIMALS_MAX ? Number(value) : undefined;
}

/** Whether a token can be paid by EIP-3009; contract wallets need the overload with bytes. */
export function speaksEip3009({ eip3009 }: TokenFacts): Support {
  if (eip3009.vrs === 'yes' || eip3009.bytes === 'yes') return 'yes';
  return eip3009.vrs === 'no' && eip3009.bytes === 'no' ? 'no' : 'unclear';
}
