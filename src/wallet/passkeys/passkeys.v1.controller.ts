import { Body, Controller, Get, HttpCode, Ip, Post, UseFilters, UseGuards } from '@nestjs/common';
import { NewWallets } from '../accounts/new-wallets.js';
import { AnonymousRoom } from '../anonymous-room.js';
import { WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { AttestationDto, FindPasskeyDto } from './dto/passkey.dto.js';
import { PasskeyOwners } from './passkey-owners.js';
import { PasskeysGuard } from './passkeys.guard.js';

type Answer = Readonly<Record<string, unknown>>;

/** Of a challenge that is to be answered. */
const OPTIONS_CHARACTERS = 100;
/** Of a passkey, six times: it is kept for an hour, and the room is measured by ten minutes. */
const PASSKEY_CHARACTERS = 3600;

/** How somebody without a browser wallet becomes an owner. Passkeys sign in where others do. */
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

  /** Asked by pages, to show what there is. */
  @Get()
  state(): Answer {
    return { isOn: this.owners.isOn };
  }

  @Post('options')
  @HttpCode(200)
  @UseGuards(PasskeysGuard)
  async options(@Ip() from: string): Promise<Answer> {
    await this.room.assert(from, OPTIONS_CHARACTERS);
    return this.owners.options();
  }

  @Post()
  @HttpCode(200)
  @UseGuards(PasskeysGuard)
  async register(@Body() made: AttestationDto, @Ip() from: string): Promise<Answer> {
    // It is a line of the journal for good, as soon as it has signed something.
    await this.newWallets.assertRoom(from);
    await this.room.assert(from, PASSKEY_CHARACTERS);
    return { owner: await this.owners.register(made) };
  }

  /** Whose a passkey is that a browser has found: the page has to name the owner in what is signed. */
  @Post('find')
  @HttpCode(200)
  @UseGuards(PasskeysGuard)
  async find(@Body() { id }: FindPasskeyDto): Promise<Answer> {
    return { owner: await this.owners.ownerOf(id) };
  }
}
