import { applyDecorators, type Type } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiHeader, ApiOperation, ApiQuery } from '@nestjs/swagger';
import {
  type Answer,
  Answers,
  type AnswersByStatus,
  free,
  type Json,
  jsonAnswer,
  type JsonObject,
  listOf,
  object,
  type OpenApiPart,
  schemaRef,
  text,
} from '../platform/http/openapi.js';
import { HubDescriptor, HubLinksTakenBack, PRICED_TOKEN } from './api/hub.response.js';

type Security = Record<string, string[]>[] & Json;

/** On the hub `Authorization` is for signatures, never for keys. */
const KEY_IF_IN_USE: Security = [{}, { apiKey: [] }];
/** For the content of a link, because its owner allows the access. */
export const BY_LINK: Security = [];

/** The place of a file, for examples. */
export const DESCRIPTOR = { File: '3f9a51c2a0d14f5c8f1b6f0a2c7be9aa', Start: 62, Size: 11 };

export const refusal = (
  description: string,
  message: string,
  headers?: readonly string[],
): JsonObject => jsonAnswer(description, 'HubRefusal', { Type: 'hub', Message: message }, headers);

const REFUSALS: AnswersByStatus = {
  400: refusal('The request cannot be understood, or a field is missing.', 'owner is required'),
  401: refusal('A private hub could not tell whose request this is, or there is no API key.', 'no'),
  403: refusal(
    'Over the quota, the hub is full, or the API key lacks the scope `hub`.',
    'quota exceeded: 10 of 10 bytes are used',
  ),
  408: refusal('The body did not come in time.', 'too slow'),
  413: refusal('Over a limit.', 'too large'),
  429: refusal('Too many requests, downloads or long bodies at once.', 'too many requests', [
    'Retry-After',
  ]),
  503: refusal('Storage or index cannot be used now, or are nearly full.', 'try again', [
    'Retry-After',
  ]),
};
export const NOT_FOUND: AnswersByStatus = { 404: refusal('No such file.', 'not found') };
export const NO_BUCKET: AnswersByStatus = {
  404: refusal('No such bucket.', 'no such bucket: notes'),
};
export const TAKEN_DOWN: AnswersByStatus = {
  451: refusal('The operator has taken these bytes down.', 'taken_down: a court has ordered it'),
};
export const UNSERVED: AnswersByStatus = { ...NOT_FOUND, ...TAKEN_DOWN };
export const PRICED = jsonAnswer(
  'It has a price; `PAYMENT-REQUIRED` says the same.',
  'HubPaymentRequired',
);
/** Of a link. */
export const OVER: AnswersByStatus = {
  410: refusal('The link has expired, or it was used or revoked.', 'the link has expired'),
};
/** Of bytes that are sent. */
export const IN_PARTS: AnswersByStatus = {
  206: { description: 'The range that was asked for.' },
  304: { description: 'It has the ETag that was given.' },
  416: refusal('No such range.', 'no such range'),
};

const BYTES = { 'text/plain': { schema: text } };
/** The bytes behind a link. */
export const SHARED_BYTES: JsonObject = {
  description: 'The bytes, as the type they were stored with.',
  content: BYTES,
};
export const DOWNLOADED: JsonObject = {
  description:
    'The bytes, as the type they were stored with; the descriptor where it is asked for.',
  content: {
    ...BYTES,
    'application/json': { schema: schemaRef('HubDescriptor'), example: DESCRIPTOR },
  },
};
export const OBJECT_BYTES: JsonObject = {
  description: 'The bytes, as the type they were stored with.',
  // Some client generators do not support only a range of types.
  content: { 'application/octet-stream': { schema: text }, '*/*': { schema: text } },
};
export const STORED = jsonAnswer('Where it lies.', HubDescriptor, DESCRIPTOR);
export const LINKS_TAKEN_BACK = jsonAnswer('They open nothing any more.', HubLinksTakenBack, {
  Owner: '0x6370ef2f4db3611d657b90667de398a2cc2a370c',
  Links: 'one',
});

