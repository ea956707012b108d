import { MemoryArchive, MemoryArchiveReader } from '../memory-archive.js';
import { MemoryUnfinished } from './memory-unfinished.js';
import { describeUnfinished } from './unfinished-contract.js';

describeUnfinished('settlements in memory', () => {
  const archive = new MemoryArchive();
  return Promise.resolve({
    archive,
    reader: new MemoryArchiveReader(archive),
    unfinished: new MemoryUnfinished(archive.rows, () => 1000),
    close: () => Promise.resolve(),
  });
});
