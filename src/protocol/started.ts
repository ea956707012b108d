/** Marks a read whose result may never be asked for, so that its failure is not an unhandled one. */
export function started<T>(read: Promise<T>): Promise<T> {
  read.catch(() => undefined);
  return read;
}
