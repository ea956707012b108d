import { z } from 'zod';
import { FETCH_METHODS } from '../../platform/fetch/safe-fetch.js';
import type { Examined } from './doctor.js';

const URL_MAX_CHARACTERS = 2048;
/** A request is to show the order in which a seller looks at things; nothing is bought with it. */
const BODY_MAX_CHARACTERS = 16_384;

const Request = z.strictObject({
  url: z.string().min(1).max(URL_MAX_CHARACTERS),
  method: z
    .string()
    .transform((text) => text.toUpperCase())
    .pipe(z.enum(FETCH_METHODS))
    .default('GET'),
  body: z.union([z.string(), z.record(z.string(), z.unknown())]).optional(),
});

type ReadDoctorRequest =
  | { readonly examined: Examined; readonly problem?: undefined }
  | { readonly examined?: undefined; readonly problem: string };

/** Reads what is to be checked, or says what is wrong with it. Nothing of it is repeated. */
export function readDoctorRequest(sent: unknown): ReadDoctorRequest {
  const parsed = Request.safeParse(sent);
  if (!parsed.success) {
    const path = String(parsed.error.issues[0]?.path[0] ?? 'body');
    return { problem: `${path}: ${RULES[path] ?? RULES['']}` };
  }
  const { url, method, body: given } = parsed.data;
  const body = given === undefined || typeof given === 'string' ? given : JSON.stringify(given);
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
    return { problem: 'body: GET and HEAD have none' };
  }
  if (body !== undefined && body.length > BODY_MAX_CHARACTERS) {
    return { problem: `body: at most ${BODY_MAX_CHARACTERS} characters are expected` };
  }
  return { examined: { url, method, body } };
}

const RULES: Readonly<Record<string, string>> = {
  url: `a URL of at most ${URL_MAX_CHARACTERS} characters is expected`,
  method: `one of ${FETCH_METHODS.join(', ')} is expected`,
  body: 'an object, or JSON as text, is expected',
  '': 'an object with url, and perhaps method and body, is expected',
};
