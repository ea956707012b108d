import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where the packed specs are, by the paths of their sources. */
export const PACKED = join(ROOT, 'node_modules/.cache/packed-specs');

/** @param {string} path - of the spec. */
const packedOf = (path) => join(PACKED, relative(ROOT, path).replace(/\.ts$/, '.js'));

/** What Jest runs of a spec: the file that it was packed into. Another one is another entry of its cache. */
export default {
  getCacheKey: (_source, path) =>
    createHash('sha256')
      .update(readFileSync(packedOf(path)))
      .digest('hex'),
  process: (_source, path) => {
    const packed = packedOf(path);
    const map = JSON.parse(readFileSync(`${packed}.map`, 'utf8'));
    map.sources = map.sources.map((source) => resolve(dirname(packed), source));
    return { code: readFileSync(packed, 'utf8'), map };
  },
};
