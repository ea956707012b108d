/** An object whose methods all take facts and return nothing. */
export type Observer<T> = { readonly [K in keyof T]: (...facts: never[]) => void };

/**
 * One observer that calls each of several, in their order. An error of one of them reaches neither
 * the others nor the caller: an observer must not change what happens.
 *
 * @param onFailure - gets the method of an observer that threw, and the error.
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
