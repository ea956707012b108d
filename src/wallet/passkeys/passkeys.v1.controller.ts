import { Controller, Get, HttpCode, Post, Req, UseFilters, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import { z } from 'zod';
import { NewWallets } from '../accounts/new-wallets.js';
import { AnonymousRoom } from '../anonymous-room.js';
import { WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletBody } from '../http/wallet-body.service.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { WalletError } from '../wallet-error.js';
import { Attestation } from './passkey.js';
import { PasskeyOwners } from './passkey-owners.js';

type Answer = Readonly<Record<string, unknown>>;

/** Of a challenge that is to be answered. */
const OPTIONS_CHARACTERS = 100;
/** Of a passkey, six times: it is kept for an hour, and the room is measured by ten minutes. */
const PASSKEY_CHARACTERS = 3600;

const Finding = z.strictObject({ id: Attestation.shape.id });

/** How somebody without a browser wallet becomes an owner. Passkeys sign in where others do. */
@Controller('v1/passkeys')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class PasskeysV1Controller {
  constructor(
    private readonly bodies: WalletBody,
    private readonly room: AnonymousRoom,
    private readonly newWallets: NewWallets,
    private readonly owners: PasskeyOwners,
  ) {}

  /** Asked by pages, to show what there is. */
  @Get()
  state(): Answer {
    return { isOn: this.owners.isOn };
  }

  @Post('options')
  @HttpCode(200)
  async options(@Req() request: Request): Promise<Answer> {
    const owners = this.#owners;
    await this.room.assert(request.ip, OPTIONS_CHARACTERS);
    return owners.options();
  }

  @Post()
  @HttpCode(200)
  async register(@Req() request: Request): Promise<Answer> {
    const owners = this.#owners;
    const made = await this.bodies.of(request, Attestation);
    // It is a line of the journal for good, as soon as it has signed something.
    await this.newWallets.assertRoom(request.ip);
    await this.room.assert(request.ip, PASSKEY_CHARACTERS);
    return { owner: await owners.register(made) };
  }

  /** Whose a passkey is that a browser has found: the page has to name the owner in what is signed. */
  @Post('find')
  @HttpCode(200)
  async find(@Req() request: Request): Promise<Answer> {
    const owners = this.#owners;
    return { owner: await owners.ownerOf((await this.bodies.of(request, Finding)).id) };
  }

  get #owners(): PasskeyOwners {
    if (this.owners.isOn) return this.owners;
    throw new WalletError('not_found', 'Passkeys are off here.');
  }
}