interface Facts {
  readonly answer: Answer;
  /** Of the answer; 200 if absent. */
  readonly status?: number;
  /** Answers besides those of every route. */
  readonly more?: AnswersByStatus;
  /** Query parameters besides the owner, as a DTO class. */
  readonly query?: Type;
  /** The query names no owner. */
  readonly hasNoOwner?: boolean;
  /** A form may hold the same fields, with names in any case. */
  readonly isForm?: boolean;
  readonly security?: Security;
}

/** The description of a handler. */
export const Describes = (operationId: string, summary: string, facts: Facts): MethodDecorator => {
  const { answer, status = 200, more, query, hasNoOwner, isForm } = facts;
  const { security = KEY_IF_IN_USE } = facts;
  const asks = [
    ...(hasNoOwner === true ? [] : [OWNER]),
    ...(query === undefined ? [] : [ApiQuery({ type: query })]),
  ];
  return applyDecorators(
    ApiOperation({ operationId, tags: ['File hub'], summary, security }),
    Answers({ [status]: answer, ...more, ...REFUSALS }),
    ...(isForm === true ? [FORM] : asks),
  );
};

const OWNER_FIELD = {
  name: 'owner',
  description: 'Whose; an address in any case, or any other text.',
};
const OWNER = ApiQuery({ ...OWNER_FIELD, required: false, schema: text });

/** The parts of a path that name a file. */
export const OWNER_IN_PATH = { ...OWNER_FIELD, schema: text };
export const NAME_IN_PATH = {
  name: 'name',
  description: 'The id of the file.',
  schema: text,
};

/** Fields may come in a form instead of the query. */
const FORM = applyDecorators(
  ApiConsumes('application/x-www-form-urlencoded'),
  ApiBody({ required: false, schema: { type: 'object', additionalProperties: text } }),
);

/** Headers by which a buyer pays for a download. */
export const TakesPayments = (): MethodDecorator =>
  applyDecorators(
    ApiHeader({
      name: 'PAYMENT-SIGNATURE',
      required: false,
      schema: text,
      description: 'A payment for a file with a price (x402 V2).',
    }),
    ApiHeader({
      name: 'Hub-Access',
      required: false,
      schema: text,
      description: 'The token that came with the bytes that were paid.',
    }),
  );

/** A list, or `null` in place of an empty one. */
const listOrNull = (items: JsonObject): JsonObject => ({
  oneOf: [{ type: 'array', items }, { type: 'null' }],
});

/** The hub: lists of texts and rows, what is no answer of one handler, and the one body that no DTO class describes. */
export const HUB_OPENAPI: OpenApiPart = {
  tags: [
    {
      name: 'File hub',
      description:
        'Texts and files by owner and id. Private hubs want a signature in `Authorization`; see docs/hub.md.',
    },
  ],
  schemas: {
    HubTexts: listOrNull(text),
    HubRows: listOrNull(free),
    HubRefusal: object({ Type: { ...text, const: 'hub' }, Message: text }),
    HubConversations: object({ conversations: listOrNull(text) }),
    HubMessages: object({ conversation: text, messages: listOf(text) }),
    HubPriceWanted: object(
      { file: { ...text, minLength: 1 }, amount: { ...text, description: 'Atomic units.' } },
      {
        network: { ...text, description: 'CAIP-2.' },
        asset: { ...text, description: 'A token: its address.' },
        payTo: { ...text, description: 'The owner if absent.' },
        accessSeconds: { type: 'integer', minimum: 60, maximum: 31_536_000 },
        until: { type: 'integer', description: 'Unix seconds; nothing is sold from then on.' },
        contentType: { ...text, description: 'That of the file if absent.' },
        extra: PRICED_TOKEN,
      },
      {
        description:
          'Signed by its owner in the strict form. An `amount` of `0` takes the price away.',
      },
    ),
    HubPaymentRequired: object(
      {
        x402Version: { type: 'integer', const: 2 },
        error: text,
        resource: free,
        accepts: listOf(free),
      },
      { extensions: free },
      {
        description:
          'x402 V2 `PaymentRequired`. `extra` of an offer names the bytes that are sold.',
      },
    ),
  },
};
