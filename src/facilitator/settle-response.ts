import type { ServerResponse } from 'node:http';
import { sendJson } from '../platform/http/json.js';
import { whenAnswered, whenOver } from '../platform/http/response-end.js';
import type { Connection } from './settle/requester-wait.js';
import type { SettleAnswer } from './settle/settle-answer.js';

/** The client's side of a settle request, as its socket shows it. */
export function connectionOf(response: ServerResponse): Connection {
  const closed = new Promise<void>((resolve) => {
    whenOver(response, () => {
      if (!response.writableFinished) resolve();
    });
  });
  return {
    closed,
    get isWritable(): boolean {
      return !response.destroyed && response.socket?.writable === true;
    },
  };
}

/**
 * Writes a settle answer. An answer that sells is rolled back when the connection closes before its last byte was
 * written.
 */
export function sendSettleAnswer(response: ServerResponse, answer: SettleAnswer): void {
  const { rollBack, settlementId, finality, retryAfterSeconds, status, body } = answer;
  const { extensionResponses } = answer;
  if (rollBack !== undefined) {
    if (response.destroyed || response.socket?.writable !== true) {
      void rollBack();
      return;
    }
    whenAnswered(response, (isHandedOver) => {
      if (!isHandedOver) void rollBack();
    });
  }
  if (settlementId !== undefined) response.setHeader('Settlement-Id', settlementId);
  response.setHeader('Settle-Finality', finality);
  if (extensionResponses !== undefined) {
    response.setHeader('EXTENSION-RESPONSES', extensionResponses);
  }
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
  if (status === 202 && settlementId !== undefined) {
    response.setHeader('Preference-Applied', 'respond-async');
    response.setHeader('Location', `/v2/settlements/${settlementId}`);
  }
  sendJson(response, status, body);
}
