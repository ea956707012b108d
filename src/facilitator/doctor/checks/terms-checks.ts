import { readOptionalObject } from '../../../protocol/payment/wire-values.js';
import { allSchemes } from '../../../protocol/schemes/registry.js';
import type { DoctorFinding } from '../dto/doctor-report.response.js';
import { about, shown } from '../finding.js';
import type { Terms } from '../terms.js';
import type { Offer } from './offer.js';
import { isDomainOf, type OfferFacts } from './offer-checks.js';

const PERMIT = 'eip2612GasSponsoring';
const APPROVAL = 'erc20ApprovalGasSponsoring';
/** Extensions that a facilitator itself acts on. It does not have to know any other extension. */
const ACTED_ON = [PERMIT, APPROVAL];

/** An offer with its facts on chain. */
export interface CheckedOffer {
  readonly offer: Offer;
  readonly facts: OfferFacts;
}

/** The errors of the fields outside the offers. */
export function termsFindings(
  terms: Terms,
  offers: readonly CheckedOffer[],
): readonly DoctorFinding[] {
  const root = terms.place === 'header' ? 'terms' : 'body';
  return [
    ...(terms.version === 2 ? extensionFindings(terms, root, offers) : []),
    ...spendingFindings(
      offers.map(({ offer }) => offer),
      root,
    ),
  ];
}

function extensionFindings(
  { sent }: Terms,
  root: string,
  checked: readonly CheckedOffer[],
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
  const byPermit2 = checked.filter(({ offer }) => offer.method === 'permit2');
  if (declared.includes(PERMIT)) {
    findings.push(...byPermit2.flatMap((one) => permitFinding(one, root, declared) ?? []));
  }
  return findings;
}

/**
 * A stock client that is offered a sponsored permit tries that first. It reads the permit nonce of the token and fails
 * where the token has none, so it never reaches the other kind of sponsoring.
 */
function permitFinding(
  { offer, facts }: CheckedOffer,
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

/** The settings that buyers with the 2.27 SDK have to change before they can pay. */
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
        expected: 'at most one dollar, the default spending limit of buyers with the x402 SDK 2.27',
        got: first.amount,
        fix: 'Tell your buyers: setSpendControls({ maxAmountPerPayment: … }).',
      }),
    ];
  }
  return [
    about('buyers_allow_the_asset', 'note', {
      path,
      expected:
        'a default asset of the x402 SDK 2.27, which buyers accept by default; not every network has a default asset',
      got: first.asset,
      fix: 'Tell your buyers: setSpendControls({ allowedAssets: true }), or name this token there.',
    }),
  ];
}

/**
 * Tokens that buyers with the 2.27 SDK pay with by default, up to a dollar; any other token they have to allow.
 * Decimals by chain id and address in lower case.
 */
const DEFAULT_ASSETS: Readonly<Record<string, number>> = {
  '8453/0x833589fcd6edb6e08f4c7c32d4f71b54bda02913': 6,
  '84532/0x036cbd53842c5426634e7929541ec2318f3dcf7e': 6,
  '1/0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48': 6,
  '43114/0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e': 6,
  '4326/0xfafddbb3fc7688494971a79cc65dca3ef82079e7': 18,
  '143/0x754704bc059f8c67012fed69bc8a327a5aafb603': 6,
  '988/0x779ded0c9e1022225f8e0630b35a9b54be713736': 6,
  '2201/0x78cf24370174180738c5b8e352b6d14c83a6c9a9': 6,
  '137/0x3c499c542cef5e3811e1192ce70d8cc03d5c3359': 6,
  '42161/0xaf88d065e77c8cc2239327c5edb3a432268e5831': 6,
  '421614/0x75faf114eafb1bdbe2f0316df893fd58ce46aa4d': 6,
  '31612/0xdd468a1ddc392dcdbef6db6e34e89aa338f9f186': 18,
  '31611/0x118917a40faf1cd7a13db0ef56c86de7973ac503': 18,
  '723487/0x33ad9e4bd16b69b5bfded37d8b5d9ff9aba014fb': 6,
  '72344/0x33ad9e4bd16b69b5bfded37d8b5d9ff9aba014fb': 6,
  '36900/0x9cb8142aebbcdc60af7c97af897a67a8f3ca71c2': 6,
  '190415/0x401ecb1d350407f13ba348573e5630b83638e30d': 6,
  '181228/0x401ecb1d350407f13ba348573e5630b83638e30d': 6,
  '50/0xfa2958cb79b0491cc627c1557f441ef849ca8eb1': 6,
  '51/0xb5ab69f7bbada22b28e79c8ffaece55ef1c771d4': 6,
  '38833/0xa5b8bf902b2844da17d4506cc827f7f1681735e7': 6,
  '14/0xe7cd86e13ac4309349f30b3435a9d337750fc82d': 6,
  '42220/0xceba9300f2b948710d2653dd7b07f33a8b32118c': 6,
  '42220/0x48065fbbe25f71c9282ddf5e1cd6d6a887483d5e': 6,
  '42220/0xd2ab3c9a02dbbab236bfec45d1d755df4267f771': 6,
  '11142220/0x01c5c0122039549ad1493b8220cabedd739bc44e': 6,
  '1329/0xe15fc38f6d8c56af07bbcbe3baf5708a2bf42392': 6,
  '1328/0x4fcf1784b31630811181f670aea7a7bef803eaed': 6,
};

/** Decimals of a default asset; `undefined` for any other token. */
export function defaultAssetDecimals(chainId: number, asset: string): number | undefined {
  return DEFAULT_ASSETS[`${chainId}/${asset.toLowerCase()}`];
}

/** For a comparison with the SDK. */
export const DEFAULT_ASSET_KEYS: readonly string[] = Object.keys(DEFAULT_ASSETS);
