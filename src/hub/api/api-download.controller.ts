import { Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { RequireScope } from '../../platform/http/access.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { Downloads } from '../downloads.service.js';
import {
  Describes,
  DOWNLOADED,
  IN_PARTS,
  NAME_IN_PATH,
  OWNER_IN_PATH,
  PRICED,
  TakesPayments,
  UNSERVED,
} from '../hub.openapi.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { readFormFields, textOf } from '../wire/fields.js';
import { HubApi, readDto } from './hub-request.js';
import { BytesDto, DownloadDto } from './hub-requests.dto.js';

@HubApi()
@RequireScope('hub')
export class ApiDownloadController {
  constructor(
    private readonly downloads: Downloads,
    private readonly access: HubAccess,
  ) {}

  /** Also HEAD. */
  @Get('download')
  @Describes('hubDownload', 'Serves a stored file. Supports ranges and ETags.', {
    query: DownloadDto,
    answer: DOWNLOADED,
    more: { ...IN_PARTS, 402: PRICED, ...UNSERVED },
  })
  @TakesPayments()
  download(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, Buffer.alloc(0));
  }

  /** The same by path, for clients and catalogues that ignore queries. */
  @Get('download/:owner/:name')
  @ApiParam(OWNER_IN_PATH)
  @ApiParam(NAME_IN_PATH)
  @Describes(
    'hubDownloadByPath',
    'Serves a stored file by its path. Offers of files for sale name this path.',
    {
      query: BytesDto,
      hasNoOwner: true,
      answer: DOWNLOADED,
      more: { ...IN_PARTS, 402: PRICED, ...UNSERVED },
    },
  )
  @TakesPayments()
  downloadByPath(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, Buffer.alloc(0));
  }

  @Post('download')
  @HttpCode(200)
  @Describes('hubDownloadByForm', 'Serves a stored file.', {
    isForm: true,
    answer: DOWNLOADED,
    more: {
      402: jsonAnswer('The file has a price. Buy it with GET.', 'HubPaymentRequired'),
      ...UNSERVED,
    },
  })
  async downloadByForm(@Req() request: Request, @Res() response: Response): Promise<void> {
    const body = await readBody(request, FORM_MAX_BYTES);
    await this.#answer(request, response, body);
  }

  #answer(request: Request, response: Response, body: Buffer): Promise<void> {
    const fields = new Map([
      ...readFormFields(body, request.query),
      ...Object.entries(request.params),
    ]);
    const { name: id, sha256, display, download } = readDto(DownloadDto, fields);
    const { method } = request;
    const { accept } = request.headers;
    return this.downloads.answer(request, response, {
      owner: textOf(fields, 'owner'),
      id,
      sha256,
      isDescriptor: isDisplayed({ method, accept, display, download }),
      body,
      caller: () => this.access.callerOf(request, 'read'),
    });
  }
}

/**
 * Whether a download is *displayed* as `{"File","Start","Size"}` instead of sent as bytes:
 *
 * - `display=json` requests it;
 * - so does a GET whose `Accept` names `application/json` and nothing that bytes would satisfy
 *   (stock clients send `Accept: application/json` with POST, or beside `text/plain` and `*` +
 *   `/*`, and want bytes);
 * - a browser that opens the URL (`Accept` begins with `text/html`) shows it to a person, so that files of strangers
 *   are not executed. `download=1` sends the bytes anyway.
 */
export function isDisplayed(request: {
  readonly method: string;
  readonly accept: string | undefined;
  readonly display: string;
  readonly download: string;
}): boolean {
  if (request.display === 'json') return true;
  if (request.download === '1' || request.method === 'POST') return false;
  const types = acceptedTypes(request.accept ?? '');
  if (types[0] === 'text/html') return true;
  const takesBytes = types.some((type) => type === '*/*' || type.startsWith('text/'));
  return types.includes('application/json') && !takesBytes;
}

/** Media types in lower case without parameters; types with weight 0 are refused. */
function acceptedTypes(accept: string): string[] {
  return accept
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim()))
    .filter(([, ...parameters]) => !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one)))
    .map(([type = '']) => type)
    .filter((type) => type !== '');
}
