import { type Address, decodeAbiParameters, parseAbiParameters } from 'viem';
import { isShortText, TOKEN_NAME_MAX, TOKEN_VERSION_MAX } from '../../payment/wire-values.js';
import type { CallOutcome } from '../chain-reader.js';
import { computeTokenSeparator } from '../typed-data.js';

/** The name and version of a token in the EIP-712 domain of its signatures. */
export interface DomainName {
  readonly name: string;
  readonly version: string;
}

export interface TokenPlace {
  readonly chainId: number;
  readonly token: Address;
}

/** Versions to try for tokens without a readable one. */
const USUAL_VERSIONS = ['1', '2'];
/** Bits for name, version, chain and contract, and none for a salt (EIP-5267). */
const USUAL_FIELDS = '0x0f';
const EIP5267 = parseAbiParameters(
  'bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions',
);

/** The result of `eip712Domain()`, if it is the domain of this token. */
export function readEip712Domain(
  outcome: CallOutcome,
  { chainId, token }: TokenPlace,
): DomainName | undefined {
  if (outcome.status !== 'returned') return undefined;
  try {
    const [fields, name, version, ownChainId, contract] = decodeAbiParameters(
      EIP5267,
      outcome.data,
    );
    const isOwn = ownChainId === BigInt(chainId) && contract.toLowerCase() === token;
    return isOwn && fields === USUAL_FIELDS && isShort({ name, version })
      ? { name, version }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Domains a token may have, the likeliest first. */
export function domainCandidates(
  stated: { readonly name: string | undefined; readonly version: string | undefined },
  own: DomainName | undefined,
  hints: readonly DomainName[],
): readonly DomainName[] {
  const versions =
    stated.version === undefined ? USUAL_VERSIONS : [stated.version, ...USUAL_VERSIONS];
  const names = stated.name === undefined ? [] : [stated.name];
  const guesses = names.flatMap((name) => versions.map((version) => ({ name, version })));
  const all = [...(own === undefined ? [] : [own]), ...hints.filter(isShort), ...guesses];
  return all.filter((one, index) => all.findIndex((other) => isSameDomain(one, other)) === index);
}

/** The candidate whose separator equals the one of the token. */
export function provenDomain(
  candidates: readonly DomainName[],
  separator: CallOutcome,
  place: TokenPlace,
): DomainName | undefined {
  if (separator.status !== 'returned') return undefined;
  const word = separator.data.slice(2);
  return candidates.find((candidate) => computeTokenSeparator({ ...candidate, ...place }) === word);
}

export function isSameDomain(one: DomainName, other: DomainName): boolean {
  return one.name === other.name && one.version === other.version;
}

function isShort({ name, version }: DomainName): boolean {
  return isShortText(name, TOKEN_NAME_MAX) && isShortText(version, TOKEN_VERSION_MAX);
}
