import { readFileSync } from 'node:fs';
import type { GivenSettings } from './settings.js';

/** An empty value counts as unset, because container tools write unset variables so. */
export function withoutBlanks(env: NodeJS.ProcessEnv): GivenSettings {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]?.trim())),
  );
}

/**
 * Reads values from mounted files (`NAME_FILE`).
 *
 * @param names - settings that may be files.
 * @param problems - collects the problems.
 */
export function readFileSettings(
  env: GivenSettings,
  names: readonly string[],
  problems: string[],
): GivenSettings {
  const settings: Record<string, string> = { ...env };
  const pattern = new RegExp(`^(${names.join('|')})(_\\d+)?_FILE$`);
  for (const [name, path] of Object.entries(env)) {
    if (!pattern.test(name)) continue;
    const target = name.slice(0, -'_FILE'.length);
    if (target in env) {
      problems.push(`${target}, ${name}: only one of the two may be set`);
      continue;
    }
    try {
      settings[target] = readFileSync(path, 'utf8')
        .trim()
        .replaceAll(/\s*\n\s*/g, ',');
    } catch {
      problems.push(`${name}: the file cannot be read`);
    }
  }
  return settings;
}
