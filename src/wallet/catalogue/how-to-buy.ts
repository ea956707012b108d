import { randomUUID } from 'node:crypto';
import { formatUnits } from 'viem';
import type { z } from 'zod';
import { plainObject } from '../../protocol/listing/seller-words.js';
import { isJsonObject, type JsonObject } from '../../protocol/payment/wire-values.js';
import type { ServiceDetailsOutput } from '../tools/service-shapes.js';
import { PayInput } from '../tools/shapes.js';
import type { CatalogueItem } from './catalogue-item.js';

type Details = z.infer<typeof ServiceDetailsOutput>;
type Buying = Pick<Details, 'howToBuy' | 'whyNot'>;
type Example = NonNullable<Details['howToBuy']>['examples'][number];

const PARAMETERS_MAX = 32;
const TEMPLATE = /\/[^/]*:[a-zA-Z_]/;
const BODY_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * The arguments of `payment_pay` that buy an entry: valid as they are, with the seller's own example values where the
 * seller requires values, and with the price that was paid as the maximum.
 */
export function howToBuy({ view, offers, info, exampleUrl }: CatalogueItem): Buying {
  if (view.type === 'mcp')
    return {
      whyNot:
        'The service is a tool of an MCP server: payment_call_tool buys it, once you know the address of the server.',
    };
  const [offer] = offers;
  if (offer === undefined) {
    return {
      whyNot: 'The service accepts no token, network or scheme with which this wallet can pay.',
    };
  }
  const place = new URL(exampleUrl ?? view.resource);
  if (!place.protocol.startsWith('http'))
    return { whyNot: 'The service has no http or https URL.' };
  const input = isJsonObject(info['input']) ? plainObject(info['input']) : {};
  const method = view.call ?? 'GET';
  const url = withParameters(place, input['queryParams']);
  const body = BODY_METHODS.has(method) ? bodyOf(input) : { kind: 'none' as const };
  if (body.kind === 'form') {
    return { whyNot: 'The service requires a multipart form, which payment_pay does not send.' };
  }
  const given = {
    url: url.href,
    method,
    headers: body.kind === 'some' ? { 'content-type': body.type } : {},
    ...(body.kind === 'some' && { body: body.text }),
    maxAmount: formatUnits(offer.amount, offer.token.decimals),
    intentId: `service-${randomUUID()}`,
  };
  // A seller's text may be too long, or its price too high.
  const read = PayInput.safeParse(given);
  if (!read.success)
    return { whyNot: 'The request that the seller declares is not valid for payment_pay.' };
  const examples: Example[] = [
    ...(exampleUrl !== undefined || TEMPLATE.test(place.pathname) ? ['path' as const] : []),
    ...(url.search === '' ? [] : ['query' as const]),
    ...(body.kind === 'none' ? [] : ['body' as const]),
  ];
  const { body: text, ...rest } = read.data;
  const sent = { ...rest, ...(text !== undefined && { body: text }) };
  return { howToBuy: { tool: 'payment_pay', arguments: sent, examples } };
}

function withParameters(place: URL, declared: unknown): URL {
  const url = new URL(place);
  const parameters = isJsonObject(declared) ? Object.entries(declared) : [];
  for (const [name, value] of parameters.slice(0, PARAMETERS_MAX)) {
    url.searchParams.set(name, textOf(value));
  }
  return url;
}

type Body =
  | { readonly kind: 'none' | 'form' }
  | { readonly kind: 'some'; readonly text: string; readonly type: string };

function bodyOf(input: JsonObject): Body {
  const { bodyType, body } = input;
  if (bodyType === 'form-data') return { kind: 'form' };
  if (body === undefined) return { kind: 'none' };
  if (bodyType === 'text') return { kind: 'some', text: textOf(body), type: 'text/plain' };
  return { kind: 'some', text: JSON.stringify(body), type: 'application/json' };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
