import { isWithinBounds } from './json-bounds.js';
import { isJsonObject, type JsonObject, readAddress } from './wire-values.js';

/** A way to pay that is served here; `extra` is what its requirements have to say beside their own. */
export interface ServedKind {
  readonly x402Version: 1 | 2;
  readonly scheme: string;
  readonly network: string;
  readonly extra?: JsonObject;
}

/** The answer of `POST /accepts`: the requirements that can be settled here, ready for a 402. */
interface Accepts {
  readonly x402Version: 1 | 2;
  /** A required field of a 402 of V1. */
  readonly error?: '';
  readonly resource?: JsonObject;
  readonly accepts: readonly JsonObject[];
}

export type ReadAccepts =
  | { readonly ok: true; readonly accepts: Accepts }
  | { readonly ok: false; readonly problem: string };

/** More offers than anybody makes; each is compared with every kind. */
const OFFERS_MAX = 64;
/** An output schema nests; what walks it calls itself. */
const BOUNDS = { maxDepth: 24, maxValues: 10_000 };
/** Seconds; what sellers of that family leave out is theirs to fill in. */
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
 * Reads what sellers of some middlewares ask their facilitator before they answer 402: which of these
 * offers can you settle, and what has to stand in them? Offers of other networks and schemes are left
 * out; one that is served and malformed is the seller's mistake, and said so.
 */
export function readAccepts(
  body: unknown,
  versions: readonly (1 | 2)[],
  kinds: readonly ServedKind[],
): ReadAccepts {
  const wrong = (problem: string): ReadAccepts => ({ ok: false, problem });
  if (!isJsonObject(body)) return wrong('A JSON object is expected.');
  if (!isWithinBounds(body, BOUNDS))
    return wrong('The body is nested too deep, or has too much in it.');
  const { x402Version, accepts, resource } = body;
  const version = versions.find((one) => one === x402Version);
  if (version === undefined) return wrong(`x402Version: expected ${versions.join(' or ')}.`);
  if (!Array.isArray(accepts) || accepts.length > OFFERS_MAX) {
    return wrong(`accepts: expected a list of at most ${OFFERS_MAX} requirements.`);
  }
  if (resource !== undefined && !isJsonObject(resource)) {
    return wrong('resource: expected an object.');
  }
  const served: JsonObject[] = [];
  for (const [index, offer] of (accepts as readonly unknown[]).entries()) {
    const at = `accepts[${index}]`;
    if (!isJsonObject(offer)) return wrong(`${at}: expected an object.`);
    const kind = kinds.find(
      ({ scheme, network, ...rest }) =>
        rest.x402Version === version && scheme === offer['scheme'] && network === offer['network'],
    );
    if (kind === undefined) continue;
    const malformed = malformedField(offer, version);
    if (malformed !== undefined) return wrong(`${at}.${malformed}`);
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

/** The first field that no payment could meet, with what is expected there. */
function malformedField(offer: JsonObject, version: 1 | 2): string | undefined {
  for (const name of ['payTo', 'asset']) {
    if (readAddress(offer[name]) === undefined) return `${name}: expected an address.`;
  }
  const amount = offer[AMOUNT[version]];
  return typeof amount === 'string' && /^[0-9]{1,78}$/.test(amount)
    ? undefined
    : `${AMOUNT[version]}: expected atomic units, as a decimal string.`;
}

/** Known fields alone: nothing else of a request is repeated. */
function completed(offer: JsonObject, { x402Version, extra }: ServedKind): JsonObject {
  const { extra: sent } = offer;
  return {
    ...DEFAULTS[x402Version],
    ...known(offer, FIELDS[x402Version]),
    // The kind wins over the seller: its `extra` holds an address of this facilitator.
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
