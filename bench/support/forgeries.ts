import { runLoad } from './load.js';

/**
 * Sends payments with a changed signature: an answer has to be more than a yes.
 *
 * @param urls - of facilitators, by name.
 * @returns who did not refuse them all.
 */
export async function forgeriesTaken(
  urls: Readonly<Record<string, string>>,
  bodies: readonly string[],
): Promise<readonly string[]> {
  const forged = bodies.map((body) => {
    const at = body.indexOf('"signature":"0x') + '"signature":"0x'.length;
    return `${body.slice(0, at)}${body[at] === '1' ? '2' : '1'}${body.slice(at + 1)}`;
  });
  const results = await Promise.all(
    Object.entries(urls).map(async ([name, url]) => {
      const { completed } = await runLoad({
        url,
        path: '/verify',
        concurrency: 4,
        bodies: forged,
        problemOf: (_, { isValid }) => (isValid === false ? undefined : 'accepted'),
      });
      return completed === forged.length ? [] : [`${name} accepted forged signatures`];
    }),
  );
  return results.flat();
}
