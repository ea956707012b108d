import { readFileSync } from 'node:fs';

/** The version in package.json, which is above both the compiled and the source folder. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  }
).version;
