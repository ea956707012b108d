import { type Place, placeOf } from '../diagnosis/place.js';
import { isWithinBounds } from './json-bounds.js';
import { isJsonObject, type JsonObject, readAddress } from './wire-values.js';

/** A kind of payment that this deployment serves; `extra` has the fields that its requirements need. */
export interface ServedKind {
  readonly x402Version: 1 | 2;
  readonly scheme: string;
  readonly network: string;
  readonly extra?: JsonObject;
}

/** The answer of `POST /accepts`: the requirements that this deployment can settle, ready for a 402. */
interface Accepts {
  readonly x402Version: 1 | 2;
  /** A required field of a 402 of V1. */
  readonly error?: '';
  readonly resource?: JsonObject;
  readonly accepts: readonly JsonObject[];
}

export type ReadAccepts =
  { readonly ok: true; readonly accepts: Accepts } | { readonly ok: false; readonly place: Place };

/** Maximum offers of one request; each is compared with every kind. */
const OFFERS_MAX = 64;
/** An output schema is nested, and recursive code reads it. */
const BOUNDS = { maxDepth: 24, maxValues: 10_000 };
/** Seconds; the default for offers of served kinds. */
const TIMEOUT_SECONDS = 300;

const FIELDS = {
  1: [
    'scheme',
    'network',
    'maxAmountRequired',
    'resource',
    'description',
    'mimeType',
    'outputSchema',
    'payTo',
    'maxTimeoutSeconds',
    'asset',
    'extra',
  ],
  2: ['scheme', 'network', 'amount', 'asset', 'payTo', 'maxTimeoutSeconds', 'extra'],
} as const;
const DEFAULTS = {
  1: { description: '', mimeType: '', maxTimeoutSeconds: TIMEOUT_SECONDS },
  2: { maxTimeoutSeconds: TIMEOUT_SECONDS },
} as const;
const AMOUNT = { 1: 'maxAmountRequired', 2: 'amount' } as const;

/**
 * Answers `POST /accepts`, which some seller middlewares send before a 402: which of these offers can this deployment
 * settle, and which fields do they need? Offers of other networks and schemes are dropped. A malformed offer of a
 * served kind is reported as an error of the seller.
 */
export function readAccepts(
  body: unknown,
  versions: readonly (1 | 2)[],
  kinds: readonly ServedKind[],
): ReadAccepts {
  const wrong = (path: string, expected: string, value: unknown): ReadAccepts => ({
    ok: false,
    place: placeOf(path, expected, value),
  });
  if (!isJsonObject(body)) return wrong('body', 'a JSON object', body);
  if (!isWithinBounds(body, BOUNDS)) {
    const { maxDepth, maxValues } = BOUNDS;
    return wrong('body', `at most ${maxDepth} levels and ${maxValues} values`, body);
  }
  const { x402Version, accepts, resource } = body;
  const version = versions.find((one) => one === x402Version);
  if (version === undefined) return wrong('x402Version', versions.join(' or '), x402Version);
  if (!Array.isArray(accepts) || accepts.length > OFFERS_MAX) {
    return wrong('accepts', `a list of at most ${OFFERS_MAX} requirements`, accepts);
  }
  if (resource !== undefined && !isJsonObject(resource)) {
    return wrong('resource', 'an object', resource);
  }
  const served: JsonObject[] = [];
  for (const [index, offer] of (accepts as readonly unknown[]).entries()) {
    const at = `accepts[${index}]`;
    if (!isJsonObject(offer)) return wrong(at, 'an object', offer);
    const kind = kinds.find(
      ({ scheme, network, ...rest }) =>
        rest.x402Version === version && scheme === offer['scheme'] && network === offer['network'],
    );
    if (kind === undefined) continue;
    const malformed = malformedField(offer, version);
    if (malformed !== undefined) {
      const { name, expected } = malformed;
      return wrong(`${at}.${name}`, expected, offer[name]);
    }
    served.push(completed(offer, kind));
  }
  return {
    ok: true,
    accepts: {
      x402Version: version,
      ...(version === 1 && { error: '' }),
      ...(version === 2 && isJsonObject(resource) && { resource: resourceOf(resource) }),
      accepts: served,
    },
  };
}

/** The first field that no payment could match, with the expected value. */
function malformedField(
  offer: JsonObject,
  version: 1 | 2,
): { readonly name: string; readonly expected: string } | undefined {
  for (const name of ['payTo', 'asset']) {
    if (readAddress(offer[name]) === undefined) return { name, expected: 'an address' };
  }
  const name = AMOUNT[version];
  const amount = offer[name];
  return typeof amount === 'string' && /^[0-9]{1,78}$/.test(amount)
    ? undefined
    : { name, expected: 'atomic units, as a decimal string' };
}

/** Copies known fields only, because an answer must not repeat unknown text of a request. */
function completed(offer: JsonObject, { x402Version, extra }: ServedKind): JsonObject {
  const { extra: sent } = offer;
  return {
    ...DEFAULTS[x402Version],
    ...known(offer, FIELDS[x402Version]),
    // The kind overrides the seller, because `extra` contains an address of this facilitator.
    ...((isJsonObject(sent) || extra !== undefined) && {
      extra: { ...(isJsonObject(sent) ? sent : {}), ...extra },
    }),
  };
}

function resourceOf(resource: JsonObject): JsonObject {
  return known(resource, ['url', 'description', 'mimeType']);
}

function known(sent: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name) => (sent[name] === undefined ? [] : [[name, sent[name]]])),
  );
}
