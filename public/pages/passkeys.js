import { ask } from '../components/ask.js';

/**
 * Passkeys of owners (WebAuthn). One is made for this site and never leaves its authenticator; it signs the SHA-256 of
 * the message that the page shows.
 */

const at = (path) => `v1/passkeys${path}`;

function bytesOf(text) {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

function base64urlOf(buffer) {
  const plain = btoa(String.fromCharCode(...new Uint8Array(buffer)));
  return plain.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Whether this browser and this service know them. */
export async function arePasskeysOn() {
  if (globalThis.PublicKeyCredential === undefined) return false;
  const { isOn } = await ask(at('')).catch(() => ({}));
  return isOn === true;
}

/** A new one: a new owner. */
export async function makePasskey() {
  const options = await ask(at('/options'), { body: {} });
  const user = { ...options.user, id: bytesOf(options.user.id) };
  const publicKey = { ...options, challenge: bytesOf(options.challenge), user };
  const { rawId, response } = await navigator.credentials.create({ publicKey });
  const id = base64urlOf(rawId);
  const { owner } = await ask(at(''), {
    body: {
      id,
      attestationObject: base64urlOf(response.attestationObject),
      clientDataJSON: base64urlOf(response.clientDataJSON),
    },
  });
  return { id, address: owner };
}

/** One that the browser has. What it signs here is random, and sent nowhere. */
export async function findPasskey() {
  const challenge = crypto.getRandomValues(new Uint8Array(32));
  const publicKey = { challenge, userVerification: 'discouraged' };
  const { rawId } = await navigator.credentials.get({ publicKey });
  const id = base64urlOf(rawId);
  const { owner } = await ask(at('/find'), { body: { id } });
  return { id, address: owner };
}

/** What the passkey answers to this message and no other. */
export async function signByPasskey(id, message) {
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(message));
  const allowCredentials = [{ type: 'public-key', id: bytesOf(id) }];
  const publicKey = { challenge, allowCredentials, userVerification: 'required' };
  const { rawId, response } = await navigator.credentials.get({ publicKey });
  return {
    id: base64urlOf(rawId),
    authenticatorData: base64urlOf(response.authenticatorData),
    clientDataJSON: base64urlOf(response.clientDataJSON),
    signature: base64urlOf(response.signature),
  };
}
