/** An object whose methods take facts and return nothing. */
export type Observer<T> = { readonly [K in keyof T]: (...facts: never[]) => void };

/**
 * An observer that calls several observers in order. An error of one reaches neither the others nor the caller,
 * because observers must not change what happens.
 *
 * @param onFailure - receives the method of the failed observer, and the error.
 */
export function fanOut<T extends Observer<T>>(
  observers: readonly [T, ...T[]],
  onFailure: (method: string, error: unknown) => void,
): T {
  const [first] = observers;
  const methods = methodsOf(first).map((name) => {
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

/** The methods of a plain object, or of its class. */
function methodsOf<T extends object>(observer: T): readonly (keyof T & string)[] {
  const prototype = Object.getPrototypeOf(observer) as object;
  const names =
    prototype === Object.prototype ? Object.keys(observer) : Object.getOwnPropertyNames(prototype);
  return names.filter((name) => name !== 'constructor') as (keyof T & string)[];
}
