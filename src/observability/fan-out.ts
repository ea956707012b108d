/** An object of nothing but methods that are told things and return nothing. */
type Observer<T> = { readonly [K in keyof T]: (...facts: never[]) => void };

/** One observer that passes on what it is told to each of several, in their order. */
export function fanOut<T extends Observer<T>>(first: T, ...others: readonly T[]): T {
  const observers = [first, ...others];
  const methods = (Object.keys(first) as (keyof T)[]).map((name) => {
    const tell = (...facts: never[]): void => {
      for (const observer of observers) observer[name](...facts);
    };
    return [name, tell];
  });
  return Object.fromEntries(methods) as T;
}
