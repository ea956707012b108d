import { Body, Controller, Get, HttpCode, Ip, Post, UseFilters, UseGuards } from '@nestjs/common';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { NewWallets } from '../accounts/new-wallets.js';
import { AnonymousRoom } from '../anonymous-room.js';
import { WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { CONFLICT, Describes, NOT_FOUND, UNSIGNED } from '../openapi/operations.js';
import { AttestationDto, FindPasskeyDto } from './dto/passkey.dto.js';
import { PasskeyOwners } from './passkey-owners.js';
import { PasskeysGuard } from './passkeys.guard.js';

type Answer = Readonly<Record<string, unknown>>;

/** Of a challenge that is to be answered. */
const OPTIONS_CHARACTERS = 100;
/** Of a passkey, six times: it is kept for an hour, and the room is measured by ten minutes. */
const PASSKEY_CHARACTERS = 3600;

/** Lets a person without a browser wallet become an owner. Passkeys sign in where others do. */
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
  @Describes('walletPasskeysState', 'Whether owners may have passkeys here.', {
    answer: jsonAnswer('For pages.', 'WalletPasskeysState'),
  })
  state(): Answer {
    return { isOn: this.owners.isOn };
  }

  @Post('options')
  @Describes('walletPasskeyOptions', 'What a browser makes a passkey by.', {
    description: 'As `navigator.credentials.create` takes it, as JSON. Good once, for ten minutes.',
    answer: jsonAnswer('The challenge among them.', 'WalletPasskeyOptions'),
    more: NOT_FOUND,
  })
  @HttpCode(200)
  @UseGuards(PasskeysGuard)
  async options(@Ip() from: string): Promise<Answer> {
    await this.room.assert(from, OPTIONS_CHARACTERS);
    return this.owners.options();
  }

  @Post()
  @Describes('walletPasskeyAdd', 'A passkey that a browser has made: a new owner.', {
    hasBody: true,
    answer: jsonAnswer('The owner that it is.', 'WalletPasskeyOwner'),
    more: { ...UNSIGNED, ...NOT_FOUND, ...CONFLICT },
  })
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
  @Describes('walletPasskeyFind', 'Whose a passkey is that a browser has found.', {
    hasBody: true,
    answer: jsonAnswer('What the owner names when it signs in.', 'WalletPasskeyOwner'),
    more: NOT_FOUND,
  })
  @HttpCode(200)
  @UseGuards(PasskeysGuard)
  async find(@Body() { id }: FindPasskeyDto): Promise<Answer> {
    return { owner: await this.owners.ownerOf(id) };
  }
}
