import { Body, Controller, Get, HttpCode, Ip, Post, UseFilters, UseGuards } from '@nestjs/common';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { NewWallets } from '../accounts/new-wallets.js';
import { AnonymousRoom } from '../anonymous-room.js';
import { WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { CONFLICT, Describes, NOT_FOUND, UNSIGNED } from '../openapi/operations.js';
import { AttestationDto, FindPasskeyDto } from './dto/passkey.dto.js';
import {
  WalletPasskeyOptions,
  WalletPasskeyOwner,
  WalletPasskeysState,
} from './dto/passkey.response.js';
import { PasskeyOwners } from './passkey-owners.js';
import { PasskeysGuard } from './passkeys.guard.js';

/** Characters stored for an open challenge. */
const OPTIONS_CHARACTERS = 100;
/** Six times the size of a passkey: it is stored for an hour, and the limit counts ten minutes. */
const PASSKEY_CHARACTERS = 3600;

/** Lets a person without a browser wallet become an owner. Passkeys sign in at the same routes as other owners. */
@Controller('v1/passkeys')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class PasskeysV1Controller {
  constructor(
    private readonly room: AnonymousRoom,
    private readonly newWallets: NewWallets,
    private readonly owners: PasskeyOwners,
  ) {}

  /** Pages call it to decide what to show. */
  @Get()
  @Describes('walletPasskeysState', 'Whether this service accepts passkeys of owners.', {
    answer: jsonAnswer('For pages.', WalletPasskeysState),
  })
  state(): WalletPasskeysState {
    return { isOn: this.owners.isOn };
  }

  @Post('options')
  @Describes('walletPasskeyOptions', 'The options with which a browser makes a passkey.', {
    description:
      'The argument of `navigator.credentials.create` as JSON. Valid once, for ten minutes.',
    answer: jsonAnswer('The options, with the challenge.', WalletPasskeyOptions),
    more: NOT_FOUND,
  })
  @HttpCode(200)
  @UseGuards(PasskeysGuard)
  async options(@Ip() from: string): Promise<WalletPasskeyOptions> {
    await this.room.assert(from, OPTIONS_CHARACTERS);
    return this.owners.options();
  }

  @Post()
  @Describes('walletPasskeyAdd', 'Registers a passkey, which makes a new owner.', {
    hasBody: true,
    answer: jsonAnswer('The address of the new owner.', WalletPasskeyOwner),
    more: { ...UNSIGNED, ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  @UseGuards(PasskeysGuard)
  async register(@Body() made: AttestationDto, @Ip() from: string): Promise<WalletPasskeyOwner> {
    // It becomes a permanent line of the journal after its first signature.
    await this.newWallets.assertRoom(from);
    await this.room.assert(from, PASSKEY_CHARACTERS);
    return { owner: await this.owners.register(made) };
  }

  /** The owner of a passkey that a browser has found: the page has to name the owner in the message to sign. */
  @Post('find')
  @Describes('walletPasskeyFind', 'Finds the owner of a passkey.', {
    hasBody: true,
    answer: jsonAnswer('The address with which the owner signs in.', WalletPasskeyOwner),
    more: NOT_FOUND,
  })
  @HttpCode(200)
  @UseGuards(PasskeysGuard)
  async find(@Body() { id }: FindPasskeyDto): Promise<WalletPasskeyOwner> {
    return { owner: await this.owners.ownerOf(id) };
  }
}
