/** A value as the JSON of the ledger has it: integers are decimal strings. */
export type Encoded<T> = { readonly [K in keyof T]: EncodedValue<T[K]> };

type EncodedValue<V> = V extends bigint ? string : V extends object ? Encoded<V> : V;
