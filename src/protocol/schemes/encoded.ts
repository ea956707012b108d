/** A value as JSON in the ledger: integers are decimal strings. */
export type Encoded<T> = { readonly [K in keyof T]: EncodedValue<T[K]> };

type EncodedValue<V> = V extends bigint ? string : V extends object ? Encoded<V> : V;
