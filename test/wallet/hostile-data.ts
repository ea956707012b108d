type Field = Readonly<Record<'name' | 'type', string>>;

/**
 * Typed data whose hash costs far more than its size: a few hundred small structs, each of which names
 * a family of types of many kilobytes.
 *
 * @param structs - how many of them.
 */
export function dearTypedData(structs: number, primaryType = 'Order'): object {
  const fields: Field[] = Array.from({ length: 40 }, (_, at) => ({
    name: `f${at}`,
    type: 'uint256',
  }));
  const family = Array.from({ length: 17 }, (_, at): [string, Field[]] => [
    `T${at}`,
    [...fields.slice(1), { name: 'next', type: at === 16 ? 'uint256' : `T${at + 1}[]` }],
  ]);
  return {
    domain: { name: 'Test', chainId: 1 },
    primaryType,
    types: {
      [primaryType]: [{ name: 'many', type: 'Many[]' }],
      Many: [{ name: 'x', type: 'T0[]' }],
      ...Object.fromEntries(family),
    },
    message: { many: Array.from({ length: structs }, () => ({ x: [] })) },
  };
}

/** `[[[…]]]` or `{"a":{"a":…}}`. */
export function nested(depth: number, kind: 'lists' | 'objects' = 'lists'): string {
  return kind === 'lists'
    ? '['.repeat(depth) + ']'.repeat(depth)
    : '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
}
