import type { Abstract, FactoryProvider, Type } from '@nestjs/common';

/** What Nest finds a provider by. */
type Token<T> = symbol | string | Type<T> | Abstract<T>;

/**
 * A provider made by a factory that takes its dependencies as one object, by name: the order of a
 * list of more than five is easily mistaken.
 */
export function provide<T, P extends object>(
  token: Token<T>,
  tokens: { readonly [K in keyof P]: Token<P[K]> },
  make: (parts: P) => T | Promise<T>,
): FactoryProvider<T> {
  const names = Object.keys(tokens) as (keyof P & string)[];
  return {
    provide: token,
    inject: names.map((name) => tokens[name]),
    useFactory: (...given: readonly unknown[]) =>
      make(Object.fromEntries(names.map((name, index) => [name, given[index]])) as P),
  };
}
