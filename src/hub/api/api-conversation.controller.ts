import { Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { Describes } from '../hub.openapi.js';
import { HubService } from '../hub.service.js';
import { HubListing } from '../index/hub-listing.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { readFormFields, textOf } from '../wire/fields.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { sendJsonPieces } from '../wire/json-pieces.js';
import { HubApi, readDto } from './hub-request.js';
import { ConversationDto } from './hub-requests.dto.js';

const TEXTS = jsonAnswer('Texts.', 'HubTexts', ['chat']);

@HubApi()
@RequireScope('hub')
export class ApiConversationController {
  constructor(
    private readonly hub: HubService,
    private readonly listing: HubListing,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
  ) {}

  @Get('conversation')
  @Describes('hubConversation', 'Conversations of an owner, or the texts of one conversation.', {
    query: ConversationDto,
    answer: TEXTS,
  })
  conversation(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, Buffer.alloc(0));
  }

  @Post('conversation')
  @HttpCode(200)
  @Describes('hubConversationByForm', 'The same.', { isForm: true, answer: TEXTS })
  async conversationByForm(@Req() request: Request, @Res() response: Response): Promise<void> {
    const body = await readBody(request, FORM_MAX_BYTES);
    await this.#answer(request, response, body);
  }

  /** Without a name the conversations of an owner, or `null` without any; with a name its texts. */
  async #answer(request: Request, response: Response, body: Buffer): Promise<void> {
    const fields = readFormFields(body, request.query);
    const { name, ...page } = readDto(ConversationDto, fields);
    // A caller that may read a known file does not get the list of names.
    const caller = await this.access.callerOf(request, name === '' ? 'list' : 'read');
    caller.assertBody(body);
    const owner = caller.ownerOfRead(textOf(fields, 'owner'));
    if (owner === '') throw HubRefusal.malformed('owner is required');
    await this.limits.takeSigner(caller, response);
    if (name === '') {
      const found = await this.listing.conversations(owner, page);
      sendJson(response, 200, found.length === 0 ? null : found.map((one) => one.name));
      return;
    }
    this.limits.takeStream(request, response);
    await sendJsonPieces(
      response,
      this.hub.conversation({ owner, id: name }, page, caller.signer === owner),
    );
  }
}
