import { getAddress } from 'viem';
import {
  caip2Of,
  chainIdOf,
  chainIdOfV1Name,
  v1NameOf,
} from '../../../protocol/payment/network.js';
import {
  isJsonObject,
  isUint256,
  type JsonObject,
  readAddress,
  readOptionalObject,
} from '../../../protocol/payment/wire-values.js';
import { allSchemes, schemeNamed } from '../../../protocol/schemes/registry.js';
import type { DoctorFinding, Severity } from '../dto/doctor-report.response.js';
import { about } from '../finding.js';
import type { Terms } from '../terms.js';
import type { Offer } from './offer.js';

/** Further offers are ignored; a stock client takes the first offer it can pay. */
export const OFFERS_MAX = 8;

export interface ReadOffers {
  /** Offers without an error of shape, on networks served here. */
  readonly offers: readonly Offer[];
  readonly findings: readonly DoctorFinding[];
}

/** @param chainIds - the networks served here. */
export function readOffers(
  { version, place, sent }: Terms,
  chainIds: readonly number[],
): ReadOffers {
  const root = place === 'header' ? 'terms' : 'body';
  const findings = version === 2 ? resourceFindings(sent, root) : [];
  const accepts = sent['accepts'];
  if (!Array.isArray(accepts) || accepts.length === 0) {
    const expected = 'a list of at least one way to pay';
    const path = `${root}.accepts`;
    const fix = 'List the payment requirements there.';
    return {
      offers: [],
      findings: [...findings, about('no_offers', 'error', { path, expected, got: accepts, fix })],
    };
  }
  const read = (accepts as readonly unknown[])
    .slice(0, OFFERS_MAX)
    .map((one, index) => readOffer(one, version, `${root}.accepts[${index}]`, chainIds));
  return {
    offers: read.flatMap(({ offer }) => offer ?? []),
    findings: [
      ...findings,
      ...read.flatMap((one) => one.findings),
      ...unread(accepts.length, `${root}.accepts`),
    ],
  };
}

function unread(count: number, path: string): readonly DoctorFinding[] {
  if (count <= OFFERS_MAX) return [];
  const expected = `at most ${OFFERS_MAX} offers; the others were not looked at`;
  const fix = 'Offer fewer ways to pay: a buyer takes the first it can.';
  return [about('many_offers', 'note', { path, expected, got: count, fix })];
}

function resourceFindings(sent: JsonObject, root: string): readonly DoctorFinding[] {
  const url = readOptionalObject(sent['resource'])?.['url'];
  if (typeof url === 'string' && url !== '') return [];
  const path = `${root}.resource.url`;
  const fix = 'Version 2 names what is sold once, beside accepts.';
  return [about('schema', 'error', { path, expected: 'the URL that is sold', got: url, fix })];
}

class Shape {
  readonly findings: DoctorFinding[] = [];

  constructor(private readonly path: string) {}

  note(
    field: string,
    got: unknown,
    { code = 'schema', severity = 'error' as Severity, expected = '', fix = '' },
  ): void {
    this.findings.push(
      about(code, severity, { path: `${this.path}.${field}`, expected, got, fix }),
    );
  }
}

function readOffer(
  sent: unknown,
  version: 1 | 2,
  path: string,
  chainIds: readonly number[],
): { readonly offer?: Offer; readonly findings: readonly DoctorFinding[] } {
  if (!isJsonObject(sent)) {
    const fix = 'Write an object with scheme, network, amount, asset and payTo.';
    return {
      findings: [about('schema', 'error', { path, expected: 'an object', got: sent, fix })],
    };
  }
  const shape = new Shape(path);
  const scheme = readScheme(sent, version, shape);
  const chainId = readNetwork(sent, version, chainIds, shape);
  const amount = readAmount(sent, version, shape);
  const asset = readAddressField(sent, 'asset', 'the address of the token', shape);
  const payTo = readAddressField(sent, 'payTo', 'the address that is paid', shape);
  const maxTimeoutSeconds = readTimeout(sent, shape);
  const extra = readExtra(sent, shape);
  if (version === 1) checkV1Fields(sent, shape);
  const { findings } = shape;
  if (scheme === undefined || chainId === undefined || amount === undefined) return { findings };
  if (asset === undefined || payTo === undefined || extra === undefined) return { findings };
  if (maxTimeoutSeconds === undefined) return { findings };
  const isPermit2 =
    scheme !== 'exact' || (version === 2 && extra['assetTransferMethod'] === 'permit2');
  const terms = { scheme, chainId, asset, payTo, amount, maxTimeoutSeconds, extra } as const;
  const amountField = version === 1 ? 'maxAmountRequired' : 'amount';
  const method = isPermit2 ? 'permit2' : 'eip3009';
  return { offer: { path, version, sent, amountField, method, ...terms }, findings };
}

