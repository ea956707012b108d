import { expect, it } from '@jest/globals';
import { HubBuckets } from './buckets.service.js';
import type { Note } from './storage/storage-provider.js';

type Parts = ConstructorParameters<typeof HubBuckets>;

it('removes of a bucket what was listed in it, and nothing that was uploaded since', async () => {
  const notes: unknown[] = [];
  const files = [
    { id: 'free', order: 5 },
    { id: 'priced', order: 7 },
  ];
  const pages = [{ files }, { files: [] }];
  const buckets = new HubBuckets(
    {
      note: (note: Note) => {
        notes.push(note);
        return Promise.resolve();
      },
    } as unknown as Parts[0],
    {
      assertSound: () => undefined,
      lookUp: (_: string, id: string) =>
        Promise.resolve({ terms: id === 'priced' ? '{}' : undefined }),
    } as unknown as Parts[1],
    {
      bucket: () => Promise.resolve({ name: 'notes' }),
      files: () => Promise.resolve(pages.shift()),
    } as unknown as Parts[2],
    {} as Parts[3],
    { note: () => undefined } as unknown as Parts[4],
  );
  await buckets.remove('alice', 'notes');
  const [owner, id] = ['alice', 'priced'];
  expect(notes).toHaveLength(4);
  expect(notes).toEqual(
    expect.arrayContaining([
      { op: 'remove', owner, id: 'free', upTo: 5 },
      { op: 'remove', owner, id, upTo: 7 },
    ]),
  );
  // A file that is for sale stays until its price is gone.
  const ops = notes.map((note) => (note as Note).op);
  expect(ops.indexOf('price')).toBeLessThan(
    notes.findIndex((note) => (note as Note).id === id && (note as Note).op === 'remove'),
  );
  expect(ops.at(-1)).toBe('bucket');
});
