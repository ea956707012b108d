import { describe, expect, it } from '@jest/globals';
import { hashTypedData } from 'viem';
import { readTypedData, TYPED_DATA_BOUNDS } from './read-typed-data.js';
import type { TypedData } from './spending.js';
import { digestOf, withDigest } from './typed-data-digest.js';

const address = '0x52908400098527886E0F7030069857D2E4169EE7';
const domain = { name: 'Ether Mail', version: '1', chainId: 1, verifyingContract: address };

/** Every kind of type, in structs, lists of structs, lists of lists and a type that names itself. */
const types: TypedData['types'] = {
  Mail: [
    { name: 'from', type: 'Person' },
    { name: 'to', type: 'Person[]' },
    { name: 'contents', type: 'string' },
    { name: 'attachment', type: 'bytes' },
    { name: 'id', type: 'bytes32' },
    { name: 'tag', type: 'bytes4' },
    { name: 'isUrgent', type: 'bool' },
    { name: 'matrix', type: 'uint8[2][]' },
    { name: 'offset', type: 'int64' },
    { name: 'names', type: 'string[]' },
    { name: 'tree', type: 'Node' },
  ],
  Person: [
    { name: 'name', type: 'string' },
    { name: 'wallet', type: 'address' },
  ],
  Node: [
    { name: 'value', type: 'uint256' },
    { name: 'children', type: 'Node[]' },
  ],
  Unused: [{ name: 'x', type: 'Person' }],
};
const person = { name: 'Cow é 🐄', wallet: address };
const message = {
  from: person,
  to: [person, { ...person, name: '' }],
  contents: 'Hello',
  attachment: '0x',
  id: `0x${'ab'.repeat(32)}`,
  tag: '0x01020304',
  isUrgent: true,
  offset: '-5',
  matrix: [
    [1, 2],
    ['0x3', '4'],
  ],
  names: ['a', ''],
  ignored: 1,
  tree: { value: '7', children: [{ value: 8, children: [] }] },
};
const mail: TypedData = { domain, types, primaryType: 'Mail', message };
const changed = (more: object): TypedData => ({ ...mail, message: { ...message, ...more } });

describe('the digest of typed data', () => {
  it.each([
    ['every kind of type', mail],
    ['another type of the same family', { ...mail, primaryType: 'Person', message: person }],
    ['a domain of two fields', { ...mail, domain: { name: 'X', chainId: '0x1' } }],
    ['a domain whose type is given', { ...mail, types: { ...types, EIP712Domain: [] } }],
    ['no domain', { ...mail, domain: {} }],
    ['the domain alone', { ...mail, primaryType: 'EIP712Domain' }],
  ])('is the one everybody computes: %s', (_what, data) => {
    expect(digestOf(data)).toBe(hashTypedData(data as Parameters<typeof hashTypedData>[0]));
  });

  it.each([
    ['a missing field', changed({ offset: undefined })],
    ['a struct that is a text', changed({ from: 'Cow' })],
    ['a list that is a text', changed({ names: 'a' })],
    ['a list of another length', changed({ matrix: [[1]] })],
    ['a number out of range', changed({ matrix: [[1, 256]] })],
    ['bytes of another length', changed({ tag: '0x01' })],
    ['a text for bytes', changed({ attachment: 'text' })],
    ['a number for a text', changed({ contents: 5 })],
    ['an unknown type', { ...mail, types: { Mail: [{ name: 'tag', type: 'word' }] } }],
    ['a type that every object has', { ...mail, primaryType: 'constructor' }],
    [
      'a struct of an inherited name',
      { ...mail, types: { Mail: [{ name: 'a', type: 'toString' }] } },
    ],
  ])('does not exist for %s', (_what, data) => {
    expect(digestOf(data)).toBeUndefined();
  });

  it('is computed once, and not before it is asked for', () => {
    let reads = 0;
    const data = withDigest({
      ...mail,
      types: { A: [{ name: 'x', type: 'bool' }] },
      primaryType: 'A',
      message: {
        get x() {
          reads += 1;
          return true;
        },
      },
    });
    expect(reads).toBe(0);
    expect([data.digest, data.digest]).toEqual([data.digest, data.digest]);
    expect(reads).toBe(1);
  });
});

describe('the bounds of typed data', () => {
  const { maxValues, maxDepth, maxStructs, maxFields, maxCharacters } = TYPED_DATA_BOUNDS;
  const list = { A: [{ name: 'x', type: 'uint8[]' }] };
  const lists = (count: number) => ({
    domain,
    types: list,
    primaryType: 'A',
    message: { x: Array.from({ length: count }, () => 1) },
  });
  const nest = (depth: number): unknown => (depth === 0 ? 1 : [nest(depth - 1)]);
  const fields = (count: number) =>
    Array.from({ length: count }, () => ({ name: 'x', type: 'bool' }));
  const structs = (count: number, each: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`S${at}`, fields(each)]));

  it('take what reaches them', () => {
    expect(readTypedData(lists(maxValues - 2))).toBeDefined();
    expect(readTypedData({ ...mail, types: structs(maxStructs, maxFields) })).toBeDefined();
    expect(readTypedData({ ...mail, message: { x: nest(maxDepth - 1) } })).toBeDefined();
  });

  it.each([
    ['values', lists(maxValues - 1)],
    ['depth', { ...mail, message: { x: nest(maxDepth) } }],
    ['structs', { ...mail, types: structs(maxStructs + 1, 1) }],
    ['fields', { ...mail, types: structs(1, maxFields + 1) }],
    ['characters', changed({ contents: 'x'.repeat(maxCharacters) })],
    ['a name', { ...mail, types: { A: [{ name: 'x'.repeat(65), type: 'bool' }] } }],
    [
      'names together',
      {
        ...mail,
        types: Object.fromEntries(
          Array.from({ length: 20 }, (_, at) => [
            `S${at}`,
            Array.from({ length: 10 }, () => ({ name: 'x'.repeat(60), type: 'bool' })),
          ]),
        ),
      },
    ],
    ['the name of a built-in type', { ...mail, types: { uint256: fields(1) } }],
    ['half of a surrogate pair', { ...mail, message: { x: ['a\ud800'] } }],
    ['half of a surrogate pair in a name', { ...mail, domain: { 'a\udc00': 1 } }],
    ['what is no name', { ...mail, types: { 'A(bool x)B': fields(1) } }],
    ['what is no type', { ...mail, types: { A: [{ name: 'x', type: 'bool y,bool' }] } }],
  ])('do not take what is beyond: %s', (_what, data) => {
    expect(readTypedData(data)).toBeUndefined();
  });
});
