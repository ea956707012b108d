import {
  type Json,
  jsonAnswer,
  type JsonObject,
  type OpenApiPart,
  schemaRef,
} from '../platform/http/openapi.js';
import { HUB_SCHEMAS } from './hub-schemas.openapi.js';
import { NAME_MAX_BYTES } from './names.js';
import { SALES_HEADERS, SALES_SCHEMAS } from './sales/sales.openapi.js';

/** On the hub `Authorization` is for signatures, never for keys. */
const KEY_IF_IN_USE: Json = [{}, { apiKey: [] }];

const DESCRIPTOR = {
  File: '3f9a51c2a0d14f5c8f1b6f0a2c7be9aa',
  Start: 62,
  Size: 11,
};

const refusal = (description: string, message: string, headers?: readonly string[]): JsonObject =>
  jsonAnswer(description, 'HubRefusal', { Type: 'hub', Message: message }, headers);

const REFUSALS: JsonObject = {
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
const NOT_FOUND: JsonObject = { 404: refusal('No such file.', 'not found') };

const query = (name: string, description: string, required = false): JsonObject => ({
  name,
  in: 'query',
  required,
  description,
  schema: { type: 'string' },
});
const OWNER = query('owner', 'Whose; an address in any case, or any other text.');
const NAME = query('name', 'The id it was stored under; `id` means the same.');
const PAGE: Json = [
  query('offset', 'Rows to leave out.'),
  query('length', 'Rows at most: 32 if absent, 1024 if more.'),
];

const LINK = query('link', 'Base64url of JSON: the fields of `HubLink` and `signature`.', true);

/** Fields may come in a form instead of the query, under their names in any case. */
const FORM: JsonObject = {
  required: false,
  content: {
    'application/x-www-form-urlencoded': {
      schema: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
};

const BYTES: JsonObject = {
  description: 'The bytes, as an attachment; the descriptor where it is asked for.',
  content: {
    'text/plain': { schema: { type: 'string' } },
    'application/json': { schema: schemaRef('HubDescriptor'), example: DESCRIPTOR },
  },
};

const SHARED_BYTES: JsonObject = {
  description: 'The bytes, as an attachment.',
  content: { 'text/plain': { schema: { type: 'string' } } },
};

const DOWNLOADED: JsonObject = {
  200: BYTES,
  206: { description: 'The range that was asked for.' },
  304: { description: 'It has the ETag that was given.' },
  402: jsonAnswer('It has a price; `PAYMENT-REQUIRED` says the same.', 'HubPaymentRequired'),
  416: refusal('No such range.', 'no such range'),
  ...NOT_FOUND,
};

function operation(operationId: string, summary: string, more: JsonObject): JsonObject {
  const { responses, ...rest } = more as JsonObject & { responses: JsonObject };
  return {
    operationId,
    tags: ['File hub'],
    summary,
    security: KEY_IF_IN_USE,
    ...rest,
    responses: { ...responses, ...REFUSALS },
  };
}

function list(
  name: string,
  what: string,
  parameters: Json,
  hasForm = true,
): Readonly<Record<string, JsonObject>> {
  const of = (id: string, method: string): JsonObject =>
    operation(`${id}${method}`, `${what}, newest first.`, {
      parameters,
      ...(method === 'Post' && { requestBody: FORM }),
      responses: { 200: jsonAnswer('Rows with the fields of the original.', 'HubRows', []) },
    });
  return Object.fromEntries(
    ['list', 'get'].map((verb) => [
      `/api/${verb}${name}`,
      {
        get: of(verb + name, 'Get'),
        ...(hasForm && { post: of(verb + name, 'Post') }),
      },
    ]),
  );
}

export const HUB_OPENAPI: OpenApiPart = {
  tags: [
    {
      name: 'File hub',
      description:
        'Texts and files by owner and id. Private hubs want a signature in `Authorization`; see docs/hub.md.',
    },
  ],
  paths: {
    '/api/upload': {
      post: operation('hubUpload', 'Stores a text.', {
        requestBody: {
          required: true,
          description: 'JSON, whatever its content type says.',
          content: {
            'application/json': {
              schema: schemaRef('HubMessage'),
              example: { owner: 'alice', id: 'greeting', message: 'hello world' },
            },
          },
        },
        responses: { 200: jsonAnswer('Where it lies.', 'HubDescriptor', DESCRIPTOR) },
      }),
    },
    '/api/uploadData': {
      post: operation('hubUploadData', 'Stores a file.', {
        requestBody: {
          required: true,
          content: {
            'multipart/form-data': {
              schema: {
                type: 'object',
                required: ['owner', 'file'],
                properties: {
                  owner: { type: 'string', minLength: 1, maxLength: NAME_MAX_BYTES.owner },
                  file: { type: 'string', contentMediaType: 'application/octet-stream' },
                },
              },
            },
          },
        },
        responses: { 200: jsonAnswer('Where it lies.', 'HubDescriptor', DESCRIPTOR) },
      }),
    },
    '/api/download': {
      get: operation('hubDownload', 'Serves what was stored. Knows ranges and ETags.', {
        parameters: [
          NAME,
          OWNER,
          query('display', '`json`: the descriptor in place of the bytes.'),
          query('download', '`1`: the bytes in any case.'),
          ...(SALES_HEADERS as JsonObject[]),
        ],
        responses: DOWNLOADED,
      }),
      post: operation('hubDownloadByForm', 'Serves what was stored.', {
        requestBody: FORM,
        responses: {
          200: BYTES,
          402: jsonAnswer('It has a price; it is bought by GET.', 'HubPaymentRequired'),
          ...NOT_FOUND,
        },
      }),
    },
    '/api/download/{owner}/{name}': {
      get: operation(
        'hubDownloadByPath',
        'The same, by its path; offers of files for sale name it.',
        {
          parameters: [
            { ...OWNER, in: 'path', required: true },
            { ...NAME, in: 'path', required: true },
            ...(SALES_HEADERS as JsonObject[]),
          ],
          responses: DOWNLOADED,
        },
      ),
    },
    '/api/conversation': {
      get: operation('hubConversation', 'Conversations of an owner, or the texts of one.', {
        parameters: [OWNER, NAME, ...(PAGE as JsonObject[])],
        responses: { 200: jsonAnswer('Texts.', 'HubTexts', ['chat']) },
      }),
      post: operation('hubConversationByForm', 'The same.', {
        requestBody: FORM,
        responses: { 200: jsonAnswer('Texts.', 'HubTexts', ['chat']) },
      }),
    },
    ...list('Account', 'Owners', [OWNER, ...(PAGE as JsonObject[])]),
    ...list('Bucket', 'Buckets of an owner', [OWNER, ...(PAGE as JsonObject[])]),
    ...list('Needle', 'What an owner has stored', [OWNER, NAME, ...(PAGE as JsonObject[])]),
    ...list('Volume', 'Volumes of an owner', [OWNER, ...(PAGE as JsonObject[])]),
    ...list('Conversation', 'Conversations of an owner', [OWNER, ...(PAGE as JsonObject[])], false),
    '/api/object': {
      delete: operation('hubRemove', 'Gives a name up, in private hubs. Signed by its owner.', {
        parameters: [OWNER, NAME],
        responses: {
          200: jsonAnswer('It is no longer found.', 'HubRemoved', {
            Owner: 'alice',
            Name: 'greeting',
          }),
          ...NOT_FOUND,
        },
      }),
    },
    '/api/shared': {
      get: operation('hubShared', 'Serves what a share link opens. Knows ranges and ETags.', {
        security: [],
        parameters: [LINK],
        responses: {
          200: SHARED_BYTES,
          206: { description: 'The range that was asked for.' },
          304: { description: 'It has the ETag that was given.' },
          410: refusal('The link is over, used up or taken back.', 'the link is over'),
          416: refusal('No such range.', 'no such range'),
          ...NOT_FOUND,
        },
      }),
      delete: operation('hubTakeLinkBack', 'Takes links back. Signed by their owner.', {
        parameters: [query('link', 'The one; every link of the signer where it is absent.'), OWNER],
        responses: {
          200: jsonAnswer('It opens nothing any more.', 'HubLinksTakenBack', {
            Owner: '0x6370ef2f4db3611d657b90667de398a2cc2a370c',
            Links: 'one',
          }),
          ...NOT_FOUND,
        },
      }),
    },
    '/api/price': {
      put: operation('hubSetPrice', 'Puts a price on a file. Signed by its owner.', {
        requestBody: {
          required: true,
          content: { 'application/json': { schema: schemaRef('HubPriceWanted') } },
        },
        responses: { 200: jsonAnswer('What it costs now.', 'HubPrice'), ...NOT_FOUND },
      }),
      get: operation('hubPrice', 'What a file costs.', {
        parameters: [OWNER, query('file', 'The id it was stored under.', true)],
        responses: { 200: jsonAnswer('What it costs.', 'HubPrice'), ...NOT_FOUND },
      }),
      delete: operation('hubRemovePrice', 'Takes a price away. Signed by its owner.', {
        parameters: [OWNER, query('file', 'The id it was stored under.', true)],
        responses: { 200: jsonAnswer('It costs nothing.', 'HubPrice'), ...NOT_FOUND },
      }),
    },
    '/api/info': {
      get: operation('hubInfo', 'What this is.', {
        responses: { 200: jsonAnswer('The fields of the original.', 'HubInfo') },
      }),
    },
  },
  schemas: { ...SALES_SCHEMAS, ...HUB_SCHEMAS },
};
