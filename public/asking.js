/**
 * What the pages of owners share: asking the service, showing what it answers, saying what went wrong. What comes
 * from outside is shown as text. Plain JavaScript: there is no build.
 */

const FAILED = 'It did not work. Try again.';

export const byId = (id) => document.getElementById(id);

/** Tells the reader what came of it. */
export function say(text) {
  byId('outcome').textContent = text;
}

/** An element. Attributes are words of ours; text from outside belongs into `children`, and stays text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** What the service says no with. `status` is that of HTTP. */
export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * Asks the service: by GET, or by POST where there is a body.
 *
 * @throws Refusal
 */
export async function ask(url, body, { token, method } = {}) {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(answer.error ?? FAILED, response.status);
  return answer;
}

/** Runs what a button does, and says why where it does not work. */
export async function attempt(work) {
  say('');
  try {
    await work();
  } catch (error) {
    say(error instanceof Error ? error.message : FAILED);
  }
}
