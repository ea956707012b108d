/** Unix seconds by the clock of this process, as signatures and prices name times. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
