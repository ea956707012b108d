import { applyDecorators, type Type } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiHeader, ApiOperation, ApiQuery } from '@nestjs/swagger';
import {
  Answers,
  type AnswersByStatus,
  count,
  flag,
  free,
  type Json,
  jsonAnswer,
  type JsonObject,
  listOf,
  moment,
  object,
  type OpenApiPart,
  schemaRef,
  text,
} from '../platform/http/openapi.js';
import { BUCKET_KINDS } from './names.js';

type Security = Record<string, string[]>[] & Json;

/** On the hub `Authorization` is for signatures, never for keys. */
const KEY_IF_IN_USE: Security = [{}, { apiKey: [] }];
/** Of what a link opens: its owner vouches for who comes with it. */
export const BY_LINK: Security = [];

/** Where a file lies, for examples. */
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
  410: refusal('The link is over, used up or taken back.', 'the link is over'),
};
/** Of bytes that are sent. */
export const IN_PARTS: AnswersByStatus = {
  206: { description: 'The range that was asked for.' },
  304: { description: 'It has the ETag that was given.' },
  416: refusal('No such range.', 'no such range'),
};

const BYTES = { 'text/plain': { schema: text } };
/** What a link opens. */
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
  // Some generators of clients do not know a range of types alone.
  content: { 'application/octet-stream': { schema: text }, '*/*': { schema: text } },
};
export const STORED = jsonAnswer('Where it lies.', 'HubDescriptor', DESCRIPTOR);
export const LINKS_TAKEN_BACK = jsonAnswer('They open nothing any more.', 'HubLinksTakenBack', {
  Owner: '0x6370ef2f4db3611d657b90667de398a2cc2a370c',
  Links: 'one',
});

interface Facts {
  readonly answer: JsonObject;
  /** Of the answer; 200 if absent. */
  readonly status?: number;
  /** Other answers than those of every route. */
  readonly more?: AnswersByStatus;
  /** What its query says beside the owner, as the class that reads it. */
  readonly query?: Type;
  /** The query names no owner. */
  readonly hasNoOwner?: boolean;
  /** The same fields come in a form, under their names in any case. */
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
  description: 'The id it was stored under.',
  schema: text,
};

/** Fields may come in a form instead of the query. */
const FORM = applyDecorators(
  ApiConsumes('application/x-www-form-urlencoded'),
  ApiBody({ required: false, schema: { type: 'object', additionalProperties: text } }),
);

/** What a buyer may show for a download. */
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

const TOKEN = {
  type: 'object',
  description:
    'How the token is paid: `name` and `version` of its EIP-712 domain, or `assetTransferMethod`.',
  additionalProperties: text,
} as const;

const LIES = {
  File: { ...text, description: 'The volume.' },
  Start: { ...count, description: 'Byte offset of the payload in it.' },
  Size: { ...count, description: 'Bytes.' },
};

const isHub = { type: 'string', const: 'hub' } as const;

/** A list, or `null` in place of an empty one. */
const listOrNull = (items: JsonObject): JsonObject => ({
  oneOf: [{ type: 'array', items }, { type: 'null' }],
});

const BUCKET = { bucket: text, owner: text, kind: { type: 'string', enum: BUCKET_KINDS } } as const;

/** Of a list of `/v1`. */
const CONTINUED = {
  nextCursor: { ...text, description: '`cursor` of the next page; empty at the end.' },
};
const TOTAL = { total: { ...count, description: 'Of all rows, with `withTotal=1`.' } };

/** What the hub answers, and the one body that no DTO class describes. */
export const HUB_OPENAPI: OpenApiPart = {
  tags: [
    {
      name: 'File hub',
      description:
        'Texts and files by owner and id. Private hubs want a signature in `Authorization`; see docs/hub.md.',
    },
  ],
  schemas: {
    HubDescriptor: object(LIES),
    HubReceived: object({
      ...LIES,
      Owner: text,
      Name: text,
      Sha256: { ...text, pattern: '^[0-9a-f]{64}$' },
    }),
    HubTexts: listOrNull(text),
    HubRows: listOrNull(free),
    HubRemoved: object({ Owner: text, Name: text }),
    HubRetention: object({ Owner: text, Days: count }),
    HubLinksTakenBack: object(
      { Owner: text, Links: { type: 'string', enum: ['one', 'family', 'all'] } },
      {
        IssuedUntil: {
          type: 'integer',
          description:
            'Of all: the newest time of issue, Unix seconds, of the links that were taken back.',
        },
      },
    ),
    HubInfo: object({ Type: isHub, Name: text }, {}, { additionalProperties: true }),
    HubRefusal: object({ Type: isHub, Message: text }),
    HubBucket: object({ ...BUCKET, createdAt: moment }),
    HubBucketCreated: object({ ...BUCKET, created: flag }),
    HubBucketRemoved: object({ bucket: text, owner: text, deleted: flag }),
    HubBuckets: object(
      {
        buckets: { ...listOf(free), description: 'With the fields of the original.' },
        ...CONTINUED,
      },
      TOTAL,
    ),
    HubReceipt: object({
      bucket: text,
      owner: text,
      key: text,
      size: count,
      sha256: { ...text, pattern: '^[0-9a-f]{64}$' },
      status: { type: 'string', const: 'staged', description: 'It is durable, and on no chain.' },
      availability: { type: 'string', const: 'pending' },
      createdAt: moment,
    }),
    HubObjects: object({ objects: listOf('HubReceipt'), ...CONTINUED }, TOTAL),
    HubReceipts: object({ objects: listOf('HubReceipt') }),
    HubConversations: object({ conversations: listOrNull(text) }),
    HubMessages: object({ conversation: text, messages: listOf(text) }),
    HubOwner: object({ owner: text, account: free }),
    HubOverview: object({
      totalAddresses: { ...count, description: 'Owners that have ever stored something.' },
      walletsWithMemory: { ...count, description: 'Owners that have any file now.' },
      memoryCount: { ...count, description: 'Files.' },
      memoryBytes: { ...count, description: 'Stored and not freed.' },
      memoryGB: { type: 'number', minimum: 0 },
      computedAt: { ...count, description: 'Unix seconds.' },
    }),
    HubPriceWanted: object(
      { file: { ...text, minLength: 1 }, amount: { ...text, description: 'Atomic units.' } },
      {
        network: { ...text, description: 'CAIP-2.' },
        asset: { ...text, description: 'A token: its address.' },
        payTo: { ...text, description: 'The owner if absent.' },
        accessSeconds: { type: 'integer', minimum: 60, maximum: 31_536_000 },
        until: { type: 'integer', description: 'Unix seconds; nothing is sold from then on.' },
        contentType: { ...text, description: 'That of the file if absent.' },
        extra: TOKEN,
      },
      {
        description:
          'Signed by its owner in the strict form. An `amount` of `0` takes the price away.',
      },
    ),
    HubPrice: object(
      { owner: text, file: text, amount: text },
      {
        network: text,
        asset: text,
        payTo: text,
        accessSeconds: { type: 'integer' },
        until: { type: 'integer' },
        contentType: text,
        sha256: text,
        size: { type: 'integer' },
        extra: TOKEN,
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
