import { type CanActivate, Injectable } from '@nestjs/common';
import { WalletError } from '../wallet-error.js';
import { PasskeyOwners } from './passkey-owners.js';

/** Refuses where passkeys are off, before a body is read. */
@Injectable()
export class PasskeysGuard implements CanActivate {
  constructor(private readonly owners: PasskeyOwners) {}

  /** @throws WalletError `not_found`. */
  canActivate(): boolean {
    if (this.owners.isOn) return true;
    throw new WalletError('not_found', 'Passkeys are off here.');
  }
}