function readScheme(sent: JsonObject, version: 1 | 2, shape: Shape): string | undefined {
  const { scheme } = sent;
  const names = allSchemes().filter(({ versions }) => versions.includes(version));
  const expected = names.map(({ name }) => name).join(' or ');
  if (typeof scheme !== 'string' || scheme === '') {
    shape.note('scheme', scheme, { expected, fix: 'Name the scheme.' });
    return undefined;
  }
  const served = schemeNamed(scheme, version);
  if (served !== undefined && served.verifyOnly === undefined) return scheme;
  const fix =
    served === undefined
      ? `This facilitator settles ${expected} in version ${version}; another one has to settle this offer.`
      : 'This facilitator settles it. It cannot be tried here: it is paid from a channel that a buyer has filled before.';
  shape.note('scheme', scheme, {
    code: served === undefined ? 'scheme_not_served' : 'scheme_not_tried',
    severity: 'warning',
    expected,
    fix,
  });
  return undefined;
}

function readNetwork(
  sent: JsonObject,
  version: 1 | 2,
  chainIds: readonly number[],
  shape: Shape,
): number | undefined {
  const { network } = sent;
  const [nameOf, chainIdOfName, chainIdOfOther] =
    version === 2
      ? ([caip2Of, chainIdOf, chainIdOfV1Name] as const)
      : ([v1NameOf, chainIdOfV1Name, chainIdOf] as const);
  const served = chainIds
    .flatMap((chainId) => nameOf(chainId) ?? [])
    .slice(0, 4)
    .join(' or ');
  const expected = served === '' ? 'a network' : served;
  if (typeof network !== 'string' || network === '') {
    shape.note('network', network, { expected, fix: 'Name the network.' });
    return undefined;
  }
  const chainId = chainIdOfName(network);
  if (chainId !== undefined && chainIds.includes(chainId)) return chainId;
  const other = chainId === undefined ? chainIdOfOther(network) : undefined;
  if (other !== undefined) {
    const fix = `Version ${version} calls that network ${nameOf(other) ?? 'nothing'}.`;
    shape.note('network', network, { code: 'network_of_other_version', expected, fix });
    return undefined;
  }
  const isForm = version === 1 || /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/.test(network);
  if (!isForm) {
    const fix = 'Write the CAIP-2 name, such as eip155:56.';
    shape.note('network', network, { code: 'network_not_caip2', expected, fix });
    return undefined;
  }
  const fix = 'This facilitator does not settle there; another one has to settle this offer.';
  shape.note('network', network, {
    code: 'network_not_served',
    severity: 'warning',
    expected,
    fix,
  });
  return undefined;
}

function readAmount(sent: JsonObject, version: 1 | 2, shape: Shape): bigint | undefined {
  const [name, other] =
    version === 1 ? ['maxAmountRequired', 'amount'] : ['amount', 'maxAmountRequired'];
  const got = sent[name];
  const expected = 'atomic units: a whole number as decimal text';
  if (typeof got === 'string' && /^\d{1,78}$/.test(got)) {
    const amount = BigInt(got);
    if (isUint256(amount)) return amount;
  }
  if (got === undefined && other in sent) {
    const fix = `Version ${version} calls it ${name}.`;
    shape.note(name, got, { code: 'field_of_other_version', expected, fix });
    return undefined;
  }
  const isMoney = typeof got === 'string' && /^\$?\d*\.\d+$|^\$\d+$/.test(got.trim());
  const fix = isMoney
    ? 'Multiply by ten to the power of the decimals of the token: 0.10 of one with 18 is "100000000000000000".'
    : 'Write the digits as text, without sign, point or exponent.';
  shape.note(name, got, { code: 'amount_not_atomic', expected, fix });
  return undefined;
}

function readAddressField(
  sent: JsonObject,
  name: 'asset' | 'payTo',
  what: string,
  shape: Shape,
): Offer['asset'] | undefined {
  const got = sent[name];
  const address = readAddress(got);
  if (address === undefined) {
    const fix = 'Write 0x and 40 hex digits.';
    shape.note(name, got, { code: 'not_an_address', expected: what, fix });
    return undefined;
  }
  const digits = String(got).slice(2);
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  if (isMixed && getAddress(address) !== got) {
    const fix =
      'Compare it with where you have it from: letters were changed. Some clients refuse it.';
    const expected = getAddress(address);
    shape.note(name, got, { code: 'wrong_checksum', severity: 'warning', expected, fix });
  }
  return address;
}

function readTimeout(sent: JsonObject, shape: Shape): number | undefined {
  const got = sent['maxTimeoutSeconds'];
  if (typeof got === 'number' && got > 0 && Number.isFinite(got)) return got;
  const expected = 'a number of seconds above 0';
  shape.note('maxTimeoutSeconds', got, { expected, fix: 'Write 300, as a number.' });
  return undefined;
}

function readExtra(sent: JsonObject, shape: Shape): JsonObject | undefined {
  const got = sent['extra'];
  if (got === undefined || got === null) return {};
  if (isJsonObject(got)) return got;
  shape.note('extra', got, {
    expected: 'an object',
    fix: 'Write an object, or leave it out.',
  });
  return undefined;
}

function checkV1Fields(sent: JsonObject, shape: Shape): void {
  const { resource, description } = sent;
  if (typeof resource !== 'string' || resource === '') {
    const fix = 'Version 1 names what is sold in each offer.';
    shape.note('resource', resource, { expected: 'the URL that is sold', fix });
  }
  if (typeof description !== 'string') {
    const fix = 'Write a text; it may be empty.';
    shape.note('description', description, { expected: 'a text', fix });
  }
}
