import { readOptionalObject } from '../../../protocol/payment/wire-values.js';
import { allSchemes } from '../../../protocol/schemes/registry.js';
import { defaultAssetDecimals } from '../default-assets.js';
import { about, type DoctorFinding, shown } from '../finding.js';
import type { Terms } from '../terms.js';
import type { Offer } from './offer.js';
import { isDomainOf, type OfferFacts } from './offer-checks.js';

const PERMIT = 'eip2612GasSponsoring';
const APPROVAL = 'erc20ApprovalGasSponsoring';
/** Extensions by which a facilitator acts; of others it does not matter whether it knows them. */
const ACTED_ON = [PERMIT, APPROVAL];

/** An offer and what the chain says of it. */
export interface JudgedOffer {
  readonly offer: Offer;
  readonly facts: OfferFacts;
}

/** The errors of the fields beside the offers. */
export function termsFindings(
  terms: Terms,
  judged: readonly JudgedOffer[],
): readonly DoctorFinding[] {
  const root = terms.place === 'header' ? 'terms' : 'body';
  return [
    ...(terms.version === 2 ? extensionFindings(terms, root, judged) : []),
    ...spendingFindings(
      judged.map(({ offer }) => offer),
      root,
    ),
  ];
}

function extensionFindings(
  { sent }: Terms,
  root: string,
  judged: readonly JudgedOffer[],
): readonly DoctorFinding[] {
  const declared = Object.keys(readOptionalObject(sent['extensions']) ?? {});
  const served = allSchemes().flatMap(({ extensions }) => extensions);
  const findings = ACTED_ON.filter((key) => declared.includes(key) && !served.includes(key)).map(
    (key) =>
      about('extension_not_served', 'warning', {
        path: `${root}.extensions.${key}`,
        expected: `one of ${served.join(', ')}`,
        got: key,
        fix: 'Take it out: buyers sign for it, and this facilitator does not act on it.',
      }),
  );
  const byPermit2 = judged.filter(({ offer }) => offer.method === 'permit2');
  if (declared.includes(PERMIT)) {
    findings.push(...byPermit2.flatMap((one) => permitFinding(one, root, declared) ?? []));
  }
  return findings;
}

/**
 * A stock client that is offered a sponsored permit signs one: it asks the token for its nonce first, and
 * fails where the token has none. Then it never comes to the other sponsoring.
 */
function permitFinding(
  { offer, facts }: JudgedOffer,
  root: string,
  declared: readonly string[],
): DoctorFinding | undefined {
  const { token } = facts;
  if (token === undefined) return undefined;
  const { name, version } = offer.extra;
  const path = `${root}.extensions.${PERMIT}`;
  const got = `declared, for ${shown(token.symbol ?? offer.asset)}`;
  const isNamed = typeof name === 'string' && typeof version === 'string';
  if (token.eip2612 === 'no') {
    // Without name and version the client does not try.
    if (!isNamed) return useless(path, got);
    const isBoth = declared.includes(APPROVAL);
    return about(isBoth ? 'both_gas_sponsorings' : 'permit_of_token_without', 'error', {
      path,
      expected: 'declared only for tokens with permit (EIP-2612)',
      got,
      fix: isBoth
        ? `Declare ${APPROVAL} alone: stock clients try the permit first, which fails with this token.`
        : 'Remove the extension for this token: stock clients fail when they read the permit nonce.',
    });
  }
  if (isNamed && isDomainOf(offer, token) !== false) return undefined;
  return about('permit_without_domain', 'error', {
    path: `${offer.path}.extra`,
    expected:
      token.domain === undefined
        ? 'name and version of the token’s EIP-712 domain'
        : `name ${shown(token.domain.name)} and version ${shown(token.domain.version)}`,
    got: isNamed ? `name ${shown(name)} and version ${shown(version)}` : 'no name or no version',
    fix: 'Add both to extra, also with assetTransferMethod "permit2": the permit is signed for them.',
  });
}

function useless(path: string, got: string): DoctorFinding {
  return about('permit_of_token_without', 'warning', {
    path,
    expected: 'declared only for tokens with permit (EIP-2612)',
    got,
    fix: 'Remove the extension: buyers of this token have to approve Permit2 themselves.',
  });
}

/** What buyers with the 2.27 SDK have to allow before they can pay. */
function spendingFindings(offers: readonly Offer[], root: string): readonly DoctorFinding[] {
  const path = `${root}.accepts`;
  const [first] = offers;
  if (first === undefined) return [];
  const needs = offers.map(({ chainId, asset, amount }) => {
    const decimals = defaultAssetDecimals(chainId, asset);
    if (decimals === undefined) return 'other_asset';
    return amount > 10n ** BigInt(decimals) ? 'above_a_dollar' : 'nothing';
  });
  if (needs.includes('nothing')) return [];
  if (needs.includes('above_a_dollar')) {
    return [
      about('buyers_raise_the_cap', 'note', {
        path,
        expected: 'at most one dollar, the default spending limit of buyers with the 2.27 SDK',
        got: first.amount,
        fix: 'Tell your buyers: setSpendControls({ maxAmountPerPayment: … }).',
      }),
    ];
  }
  return [
    about('buyers_allow_the_asset', 'note', {
      path,
      expected:
        'a default asset of the 2.27 SDK, which buyers accept by default; not every network has one',
      got: first.asset,
      fix: 'Tell your buyers: setSpendControls({ allowedAssets: true }), or name this token there.',
    }),
  ];
}
