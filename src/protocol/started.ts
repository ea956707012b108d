/** Marks a read whose result may never be awaited, so that its failure is not an unhandled rejection. */
export function started<T>(read: Promise<T>): Promise<T> {
  read.catch(() => undefined);
  return read;
}
