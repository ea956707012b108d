import { jsonAnswer, type JsonObject } from '../../platform/http/openapi.js';
import {
  DESCRIPTOR,
  NOT_FOUND,
  operation,
  OWNER,
  query,
  refusal,
  TAKEN_DOWN,
} from '../hub-operation.openapi.js';

const ADDRESS = '0x6370ef2f4db3611d657b90667de398a2cc2a370c';

const LINK = query('link', 'Base64url of JSON: the fields of `HubLink` and `signature`.', true);

const UPLOAD_LINK = query(
  'link',
  'Base64url of JSON: the fields of `HubUpload` and `signature`.',
  true,
);

const FAMILY = query(
  'family',
  'The beginning of their nonces: `0x` and the first 8 or 16 bytes as hex digits.',
);

const SHARED_BYTES: JsonObject = {
  description: 'The bytes, as the type they were stored with.',
  content: { 'text/plain': { schema: { type: 'string' } } },
};

/** What links open, and how they are taken back. */
export const LINK_PATHS: Readonly<Record<string, JsonObject>> = {
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
        ...TAKEN_DOWN,
      },
    }),
    delete: operation('hubTakeLinkBack', 'Takes links back. Signed by their owner.', {
      parameters: [
        query('link', 'The one; every link of the signer where it and `family` are absent.'),
        FAMILY,
        OWNER,
      ],
      responses: {
        200: jsonAnswer('It opens nothing any more.', 'HubLinksTakenBack', {
          Owner: ADDRESS,
          Links: 'one',
        }),
      },
    }),
  },
  '/api/incoming': {
    put: operation('hubIncoming', 'Stores the body as the file that an upload link names, once.', {
      security: [],
      parameters: [UPLOAD_LINK],
      requestBody: {
        required: true,
        description: 'The bytes of the file.',
        content: {
          'application/octet-stream': {
            schema: { type: 'string', contentMediaType: 'application/octet-stream' },
          },
        },
      },
      responses: {
        200: jsonAnswer('It is stored.', 'HubReceived', {
          ...DESCRIPTOR,
          Owner: ADDRESS,
          Name: 'report.pdf',
          Sha256: '9f'.repeat(32),
        }),
        409: refusal('Another upload by the link is under way.', 'an upload is under way', [
          'Retry-After',
        ]),
        410: refusal('The link is over, used up or taken back.', 'the link is over'),
        415: refusal('The link is for another content type.', 'the link is for application/pdf'),
      },
    }),
    delete: operation(
      'hubTakeUploadLinkBack',
      'Takes upload links back. Signed by their owner in the strict form.',
      {
        parameters: [
          query('link', 'The one; every one of the signer where it and `family` are absent.'),
          FAMILY,
          OWNER,
        ],
        responses: {
          200: jsonAnswer('Nobody stores anything by it any more.', 'HubLinksTakenBack', {
            Owner: ADDRESS,
            Links: 'one',
          }),
        },
      },
    ),
  },
};

export const LINK_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  HubReceived: {
    type: 'object',
    required: ['File', 'Start', 'Size', 'Owner', 'Name', 'Sha256'],
    properties: {
      File: { type: 'string', description: 'The volume.' },
      Start: { type: 'integer', minimum: 0, description: 'Byte offset of the file in it.' },
      Size: { type: 'integer', minimum: 0, description: 'Bytes.' },
      Owner: { type: 'string' },
      Name: { type: 'string' },
      Sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    },
  },
  HubLinksTakenBack: {
    type: 'object',
    required: ['Owner', 'Links'],
    properties: {
      Owner: { type: 'string' },
      Links: { type: 'string', enum: ['one', 'family', 'all'] },
      IssuedUntil: {
        type: 'integer',
        description:
          'Of all: the newest time of issue, Unix seconds, of the links that were taken back.',
      },
    },
  },
};
