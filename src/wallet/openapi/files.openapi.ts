import {
  jsonAnswer,
  type JsonObject,
  type OpenApiPart,
  schemaRef,
} from '../../platform/http/openapi.js';
import { CONFLICT, FORBIDDEN, json, operation, OUTSIDE, refusal, TOKEN } from './operations.js';

interface FileRoute {
  readonly operationId: string;
  readonly summary: string;
  readonly asked: string;
  readonly example: JsonObject;
  readonly answered: string;
}

const MORE: JsonObject = {
  ...FORBIDDEN,
  ...CONFLICT,
  404: refusal('There is no such file, or no file hub.', {
    error: 'There is no such file.',
    code: 'not_found',
  }),
  502: OUTSIDE['502'] ?? {},
};

function route({ operationId, summary, asked, example, answered }: FileRoute): JsonObject {
  return {
    post: operation(operationId, summary, TOKEN, {
      body: json(schemaRef(asked), example),
      answer: jsonAnswer(summary, answered),
      more: MORE,
    }),
  };
}

const NAMED = { name: 'report.md' };

/** The files of a wallet at the hub. Names are in bodies, for URLs end in logs. */
export const FILE_PATHS: OpenApiPart['paths'] = {
  '/v1/wallets/me/files/put': route({
    operationId: 'walletPutFile',
    summary: 'Stores what fits in a message.',
    asked: 'WalletFilePut',
    answered: 'WalletFile',
    example: { ...NAMED, content: '# Report' },
  }),
  '/v1/wallets/me/files/upload-address': route({
    operationId: 'walletUploadAddress',
    summary: 'An address to PUT one file to, once.',
    asked: 'WalletFileUpload',
    answered: 'WalletUploadAddress',
    example: { name: 'film.mp4', maxBytes: 50_000_000, contentType: 'video/mp4' },
  }),
  '/v1/wallets/me/files/get': route({
    operationId: 'walletGetFile',
    summary: 'A file, with its content where it is short.',
    asked: 'WalletFileName',
    answered: 'WalletFileContent',
    example: NAMED,
  }),
  '/v1/wallets/me/files/list': route({
    operationId: 'walletListFiles',
    summary: 'The files, newest first.',
    asked: 'WalletFileQuery',
    answered: 'WalletFiles',
    example: { limit: 20 },
  }),
  '/v1/wallets/me/files/share': route({
    operationId: 'walletShareFile',
    summary: 'A link by which others read a file.',
    asked: 'WalletFileShare',
    answered: 'WalletSharedFile',
    example: { ...NAMED, seconds: 3600, once: true },
  }),
  '/v1/wallets/me/files/unshare': route({
    operationId: 'walletUnshareFile',
    summary: 'Takes a link back, or all of them.',
    asked: 'WalletFileUnshare',
    answered: 'WalletTakenBack',
    example: { link: 'all' },
  }),
  '/v1/wallets/me/files/delete': route({
    operationId: 'walletDeleteFile',
    summary: 'Gives the name of a file up.',
    asked: 'WalletFileName',
    answered: 'WalletDeletedFile',
    example: NAMED,
  }),
};
