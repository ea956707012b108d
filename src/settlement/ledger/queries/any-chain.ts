/** What one of several chains has. */
interface OnChain<T> {
  readonly chainId: number;
  readonly found: T;
}

/**
 * Asks every chain for what is on one of them, and tells what was found. Where one has it the others need not
 * answer: what the ledger of one chain has does not depend on an archive that cannot say what the others lack.
 *
 * @param ask - `undefined` for what is not there.
 * @throws what a chain threw, where none has it.
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
