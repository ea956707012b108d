/** The injection tokens of the wallet for values that are not classes. */

/** The settings of the wallet; without them it does not run. */
export const WALLET_SETTINGS = Symbol('WALLET_SETTINGS');
/** `WalletProvider`. */
export const WALLET_PROVIDER = Symbol('WALLET_PROVIDER');
/** `KnownContracts`. */
export const KNOWN_CONTRACTS = Symbol('KNOWN_CONTRACTS');
/** `RecoverSigner`. */
export const RECOVER_WALLET_SIGNER = Symbol('RECOVER_WALLET_SIGNER');
/** `WalletHub`, or `undefined` if no hub is named. */
export const WALLET_HUB = Symbol('WALLET_HUB');
/** Unix seconds. */
export const WALLET_CLOCK = Symbol('WALLET_CLOCK');

export type WalletClock = () => number;
