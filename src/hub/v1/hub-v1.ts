import { applyDecorators, Controller, Injectable, UseFilters, UseGuards } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RequireScope } from '../../platform/http/access.js';
import { AddressLimitGuard } from '../api/hub-request.js';
import type { Caller } from '../auth/caller.js';
import { HubAccess, type Purpose } from '../auth/hub-access.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { HubV1ErrorFilter } from '../wire/hub-error.filter.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/** A controller of `/v1`: buckets and objects, as the newest clients of the original use them. */
export function HubV1(): ClassDecorator {
  return applyDecorators(
    Controller('v1'),
    RequireScope('hub'),
    UseGuards(AddressLimitGuard),
    UseFilters(HubV1ErrorFilter),
  );
}

interface V1Caller {
  readonly caller: Caller;
  /** In its one form; empty for any. */
  readonly owner: string;
}

const NO_BODY = Buffer.alloc(0);

/** Finds the caller and the owner of a request. */
@Injectable()
export class V1Callers {
  constructor(
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
  ) {}

  /**
   * Clients of `/v1` sign every request and name no owner, also in a public hub: the signer is the owner then.
   *
   * @param owner - as sent; empty where the request names no owner.
   * @throws HubRefusal
   */
  async callerOf(request: Request, purpose: Purpose, owner: string): Promise<Caller> {
    const caller = await this.access.callerOf(request, purpose);
    if (caller.signer !== undefined || owner !== '') return caller;
    return (await this.access.signerOf(request)) ?? caller;
  }

  /** @param body - as sent. @throws HubRefusal */
  async of(
    request: Request,
    response: Response,
    purpose: Purpose,
    { owner, body = NO_BODY }: { readonly owner: string; readonly body?: Buffer | undefined },
  ): Promise<V1Caller> {
    const caller = await this.callerOf(request, purpose, owner);
    caller.assertBody(body);
    await this.limits.takeSigner(caller, response);
    return { caller, owner: caller.ownerOfRead(owner) };
  }

  /** The owner of a request that needs one. @throws HubRefusal */
  async ownerOf(
    ...[request, response, purpose, given]: Parameters<V1Callers['of']>
  ): Promise<string> {
    return ownerIn(await this.of(request, response, purpose, given));
  }

  /** The same for a streamed body; the caller compares it with the signature at its end. */
  async writerOf(request: Request, response: Response, owner: string): Promise<V1Caller> {
    const caller = await this.callerOf(request, 'write', owner);
    await this.limits.takeSigner(caller, response);
    const whose = { caller, owner: caller.ownerOfRead(owner) };
    return { caller, owner: ownerIn(whose) };
  }
}

function ownerIn({ owner }: V1Caller): string {
  if (owner === '') {
    throw HubRefusal.malformed('owner is required: sign the request, or name it as ?owner=');
  }
  return owner;
}
