import { MemorySettlementReader } from '../../builders/history/sellers/settlement-reader.js';
import { ARCHIVE_NOW, describeArchive } from './archive-contract.js';
import { MemoryArchive, MemoryArchiveReader } from './memory-archive.js';

describeArchive('the archive in memory', () => {
  const now = () => ARCHIVE_NOW;
  const archive = new MemoryArchive({ months: undefined, now });
  return Promise.resolve({
    archive,
    keeping: (months) => new MemoryArchive({ months, now }, archive.rows),
    reader: new MemoryArchiveReader(archive),
    lists: () => new MemorySettlementReader([...archive.rows.values()]),
    unreadable: () => Promise.resolve(archive.unreadable.map(({ id }) => id)),
    close: () => Promise.resolve(),
  });
});
