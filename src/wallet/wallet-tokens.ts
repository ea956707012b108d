/** The injection tokens of the wallet for values that are no class. */

/** The settings of the wallet; it runs only where there are some. */
export const WALLET_SETTINGS = Symbol('WALLET_SETTINGS');
/** `WalletProvider`. */
export const WALLET_PROVIDER = Symbol('WALLET_PROVIDER');
/** `KnownContracts`. */
export const KNOWN_CONTRACTS = Symbol('KNOWN_CONTRACTS');
/** `RecoverSigner`. */
export const RECOVER_WALLET_SIGNER = Symbol('RECOVER_WALLET_SIGNER');
/** `WalletHub`, or `undefined` where no hub is named. */
export const WALLET_HUB = Symbol('WALLET_HUB');
/** Unix seconds. */
export const WALLET_CLOCK = Symbol('WALLET_CLOCK');
/** Told what the reconciler, or the journal between requests, could not do. */
export const WALLET_UPKEEP_FAILED = Symbol('WALLET_UPKEEP_FAILED');

export type WalletClock = () => number;
export type UpkeepFailed = (error: unknown) => void;
