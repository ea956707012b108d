/** An object of nothing but methods that are told things and return nothing. */
export type Observer<T> = { readonly [K in keyof T]: (...facts: never[]) => void };

/**
 * One observer that passes on what it is told to each of several, in their order. One that throws
 * neither keeps it from the others nor reaches whoever tells: looking on must not change what happens.
 *
 * @param onFailure - told which method of an observer threw, and what.
 */
export function fanOut<T extends Observer<T>>(
  observers: readonly [T, ...T[]],
  onFailure: (method: string, error: unknown) => void,
): T {
  const [first] = observers;
  const methods = (Object.keys(first) as (keyof T & string)[]).map((name) => {
    const tell = (...facts: never[]): void => {
      for (const observer of observers) {
        try {
          observer[name](...facts);
        } catch (error) {
          onFailure(name, error);
        }
      }
    };
    return [name, tell];
  });
  return Object.fromEntries(methods) as T;
}
