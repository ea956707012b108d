import { type CanActivate, Injectable } from '@nestjs/common';
import { WalletError } from '../wallet-error.js';
import { PasskeyOwners } from './passkey-owners.js';

/** Refuses before a body is read, if passkeys are off. */
@Injectable()
export class PasskeysGuard implements CanActivate {
  constructor(private readonly owners: PasskeyOwners) {}

  /** @throws WalletError `feature_off`. */
  canActivate(): boolean {
    if (this.owners.isOn) return true;
    throw new WalletError('feature_off', 'Passkeys are off: `WALLET_PASSKEYS` is not true.');
  }
}
