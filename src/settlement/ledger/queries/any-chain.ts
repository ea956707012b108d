/** A result on one of several chains. */
interface OnChain<T> {
  readonly chainId: number;
  readonly found: T;
}

/**
 * Asks all chains for a thing that exists on one of them. After one chain has found it, the others need not answer.
 *
 * @param ask - returns `undefined` if the chain does not have it.
 * @throws the error of a chain, if no chain has it.
 */
export async function onAnyChain<T>(
  chainIds: readonly number[],
  ask: (chainId: number) => Promise<T | undefined>,
): Promise<readonly OnChain<T>[]> {
  const answers = await Promise.allSettled(
    chainIds.map(async (chainId) => ({ chainId, found: await ask(chainId) })),
  );
  const known = answers.flatMap((answer): OnChain<T>[] => {
    if (answer.status === 'rejected' || answer.value.found === undefined) return [];
    return [{ chainId: answer.value.chainId, found: answer.value.found }];
  });
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (known.length === 0 && failed !== undefined) throw failed.reason;
  return known;
}
